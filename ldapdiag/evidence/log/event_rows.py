r"""EventRow: an event 1644 of Active Directory in one line, whatever it was exported as (event_exports.py).

    "event 1644","DC1","2026-11-20T08:54:04.123Z","DC=x"," (a=b) ","20000","3","10.0.0.7:49152","subtree","[all]","",
        "idx_a:20000:N;","6","0","0","0","0","1500","none","X\joe"        in one line: number, server, time, EventData

EventData has no names, but an order. Events without KB2800945 have the first eight values only. The time is as it was
exported: UTC in XML, that of the exporter's zone and culture in CSV. Sources: Event1644Reader.ps1 and
MaLDAPtive's ConvertFrom-LdapServerWinEvent, which read the same values by their numbers; Microsoft KB2800945.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ldapdiag.lazy_pattern import pattern

EXPENSIVE_SEARCH = "1644"
CONNECTION_EVENTS = frozenset({"1216", "1317", "2889"})
"""Those of single connections, whose lines are in event_connections.py."""
MARK = "event 1644"
"""The first cell, which no export has."""
COLUMNS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("base", ("startingnode",), "Starting node:"),
    ("filter", ("filter",), "Filter:"),
    ("visited", ("visitedentries",), "Visited entries:"),
    ("returned", ("returnedentries",), "Returned entries:"),
    ("client", ("client", "clientip"), "Client:"),
    ("scope", ("searchscope", "scopeofsearch"), "Search scope:"),
    ("attributes", ("attributeselection",), "Attribute selection:"),
    ("controls", ("servercontrols",), "Server controls:"),
    ("used", ("usedindexes",), "Used indexes:"),
    ("pages", ("pagesreferenced",), "Pages referenced:"),
    ("disk", ("pagesreadfromdisk",), "Pages read from disk:"),
    ("preread", ("pagesprereadfromdisk",), "Pages preread from disk:"),
    ("clean", ("cleanpagesmodified", "pagesdirtied"), "Clean pages modified:"),
    ("dirty", ("dirtypagesmodified", "pagesredirtied"), "Dirty pages modified:"),
    ("etime", ("searchtimems", "searchtime"), "Search time (ms):"),
    ("preventing", ("attributespreventingoptimization",), "Attributes Preventing Optimization:"),
    ("user", ("user", "username"), "User:"),
)
"""The values in their order: our name, the names of columns without blanks and in lower case, the label in English."""
SERVERS = ("ldapserver", "computername", "computer", "machinename", "pscomputername", "hostname", "dcname")
TIMES = ("timegenerated", "systemtime", "timecreated", "eventtime", "dateandtime", "@timestamp", "time")
NAMES = tuple(name for name, _, _ in COLUMNS)
LEAST = NAMES.index("controls")
"""The least number of values; the last one of them is often empty, and may be missing."""
AS_WRITTEN = {label: name for name, _, label in COLUMNS}
IN_MESSAGE = ("client", "base", "filter", "scope", "attributes", "controls", "visited", "returned", *NAMES[LEAST + 1 :])
"""The order in the event's text, which is another one."""
LABEL = pattern(r"^[ \t]*+({})".format("|".join(map(re.escape, AS_WRITTEN))), re.MULTILINE)
LABEL_IN_LINE = pattern(r"\b({})".format("|".join(map(re.escape, AS_WRITTEN))))
SIGNATURE = "Internal event: A client issued a search operation with the following options"
EVENT_ROW = pattern(
    rb'^"event (?:1644|1216|1317|2889)","(?P<server>(?>(?:[^"\n]|"")*))","[^"\n]{0,60}"(?=,")', re.MULTILINE
)
GROUPED = pattern(r"\d{1,3}(?:([.,'\u2019 \u00a0\u202f])\d{3})(?:\1\d{3})*")
"""A whole number with the thousands separators of a culture; none of these columns has fractions."""
NUMBERS = frozenset({"visited", "returned", "pages", "disk", "preread", "clean", "dirty", "etime"})


def event_row(server: str, time: str, values: Mapping[str, str]) -> bytes:
    """Return the line of an event."""
    import csv  # noqa: PLC0415  import late: most logs have none
    import io  # noqa: PLC0415

    out = io.StringIO(newline="")
    cells = (_number(values.get(name, "")) if name in NUMBERS else values.get(name, "") for name in NAMES)
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="").writerow(
        [MARK, *(" ".join(map(str.strip, one.splitlines())) for one in (server, time, *cells))]
    )
    return out.getvalue().encode("utf-8", "surrogateescape")


def in_order(values: Sequence[str]) -> dict[str, str]:
    """Return the values of EventData by name."""
    return dict(zip(NAMES, values, strict=False))


def of_message(text: str) -> dict[str, str] | None:
    """Return the values in the English text of an event; None for any other text, or one that is cut."""
    at = text.find(SIGNATURE)
    if at < 0:
        return None
    values: dict[str, str] = {}
    last, expected = "", iter(IN_MESSAGE)
    for found in (LABEL if "\n" in text[at:] else LABEL_IN_LINE).finditer(text, at):
        if (name := AS_WRITTEN[found[1]]) not in expected:
            break  # it is in a value
        values[last] = text[at : found.start()].strip()
        last, at = name, found.end()
    values[last] = text[at:].strip()
    return values if len(values) > LEAST else None


def _number(text: str) -> str:
    text = text.strip()
    return "".join(filter(str.isdecimal, text)) if GROUPED.fullmatch(text) else text
