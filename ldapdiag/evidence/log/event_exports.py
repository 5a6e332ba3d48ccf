r"""Exports of Windows events: each event 1644 in them becomes a line (event_rows.py), each other one an empty line.

Those of single connections become lines of their own (event_connections.py).

XML, saved by the Event Viewer (with a root element) or printed by wevtutil (without), by ToXml() and evtx_dump:

    <Event xmlns='…'><System><EventID Qualifiers='16384'>1644</EventID><TimeCreated SystemTime='2026-11-20T08:54:04Z'/>
    <Computer>DC1</Computer></System><EventData><Data>DC=x</Data><Data> (a=b) </Data>...</EventData></Event>

JSON, an object each: Winlogbeat, NXLog, evtx_dump, Get-WinEvent | ConvertTo-Json (5.1 writes the time as Date(…)):

    {"@timestamp":"…Z","winlog":{"event_id":"1644","computer_name":"DC1","event_data":{"param1":"DC=x",…}}}
    {"EventTime":"2026-11-20 08:54:04","Hostname":"DC1","EventID":1644,"EventData":{"Data":["DC=x",…]}}
    {"Id":1644,"TimeCreated":"\/Date(1795164844123)\/","MachineName":"DC1","Properties":[{"Value":"DC=x"},…]}

CSV, separated by commas, semicolons or tabs; columns are found by the names in the header, or without a header (a file
that is cut at its beginning) by the two orders of Event1644Reader.ps1; or the event's text is in one quoted field:

    LDAPServer,TimeGenerated,ClientIP,ClientPort,StartingNode,Filter,SearchScope,AttributeSelection,ServerControls,
        VisitedEntries,ReturnedEntries,UsedIndexes,...,SearchTimeMS,AttributesPreventingOptimization,User
    LDAPServer,TimeGenerated,StartingNode,Filter,VisitedEntries,ReturnedEntries,ClientIP,ClientPort,SearchScope,...
    "Message","Id",…,"TimeCreated"            Get-WinEvent | Export-Csv
    Level,Date and Time,Source,Event ID,Task Category             Event Viewer; the text is a sixth field without a name
"""

from __future__ import annotations

import codecs
import re
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.envelope import Piece
from ldapdiag.evidence.log.event_rows import (
    COLUMNS,
    CONNECTION_EVENTS,
    EXPENSIVE_SEARCH,
    NAMES,
    SERVERS,
    SIGNATURE,
    TIMES,
    event_row,
    in_order,
    of_message,
)
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    import csv
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.evidence.log.envelope import Envelope

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
END = b"</Event>"
LAST = b"</Events>"
WHOLE = b"</EventData>"
EVENT = pattern(rb"<Event[\s>]")
IDENTIFIER = pattern(rb"<EventID[^<>]{0,99}>\s{0,9}(\d{1,9})\s{0,9}</EventID>")
TIME = pattern(rb"<TimeCreated\s{1,9}SystemTime=['\"](\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)[.\d]{0,11}(?:Z|\+00:00)?['\"]")
COMPUTER = pattern(rb"<Computer>([^<]{0,255})</Computer>")
VALUE = pattern(rb"<(?:Data|string)(?:\s[^<>]{0,200})?(?:/>|>([^<]*)</(?:Data|string)>)")


def _of_connection(kind: str, server: str, time: str, values: Sequence[str]) -> bytes | None:
    """Return the line of an event of a connection; None where it names no client."""
    from ldapdiag.evidence.log.event_connections import connection_row  # noqa: PLC0415  import late: few logs have them

    return connection_row(kind, server, time, values)


def of_xml(text: bytes) -> Piece | None:
    """Return an event 1644 as a row; an empty line for any other; None if it cannot be read."""
    from html import unescape  # noqa: PLC0415  import late: most logs are in no envelope

    begin = EVENT.search(text)
    if begin is None:
        return Piece(b"") if text.strip() == LAST else None
    event = text[begin.start() :]
    number, time, computer = IDENTIFIER.search(event), TIME.search(event), COMPUTER.search(event)
    if number is None or time is None:
        return None
    kind = number[1].decode()
    if kind != EXPENSIVE_SEARCH and kind not in CONNECTION_EVENTS:
        return Piece(b"")
    if WHOLE not in event:
        return None  # cut: an old event has fewer values, too
    values = [unescape(_text(found[1] or b"")).strip() for found in VALUE.finditer(event)]
    server = unescape(_text(computer[1])) if computer else ""
    if kind in CONNECTION_EVENTS:
        row = _of_connection(kind, server, time[1].decode().replace(" ", "T") + "Z", values)
        return None if row is None else Piece(row)
    return Piece(event_row(server, time[1].decode().replace(" ", "T") + "Z", in_order(values)))


IDENTIFIERS = ("event_id", "eventid", "id", "code")
DEEPEST = 5
DATE = pattern(r"/Date\((-?\d{1,15})\)/")
PARAMETER = pattern(r"(?:param|data)_?(\d{1,2})")


def of_json(line: bytes) -> Piece | None:
    """Return an event 1644 as a row; an empty line for any other; None for what is no event."""
    import json  # noqa: PLC0415  import late: most logs are in no envelope

    try:
        found = json.loads(_text(line.strip().rstrip(b",")), parse_float=str)
    except (ValueError, RecursionError):
        return None
    names = _flat(found) if isinstance(found, dict) else {}
    numbers = [_single(names[one]) for one in IDENTIFIERS if one in names]
    if not numbers:
        return None
    of_connection = next(filter(CONNECTION_EVENTS.__contains__, numbers), "")
    if EXPENSIVE_SEARCH not in numbers and not of_connection:
        return Piece(b"")
    values = None if of_connection else _values(names)
    time = next((time for one in TIMES if (time := _single(names.get(one)))), "")
    server = next((server for one in SERVERS if (server := _single(names.get(one)))), "")
    if not time:
        return None
    if date := DATE.fullmatch(time):
        time = (EPOCH + timedelta(milliseconds=int(date[1]))).isoformat(timespec="seconds")[:19] + "Z"
    if of_connection:
        row = _of_connection(of_connection, server, time, _listed(names) or [_single(names.get("message"))])
        return None if row is None else Piece(row)
    return None if values is None else Piece(event_row(server, time, values))


def _listed(names: Mapping[str, Any]) -> list[str]:
    """Return the values of EventData in their order; nothing where they have none."""
    for name in ("properties", "data"):
        listed = names.get(name)
        listed = listed.get("#text") if isinstance(listed, dict) else listed
        if isinstance(listed, list):
            return [_single(one) for one in listed]
    numbered = {int(found[1]): _single(value) for name, value in names.items() if (found := PARAMETER.fullmatch(name))}
    return [numbered[place] for place in sorted(numbered)]


def _flat(found: dict[str, Any]) -> dict[str, Any]:
    """Return the values of an object and of those in it, by their names in lower case; the outermost of a name."""
    names: dict[str, Any] = {}
    waiting = deque([(found, 0)])
    while waiting:
        one, depth = waiting.popleft()
        for name, value in one.items():
            names.setdefault(name.lower().replace("_name", "name"), value)
            if isinstance(value, dict) and depth < DEEPEST:
                waiting.append((value, depth + 1))
    return names


def _single(value: object) -> str:
    """Return the text of a value that may be in an object: {"#text": …}, {"Value": …}, {"SystemTime": …}."""
    for name in ("#text", "Value", "value", "SystemTime", "#attributes"):
        if isinstance(value, dict) and name in value:
            value = value[name]
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _values(names: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the values of EventData: a list, numbered names, or the event's text."""
    for name in ("properties", "data"):
        listed = names.get(name)
        listed = listed.get("#text") if isinstance(listed, dict) else listed
        if isinstance(listed, list) and len(listed) >= len(("base", "filter", "visited", "returned")):
            return in_order([_single(one) for one in listed])
    numbered = {int(found[1]): _single(value) for name, value in names.items() if (found := PARAMETER.fullmatch(name))}
    if len(numbered) > 1:
        # Winlogbeat leaves out what is empty, as the base of a search of a forest: the count shows the first number.
        at = NAMES.index("visited")
        first = 0 if numbered.get(at, "").strip().isdigit() else 1
        return in_order([numbered.get(first + place, "") for place in range(len(NAMES))])
    by_column = _by_column({name: _single(value) for name, value in names.items()})
    return by_column if "filter" in by_column else of_message(_single(names.get("message")))


def _by_column(names: Mapping[str, str]) -> dict[str, str]:
    """Return values by our names of their columns."""
    values = {name: names[one] for name, columns, _ in COLUMNS for one in columns if one in names}
    port = names.get("clientport", "").strip()
    if port and "client" in values:
        values["client"] = ":".join(filter(None, (values["client"].strip(), port)))
    return values


MOST_OF_ROW = 1 << 20
"""Characters of a row; in a longer one a quotation mark is missing."""
ENOUGH_TO_BEGIN = 1 << 16
"""Bytes that show the header, the delimiter, and where the first whole row begins."""
DELIMITERS = "\t;,"
ASKED = "searchscope attributeselection servercontrols"
IN_BOTH_ORDERS = (
    "usedindexes pagesreferenced pagesreadfromdisk pagesprereadfromdisk cleanpagesmodified dirtypagesmodified "
    "searchtimems attributespreventingoptimization user"
)
ORDERS = tuple(
    f"ldapserver timegenerated {order} {IN_BOTH_ORDERS}".split()
    for order in (
        f"clientip clientport startingnode filter {ASKED} visitedentries returnedentries",
        f"startingnode filter visitedentries returnedentries clientip clientport {ASKED}",
    )
)
SCOPES = frozenset({"base", "onelevel", "subtree"})
"""They show in which order the columns of a file without a header are."""
HEADERS = tuple(map(frozenset, (("startingnode", "filter"), ("message", "timecreated"), ("eventid", "taskcategory"))))
"""Two names that a row cannot have both, whatever a client asks for: its filter has a parenthesis."""
DATE_LIKE = pattern(r"\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}\.?[ T].{4,30}")


ROW = pattern(
    rb"""^(?:"%s|"[^"\n]{1,255}"[,;\t]"(?=\d)[^"\n]{8,60}"[,;\t]|[^",;\t\n]{1,255}[,;\t]\d{1,4}[./-]\d)"""
    % SIGNATURE.encode(),
    re.MULTILINE,
)
"""The beginning of a row in a file without a header."""


class EventTable:
    """Decodes CSV that arrives in any parts; memory is bounded."""

    def __init__(self, _: Envelope) -> None:
        self._rest = self._cut = b""
        self._delimiter = ""
        """Empty until the first data."""
        self._header: tuple[str, ...] = ()

    def feed(self, data: bytes) -> bytes:
        """Return the events that the next data complete, in a line each."""
        data = self._rest + data
        if not self._delimiter:
            if len(data) < ENOUGH_TO_BEGIN:
                self._rest = data
                return b""
            data = self._begun(data)
        end = data.rfind(b"\n") + 1
        quotes = data.count(b'"', 0, end)
        while end and quotes % 2:
            before = data.rfind(b"\n", 0, end - 1) + 1
            quotes -= data.count(b'"', before, end)
            end = before
        if not end and len(data) > MOST_OF_ROW:
            end = data.find(b"\n") + 1 or len(data)
        self._rest = data[end:]
        return self._lost() + self._decoded(data[:end])

    def finish(self) -> bytes:
        """Return what the end of the text completes or has cut off."""
        rest = self._rest if self._delimiter else self._begun(self._rest)
        self._rest = b""
        return self._lost() + (self._decoded(rest) if rest.strip() else b"")

    def _decoded(self, data: bytes) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        return b"".join(self._row(row) + b"\n" for row in _rows(text, self._delimiter) if row)

    def _begun(self, data: bytes) -> bytes:
        """Find the delimiter; return the data without a mark, a line with a type, and a row that is cut off."""
        data = data.removeprefix(codecs.BOM_UTF8)
        if data.startswith(b"#TYPE"):
            data = data.partition(b"\n")[2]
        line = _text(data.partition(b"\n")[0])
        names = "".join(line.split()).lower()
        if not any(all(name in names for name in header) for header in HEADERS) and (begin := ROW.search(data)):
            self._cut = data[: begin.start()].replace(b"\n", b" ")
            data = data[begin.start() :]
            line = _text(data.partition(b"\n")[0])
        self._delimiter = max(DELIMITERS, key=line.count)
        return data

    def _lost(self) -> bytes:
        """Return what is left of a row whose beginning is cut off, once."""
        lost, self._cut = self._cut, b""
        return lost + b"\n" if lost.strip() else b""

    def _row(self, row: list[str] | csv.Error) -> bytes:
        if not isinstance(row, list):  # a field beyond csv's limit
            return str(row).encode()
        names = tuple("".join(one.split()).lower() for one in row)
        if any(header.issubset(names) for header in HEADERS):
            self._header = names
            return b""
        values = next(filter(None, map(of_message, row)), None)
        named = dict(zip(self._header or self._order(row), row, strict=False))
        time = next((named[one] for one in TIMES if named.get(one)), "")
        if values is None:
            values = _by_column(named)
        elif not DATE_LIKE.fullmatch(time.strip()):
            time = next((one for one in row if DATE_LIKE.fullmatch(one.strip())), "")
        server = next((named[one] for one in SERVERS if named.get(one)), "")
        kind = next((named[one] for one in ("eventid", "id", "instanceid") if named.get(one)), "").strip()
        if kind in CONNECTION_EVENTS and (line := _of_connection(kind, server, time, [max(row, key=len)])):
            return line
        if kind.isdecimal() and kind != EXPENSIVE_SEARCH and kind not in CONNECTION_EVENTS:
            return b""
        if "filter" not in values:
            return self._delimiter.join(row).replace("\n", " ").encode("utf-8", "surrogateescape")
        return event_row(server, time, values)

    def _order(self, row: list[str]) -> tuple[str, ...]:
        """Return the names of the columns of a row in a file without a header."""
        for order in ORDERS:
            place = order.index("searchscope")
            if place < len(row) and row[place].strip().lower() in SCOPES:
                self._header = tuple(order)
                return self._header
        return ()


def _rows(text: str, delimiter: str) -> Iterator[list[str] | csv.Error]:
    import csv  # noqa: PLC0415  import late: most logs are in no envelope
    import io  # noqa: PLC0415

    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    while True:
        try:
            yield next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield error


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
