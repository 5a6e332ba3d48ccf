r"""All envelopes, and which of them the lines of a log are in.

Lines in JSON objects, one object a line: logs of Docker, of log shippers, and of systemd's journal.

    {"log":"6b000aac.1b749727 0x7f6c conn=1000 op=1 UNBIND\n","stream":"stderr","time":"2026-11-20T08:54:04.4Z"}
    {"log":"...","kubernetes":{"pod_name":"ldap-0","container_name":"ldap"}}
    __REALTIME_TIMESTAMP=1700000000000000           journalctl -o export: a field a line, an empty line after each entry
    {"__REALTIME_TIMESTAMP":"1700000000000000","_HOSTNAME":"vm","SYSLOG_IDENTIFIER":"slapd","_PID":"9353",
     "MESSAGE":"conn=1 op=2 UNBIND"}

Docker splits a line at 16 KiB: only its last part has a line feed. A message of the journal has no time of its own, so
it becomes a line of syslog with an ISO 8601 time; a message that is not UTF-8 is a list of its bytes, and one of more
than 4096 bytes is null without `journalctl --all`. Sources: moby's daemon/logger/jsonfilelog, journalctl(1),
systemd.journal-fields(7), systemd's JOURNAL_EXPORT_FORMATS.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from ldapdiag.evidence.log.dialects import recognise
from ldapdiag.evidence.log.envelope import Decoding, Envelope, Piece, Writer, decoded, first_lines
from ldapdiag.evidence.log.event_rows import SIGNATURE
from ldapdiag.evidence.log.json_values import JSON_ARRAY, JSON_VALUES
from ldapdiag.evidence.log.line_envelopes import CRI, REWRITTEN, SHORT_FULL, SHORT_UNIX, SYSLOGS, TOOL
from ldapdiag.lazy_pattern import pattern

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIELD = pattern(rb"\n*+([A-Z_][A-Z0-9_]{0,63})(?:=([^\n]*))?(?:\n|\Z)")
MICROSECONDS = pattern(r"\d{1,17}", re.ASCII)
NOT_A_NAME = pattern(rb"[\s:\[\]|]")
TEXTS = ("log", "message", "line", "msg")
"""The names of the line in the objects of container runtimes and log shippers."""
WHOLE_FILE = b"\0"
"""The end of a record that is all of a file."""


def _object(line: bytes) -> dict[str, Any] | None:
    """Return the object in a line, also of journalctl -o json-seq and json-sse; None if there is none."""
    import json  # noqa: PLC0415  import late: most logs are in no envelope

    text = line.lstrip(b"\x1e").removeprefix(b"data: ").decode("utf-8", "surrogateescape")
    try:
        found = json.loads(text, parse_float=str)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _of_container(line: bytes) -> Piece | None:
    found = _object(line)
    text = next((found[name] for name in TEXTS if isinstance(found.get(name), str)), None) if found else None
    if found is None or text is None:
        return None
    pod = found.get("kubernetes")
    writer = (_name(pod.get("pod_name")), _name(pod.get("container_name"))) if isinstance(pod, dict) else None
    is_docker = "log" in found and "time" in found and pod is None
    return Piece(_bytes(text), writer, _name(found.get("stream")), is_docker and not text.endswith("\n"))


def _of_journal(line: bytes) -> Piece | None:
    found = _object(line)
    return _of_message(found) if found else None


def _of_export(entry: bytes) -> Piece | None:
    """Return the message of an entry of systemd's Journal Export Format; None if it is cut or a length is untrue."""
    fields, at = dict[str, Any](), 0
    while found := FIELD.match(entry, at):
        at = found.end()
        if found[2] is None:  # eight bytes of length, little-endian, and as many of the value
            end = at + 8 + int.from_bytes(entry[at : at + 8], "little")
            if end > len(entry):
                return None
            value, at = entry[at + 8 : end], end + 1
        else:
            value = found[2]
        fields[found[1].decode()] = value.decode("utf-8", "surrogateescape")
    return _of_message(fields)


def _of_message(found: dict[str, Any]) -> Piece | None:
    time = found.get("_SOURCE_REALTIME_TIMESTAMP", found.get("__REALTIME_TIMESTAMP"))
    text = _message(found.get("MESSAGE"))
    if text is None or not isinstance(time, str) or not MICROSECONDS.fullmatch(time):
        return None
    host, program = writer = _writer(found)
    if found.get("CONTAINER_PARTIAL_MESSAGE") == "true":
        return Piece(text, writer, is_part=True)
    moment = EPOCH + timedelta(microseconds=int(time))
    return Piece(b"%s+00:00 %s %s: %s" % (moment.isoformat(timespec="microseconds")[:26].encode(), host, program, text))


def _message(value: object) -> bytes | None:
    if isinstance(value, list) and value and all(isinstance(one, int) and 0 <= one < 256 for one in value):
        return bytes(value)
    if isinstance(value, list):
        value = next((one for one in value if isinstance(one, str)), None)
    return _bytes(value) if isinstance(value, str) else None


def _writer(found: dict[str, Any]) -> Writer:
    """Return the host and the process of a message; each container is one."""
    names = ("CONTAINER_NAME", "SYSLOG_IDENTIFIER", "_COMM", "_SYSTEMD_UNIT")
    program = next((_name(found[name]) for name in names if found.get(name)), b"-")
    process = found.get("_PID") or found.get("SYSLOG_PID")
    return _name(found.get("_HOSTNAME")), b"%s[%s]" % (program, _name(process)) if process else program


def _name(value: object) -> bytes:
    """Return a name without the characters that end one in syslog."""
    text = value if isinstance(value, str) else str(value) if isinstance(value, int) else "-"
    return NOT_A_NAME.sub(b"_", _bytes(text[:30])) or b"-"


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


JOURNAL = Envelope(
    name="journal-json",
    begins=b"\x1ed{",
    lines=pattern(
        rb'^[\x1e]?+(?>(?:data:\ )?)\{(?=[^\n]*"MESSAGE")(?=[^\n]*_REALTIME_TIMESTAMP")', re.VERBOSE | re.MULTILINE
    ),
    piece=_of_journal,
    splits=True,
)
EXPORT = Envelope(
    name="journal-export",
    lines=pattern(rb"\n*+__CURSOR="),
    piece=_of_export,
    end=b"\n\n",
    sign=b"__CURSOR=",
    splits=True,
)
CONTAINER = Envelope(
    name="container-json",
    begins=b"{",
    lines=pattern(rb'^\{[^\n]*?"(?:log|message|line|msg)"\s{0,9}:\s{0,9}"', re.MULTILINE),
    piece=_of_container,
    splits=True,
)


def _of_event_xml(text: bytes) -> Piece | None:
    from ldapdiag.evidence.log.event_exports import of_xml  # noqa: PLC0415  import late: most logs are no export

    return of_xml(text)


def _of_event_json(line: bytes) -> Piece | None:
    from ldapdiag.evidence.log.event_exports import of_json  # noqa: PLC0415  as above

    return of_json(line)


def _event_table(envelope: Envelope) -> Decoding:
    from ldapdiag.evidence.log.event_exports import EventTable  # noqa: PLC0415  as above

    return EventTable(envelope)


EVENTS_XML = Envelope(
    name="windows-events",
    lines=pattern(rb"(?s:.*?)<EventID[^<>]{0,99}>\s{0,9}\d{1,9}\s{0,9}<"),
    piece=_of_event_xml,
    end=b"</Event>",
    sign=b"<EventID",
)
EVENTS_JSON = Envelope(
    name="windows-events-json",
    begins=b"{",
    lines=pattern(rb'\{(?=[^\n]{0,65536}?"(?i:event_?id|id|code)"\s{0,9}:)'),
    piece=_of_event_json,
    splits=True,
)
EVENTS_CSV = Envelope(
    name="windows-events-csv",
    lines=pattern(
        rb"""(?!(?s:.{0,4000}?)^"event\ 1644",")(?s:.{0,4000}?)
        (?i:\bStartingNode\b | [,;\t]"?(?:base|onelevel|subtree)"?[,;\t] | %s
        | ^(?:Client\ IP|Client\ IP\ address|Network\ address):\s)"""
        % SIGNATURE.encode().replace(b" ", rb"\ "),
        re.MULTILINE | re.VERBOSE,
    ),
    piece=lambda _: None,
    end=WHOLE_FILE,
    splits=True,
    decoding=_event_table,
)
"""All of it is one text: a field may have line feeds."""

ENVELOPES = (
    JOURNAL,
    EXPORT,
    CONTAINER,
    CRI,
    SHORT_FULL,
    SHORT_UNIX,
    *SYSLOGS,
    TOOL,
    REWRITTEN,
    EVENTS_XML,
    EVENTS_JSON,
    EVENTS_CSV,
    JSON_ARRAY,
    JSON_VALUES,
)
"""A new envelope is a line here."""

ENVELOPES_OF_RECORDS = tuple(envelope for envelope in ENVELOPES if envelope.end not in {b"\n", WHOLE_FILE})
"""Those around lines that begin as `[20/Nov/2026` does: no other has such lines, and to ask each takes time."""

DEEPEST = 4
"""Envelopes within each other: syslog in the journal in Docker's log, shown by docker compose."""


def envelopes_of(head: bytes) -> tuple[Envelope, ...]:
    """Return the envelopes around the lines of a log that begins with these bytes, from the outermost; mostly none.

    They are those in which most lines are recognised.
    """
    return _best(head, DEEPEST)[1]


def _best(head: bytes, deepest: int) -> tuple[int, tuple[Envelope, ...]]:
    """Return the number of recognised lines, and the envelopes around them."""
    first = first_lines(head)
    is_bare = 2 * sum(line[:1] == b"[" and line[3:4] == b"/" for line in first) > len(first)
    possible = ENVELOPES_OF_RECORDS if is_bare else ENVELOPES
    candidates = [envelope for envelope in possible if envelope.carries(head, first)] if deepest else []
    if not candidates and deepest == DEEPEST:
        return 0, ()  # most files: their dialect is recognised later, if they are logs
    dialect = recognise(head)
    best: tuple[int, tuple[Envelope, ...]] = (dialect.recognised(head) if dialect else 0, ())
    for envelope in candidates:
        lines, inner = _best(decoded(envelope, head), deepest - 1)
        if lines > best[0] or (lines == best[0] > 0 and envelope.splits):
            best = lines, (envelope, *inner)
    return best
