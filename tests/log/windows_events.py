"""Events 1644 of a list of truth, in the forms and cultures in which they are exported."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BEGIN = datetime(2026, 11, 20, 8, 54, 4, tzinfo=UTC)


@dataclass(frozen=True)
class Event:
    """An event 1644; `values` in the order of EventData."""

    server: str
    time: datetime
    values: tuple[str, ...]


def event(
    number: int = 0,
    filter: str = " ( &  (cn=x)  (sn<=a) ) ",  # noqa: A002  RFC 4515's word
    *,
    visited: int = 209_369,
    returned: int = 1,
    used: str = "DNT_index:94168:N;",
    preventing: str = "sn",
    milliseconds: int = 1641,
    scope: str = "subtree",
    base: str = "DC=a,DC=b",
    server: str = "DC1",
    client: str = "10.1.1.1:33654",
    user: str = "A\\svc",
    is_old: bool = False,
) -> Event:
    """Return the event of a number, hours after the first one."""
    values = (
        base, filter, str(visited), str(returned), client, scope, "cn", "", used, "1487", "21", "0", "0", "0",
        str(milliseconds), preventing, user,
    )  # fmt: skip
    return Event(server, BEGIN + timedelta(hours=number), values[:8] if is_old else values)


FORMS = {
    "en-US": "{0:%m/%d/%Y} {1}:{0:%M:%S} {0:%p}",
    "en-GB": "{0:%d/%m/%Y %H:%M:%S}",
    "de-DE": "{0:%d.%m.%Y %H:%M:%S}",
    "nl-NL": "{0:%d-%m-%Y %H:%M:%S}",
    "es-MX": "{0:%d/%m/%Y} {1:02}:{0:%M:%S} {2}. m.",
    "ja-JP": "{0:%Y/%m/%d} {0.hour}:{0:%M:%S}",
    "ko-KR": "{0:%Y}. {0.month}. {0.day}. {3} {1}:{0:%M:%S}",
}
"""The cultures whose dates a CSV may have."""
GROUPS = {"en-US": ",", "en-GB": ",", "de-DE": ".", "nl-NL": ".", "es-MX": ",", "ja-JP": ",", "ko-KR": ","}


def local(time: datetime, culture: str) -> str:
    """Return a time as PowerShell writes it."""
    half = "am" if time.hour < 12 else "pm"
    return FORMS[culture].format(time, (time.hour - 1) % 12 + 1, half[0], "오전" if half == "am" else "오후")


OLD = (
    "LDAPServer", "TimeGenerated", "ClientIP", "ClientPort", "StartingNode", "Filter", "SearchScope",
    "AttributeSelection", "ServerControls", "VisitedEntries", "ReturnedEntries", "UsedIndexes", "PagesReferenced",
    "PagesReadFromDisk", "PagesPreReadFromDisk", "CleanPagesModified", "DirtyPagesModified", "SearchTimeMS",
    "AttributesPreventingOptimization", "User",
)  # fmt: skip
NEW = [*OLD[:2], *OLD[4:6], *OLD[9:11], *OLD[2:4], *OLD[6:9], *OLD[11:]]
IN_EVENT = [*OLD[4:6], *OLD[9:11], "Client", *OLD[6:9], *OLD[11:]]


def row_of(one: Event, columns: Sequence[str], culture: str, *, grouped: bool = False) -> list[str]:
    """Return an event as a row of a script."""
    found = dict(zip(IN_EVENT, one.values, strict=False))
    host, _, port = one.values[4].rpartition(":") if ":" in one.values[4] else (one.values[4], "", "")
    found |= {"LDAPServer": one.server, "TimeGenerated": local(one.time, culture), "ClientIP": host, "ClientPort": port}
    if grouped:
        for name in ("VisitedEntries", "PagesReferenced", "SearchTimeMS"):
            found[name] = f"{int(found[name]):,}".replace(",", GROUPS[culture])
    return [found.get(name.strip(), "") for name in columns]


def as_csv(
    events: Sequence[Event],
    columns: Sequence[str] = OLD,
    *,
    delimiter: str = ",",
    culture: str = "en-US",
    header: Sequence[str] | None = None,
    grouped: bool = False,
) -> str:
    """Return what Export-Csv writes; `header`: other names of the columns."""
    rows = [row_of(one, columns, culture, grouped=grouped) for one in events]
    return _written([list(header or columns), *rows], delimiter)


def _written(rows: list[list[str]], delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL, delimiter=delimiter).writerows(rows)
    return out.getvalue()


def message(one: Event) -> str:
    """Return the English text of an event."""
    found = dict(zip(IN_EVENT, one.values, strict=False))
    labels = {
        "Client": "Client", "Starting node": "StartingNode", "Filter": "Filter", "Search scope": "SearchScope",
        "Attribute selection": "AttributeSelection", "Server controls": "ServerControls",
        "Visited entries": "VisitedEntries", "Returned entries": "ReturnedEntries", "Used indexes": "UsedIndexes",
        "Pages referenced": "PagesReferenced", "Pages read from disk": "PagesReadFromDisk",
        "Pages preread from disk": "PagesPreReadFromDisk", "Clean pages modified": "CleanPagesModified",
        "Dirty pages modified": "DirtyPagesModified", "Search time (ms)": "SearchTimeMS",
        "Attributes Preventing Optimization": "AttributesPreventingOptimization", "User": "User",
    }  # fmt: skip
    text = "Internal event: A client issued a search operation with the following options. \r\n \r\n"
    return text + " \r\n".join(f"{label}:\r\n{found[name]}" for label, name in labels.items() if name in found)


def as_messages(events: Sequence[Event], *, culture: str = "en-US") -> str:
    """Return what Get-WinEvent | Export-Csv writes."""
    rows = [[message(one), "1644", one.server, local(one.time, culture)] for one in events]
    return "#TYPE System.Diagnostics.Eventing.Reader.EventLogRecord\r\n" + _written(
        [["Message", "Id", "MachineName", "TimeCreated"], *rows]
    )


def as_viewer(events: Sequence[Event], *, culture: str = "en-US", delimiter: str = ",") -> str:
    """Return what the Event Viewer saves as CSV, or as text with tabs."""
    head = delimiter.join(("Level", "Date and Time", "Source", "Event ID", "Task Category"))
    rows = (
        delimiter.join(("Information", local(one.time, culture), "NTDS General", "1644", "Field Engineering"))
        + delimiter
        + '"'
        + message(one).replace('"', '""')
        + '"\r\n'
        for one in events
    )
    return f"{head}\r\n{''.join(rows)}"


def as_xml(events: Sequence[Event], *, root: bool = False, between: str = "", number: int = 1644) -> str:
    """Return what wevtutil prints."""
    time = "%Y-%m-%dT%H:%M:%S.1234567Z"
    text = between.join(
        "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System><Provider Name='X'/>"
        f"<EventID Qualifiers='16384'>{number}</EventID><TimeCreated SystemTime='{one.time:{time}}'/>"
        f"<Computer>{one.server}</Computer></System><EventData>"
        + "".join(f"<Data>{escape(value)}</Data>" if value else "<Data/>" for value in one.values)
        + "</EventData></Event>"
        for one in events
    )
    return f'<?xml version="1.0"?><Events>{text}</Events>' if root else text


def _winlogbeat(one: Event) -> dict[str, object]:
    values = {f"param{number}": value for number, value in enumerate(one.values, 1) if value}
    return {
        "@timestamp": f"{one.time:%Y-%m-%dT%H:%M:%S}.123Z",
        "agent": {"id": "7", "name": "relay"},
        "event": {"code": "1644"},
        "message": message(one),
        "winlog": {"computer_name": one.server, "event_id": "1644", "event_data": values},
    }


def _nxlog(one: Event) -> dict[str, object]:
    return {
        "EventTime": f"{one.time:%Y-%m-%d %H:%M:%S}",
        "Hostname": one.server,
        "EventID": 1644,
        "EventData": {"Data": list(one.values)},
    }


def _evtx_dump(one: Event) -> dict[str, object]:
    system = {
        "EventID": {"#attributes": {"Qualifiers": 16384}, "#text": 1644},
        "TimeCreated": {"#attributes": {"SystemTime": f"{one.time:%Y-%m-%dT%H:%M:%S}.123456Z"}},
        "Computer": one.server,
    }
    return {"Event": {"System": system, "EventData": {"Data": {"#text": list(one.values)}}}}


def _powershell(one: Event, time: object) -> dict[str, object]:
    properties = [{"Value": int(value) if value.isdecimal() else value} for value in one.values]
    return {"Id": 1644, "TimeCreated": time, "MachineName": one.server, "Properties": properties}


def _five(one: Event) -> dict[str, object]:
    return _powershell(one, f"/Date({int(one.time.timestamp() * 1000)})/")


def _seven(one: Event) -> dict[str, object]:
    return _powershell(one, one.time.astimezone().isoformat())


def as_json(events: Sequence[Event], of: Callable[[Event], dict[str, object]], *, array: bool = False) -> str:
    """Return the objects, one in a line each, or as ConvertTo-Json writes an array."""
    if array:
        return json.dumps([of(one) for one in events], indent=4).replace("/Date", "\\/Date").replace(")/", ")\\/")
    return "".join(json.dumps(of(one)) + "\n" for one in events)


EXPORTS: dict[str, Callable[[Sequence[Event]], str]] = {
    "Event1644Reader, before 2015": as_csv,
    "Event1644Reader": lambda events: as_csv(events, NEW),
    "semicolons": lambda events: as_csv(events, NEW, delimiter=";"),
    "tabs": lambda events: as_csv(events, delimiter="\t"),
    "names with blanks": lambda events: as_csv(events, header=[f"{name} " for name in OLD]),
    "Get-WinEvent | Export-Csv": as_messages,
    "Event Viewer, CSV": as_viewer,
    "Event Viewer, text": lambda events: as_viewer(events, delimiter="\t"),
    "wevtutil": as_xml,
    "wevtutil, a line each": lambda events: as_xml(events, between="\r\n"),
    "Event Viewer, XML": lambda events: as_xml(events, root=True),
    "Winlogbeat": lambda events: as_json(events, _winlogbeat),
    "NXLog": lambda events: as_json(events, _nxlog),
    "evtx_dump": lambda events: as_json(events, _evtx_dump),
    "PowerShell 5.1": lambda events: as_json(events, _five, array=True),
    "PowerShell 7": lambda events: as_json(events, _seven, array=True),
}
"""By the program that writes it."""
