r"""Events of Windows as XML: saved by the Event Viewer, or printed by wevtutil and Get-WinEvent | ToXml().

    <Event xmlns='…'><System><EventID Qualifiers='16384'>1644</EventID><TimeCreated SystemTime='2026-11-20T08:54:04Z'/>
    <Computer>DC1</Computer></System><EventData><Data>DC=x</Data><Data> (a=b) </Data>...</EventData></Event>

Event 1644 becomes a row in the second order of columns of active_directory_1644.py: its values are in that order, but
a client has its port. Older versions of Windows write only the first six or eight of the seventeen.
Source: Event1644Reader.ps1, which reads the same values by their numbers.
"""

from __future__ import annotations

from ldapdiag.evidence.log.envelope import Envelope, Piece
from ldapdiag.evidence.log.pattern import pattern

END = b"</Event>"
LAST = b"</Events>"
EVENT = pattern(rb"<Event[\s>]")
IDENTIFIER = pattern(rb"<EventID[^<>]{0,99}>\s{0,9}(\d{1,9})\s{0,9}</EventID>")
TIME = pattern(rb"<TimeCreated\s{1,9}SystemTime=['\"](\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[.\d]{0,11}Z['\"]")
COMPUTER = pattern(rb"<Computer>([^<]{0,255})</Computer>")
VALUE = pattern(rb"<Data(?:\s[^<>]{0,200})?(?:/>|>([^<]*)</Data>)")
EXPENSIVE_SEARCH = b"1644"
VALUES = 17


def _event(text: bytes) -> Piece | None:
    """Return an event 1644 as a row; an empty line for any other; None if it cannot be read."""
    import csv  # noqa: PLC0415  import late: most logs are in no envelope
    import io  # noqa: PLC0415
    from html import unescape  # noqa: PLC0415

    begin = EVENT.search(text)
    if begin is None:
        return Piece(b"") if text.strip() == LAST else None
    event = text[begin.start() :]
    number, time, computer = IDENTIFIER.search(event), TIME.search(event), COMPUTER.search(event)
    if number is None or time is None:
        return None
    if number[1] != EXPENSIVE_SEARCH:
        return Piece(b"")
    values = [unescape((found[1] or b"").decode("utf-8", "replace")).strip() for found in VALUE.finditer(event)]
    values += [""] * (VALUES - len(values))
    client, _, port = values[4].rpartition(":")
    server = computer[1].decode("utf-8", "replace") if computer else ""
    row = [server, time[1].decode() + "Z", *values[:4], client or port, port, *values[5:VALUES]]
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="").writerow([" ".join(one.split()) for one in row])
    return Piece(out.getvalue().encode("utf-8", "replace"))


EVENTS = Envelope(
    name="windows-events", lines=pattern(rb"<EventID[^<>]{0,99}>\s{0,9}1644\s{0,9}<"), piece=_event, end=END
)
