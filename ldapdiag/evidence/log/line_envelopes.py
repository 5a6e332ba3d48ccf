r"""Lines with a prefix: of a container runtime, of a tool that shows containers' logs, of syslog and of journalctl.

    2026-11-20T09:00:00.000000000Z stdout F [20/Nov/2026:09:00:00 +0000] conn=1 ...     CRI; P: the line goes on
    2026-11-20T09:00:00.000000000Z [20/Nov/2026:09:00:00 +0000] conn=1 ...              docker logs -t
    ds-1  | [20/Nov/2026:09:00:00 +0000] conn=1 ...                                     docker compose logs
    [pod/ds-0/ds] [20/Nov/2026:09:00:00 +0000] conn=1 ...                               kubectl logs --prefix
    ds1/access:17:[20/Nov/2026:09:00:00 +0000] conn=1 ...                               grep --with-filename (-n)
    Nov 20 09:00:00 vm dirsrv[7]: [20/Nov/2026:09:00:00 +0000] conn=1 ...               syslog, of a log with times
    Fri 2026-11-20 09:00:00 UTC vm slapd[7]: conn=1000 ...                              journalctl -o short-full
    1795165200.123456 vm slapd[7]: conn=1000 ...                                        journalctl -o short-unix
    2026-11-20T09:00:00.123456789+01:00 conn=1 op=1 UNBIND                              389-ds, its stamp rewritten

The two of journalctl become lines of syslog with an ISO 8601 time, the last one the line that 389-ds wrote. Sources:
Kubernetes' CRI logging format, journalctl(1).

Logs that are recognised and not read, with the reason and the next step.

    [07/17/2005:17:29:45 +0200] - CONNECT    - INFO  - conn=1591031 client=129.157.192.132:49216 server=0.0.0.0:9389

Source: Sun Directory Server Enterprise Edition 7.0 Reference, Directory Proxy Server, "Format of an Access Log Message"
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ldapdiag.evidence.log.envelope import Envelope, Piece, Writer
from ldapdiag.evidence.log.event_rows import EVENT_ROW
from ldapdiag.evidence.log.pattern import lines_like
from ldapdiag.evidence.log.stamps import MONTHS as NUMBER_OF_MONTH
from ldapdiag.evidence.log.syslog import CONTAINER, ISO_SYSLOG, RFC5424, TRADITIONAL, Prefix
from ldapdiag.lazy_pattern import pattern

DIGITS = b"0123456789"
COLOUR = rb"(?>(?:\x1b\[[\d;]{0,9}m)?)"
TIME = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?>(?:\.\d{1,9})?)(?:Z|[+-]\d\d:?\d\d)"
FLAGS = re.VERBOSE | re.MULTILINE

CRI_LINE = pattern(
    rb"^" + TIME + rb"\ (?P<stream>std(?:out|err))\ (?P<tag>[FP])(?::[^\ \n]{1,99})?\ (?P<text>[^\n]*)", FLAGS
)
TOOL_LINE = pattern(
    rb"^(?:"
    + COLOUR
    + rb"(?P<name>[^\s|]{1,200}+)[ ]{1,80}\|"
    + COLOUR
    + rb"""[ ]                                        # docker compose
    | \[pod/(?P<pod>[^\]\s]{1,400})\][ ]              # kubectl logs --prefix
    | (?P<stern>[^\s\[]{1,253}+\ [^\s\[]{1,63}+)[ ](?=\[\d\d/|\{")
    | (?P<file>(?!\d{4}-)[^\s:|\[]{1,400}+):                      # grep
      (?:\d{1,9}:|(?=\[\d\d/|\{\ ?"|[\da-f]{8}[. ]|[A-Z][a-z]{2}\ [ \d]\d\ \d\d:|\d{4}-\d\d-\d\dT))
    | """
    + TIME
    + rb"[ ])(?P<text>[^\n]*)",
    FLAGS,
)
FULL_LINE = pattern(
    rb"""^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\ (?P<date>\d{4}-\d\d-\d\d)\ (?P<time>\d\d:\d\d:\d\d(?:\.\d{1,6})?)
    \ (?P<zone>[A-Z]{1,5}|[+-]\d\d(?:\d\d)?)(?P<text>\ [^\n]*)""",
    FLAGS,
)
UNIX_LINE = pattern(
    rb"^(?P<second>\d{9,11})\.(?P<fraction>\d{6})(?P<text>\ \S{1,255}\ [^\s:\[]{1,128}(?:\[\d{1,10}\])?:\ [^\n]*)",
    FLAGS,
)

REWRITTEN_LINE = pattern(
    rb"""^\[?(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>\d\d)[T\ ](?P<time>\d\d:\d\d:\d\d(?>(?:\.\d{1,9})?))
    \ ?(?P<zone>Z|[+-]\d\d:?\d\d)\]?\ (?P<text>conn=(?:\d{1,18}|Internal\S{0,25})[ ]
    (?!fd=\d{1,9}\ (?:ACCEPT|closed|TLS)\b)
    (?!op=\d{1,10}\ (?:(?:SEARCH\ )?RESULT\ (?:tag|oid)=|SRCH\ attr=|SRCH\ base="[^"\n]{0,999}"\ scope=\d\ deref=))
    [^\n]*)""",
    FLAGS,
)
"""A line of 389-ds with an ISO 8601 time; slapd's have other fields."""
UNSTAMPED = pattern(
    rb"""^[^\n]{1,80}?\bconn=\d{1,18}\ op=-?\d{1,10}\ (?:RESULT\ err=-?\d{1,10}\ tag=\d{1,10}\ nentries=
    | SRCH\ base="[^"\n]{0,999}"\ scope=\d\ filter=)""",
    FLAGS,
)
"""A search or a result of 389-ds after any time stamp."""

ZONES = {
    b"UTC": b"+00:00", b"GMT": b"+00:00", b"Z": b"+00:00", b"WET": b"+00:00", b"WEST": b"+01:00",
    b"CET": b"+01:00", b"CEST": b"+02:00", b"EET": b"+02:00", b"EEST": b"+03:00", b"MSK": b"+03:00",
    b"EST": b"-05:00", b"EDT": b"-04:00", b"MDT": b"-06:00", b"PDT": b"-07:00",
    b"JST": b"+09:00", b"KST": b"+09:00", b"AEST": b"+10:00", b"AEDT": b"+11:00",
    b"NZST": b"+12:00", b"NZDT": b"+13:00",
}  # fmt: skip
"""The abbreviations that stand for one offset only; CST, for example, is that of Chicago, Havana and Shanghai."""

BEFORE_MESSAGE = pattern(
    rb"\ (\S{1,255}+)\ (?>(?:\w{1,20}+:\w{1,20}+\ )?)([^\s:\[]{1,128}+(?>(?:\[[^\]\s]{0,32}+\])?)):"
)
BEFORE_RFC5424 = pattern(rb"\ (\S{1,255}+)\ (\S{1,48}+)\ (\S{1,128}+)\ ")
MONTHS = list(NUMBER_OF_MONTH)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def writer_of(prefix: Prefix, after_time: bytes) -> Writer | None:
    """Return the program that wrote a message, by the text after the time in a prefix of syslog."""
    if prefix is RFC5424:
        found = BEFORE_RFC5424.match(after_time)
        return (found[1], found[2] + b" " + found[3]) if found else None
    found = BEFORE_MESSAGE.match(after_time)
    return (found[1], found[2]) if found else None


def _cri(line: bytes) -> Piece | None:
    found = CRI_LINE.fullmatch(line)
    return Piece(found["text"], None, found["stream"], found["tag"] == b"P") if found else None


def _tool(line: bytes) -> Piece | None:
    found = TOOL_LINE.fullmatch(line)
    if found is None:
        return None
    name = found["name"] or found["pod"] or found["stern"] or found["file"]
    return Piece(found["text"], (name, b"") if name else None)


def _full(line: bytes) -> Piece | None:
    found = FULL_LINE.fullmatch(line)
    zone = found["zone"] if found else b""
    offset = zone.ljust(5, b"0") if zone[:1] in {b"+", b"-"} else ZONES.get(zone)
    if found is None or offset is None:
        return None
    return Piece(b"%sT%s%s%s" % (found["date"], found["time"], offset, found["text"]))


def _unix(line: bytes) -> Piece | None:
    found = UNIX_LINE.fullmatch(line)
    if found is None:
        return None
    moment = EPOCH + timedelta(seconds=int(found["second"]))
    return Piece(b"%s.%s+00:00%s" % (moment.isoformat()[:19].encode(), found["fraction"], found["text"]))


def _rewritten(line: bytes) -> Piece | None:
    found = REWRITTEN_LINE.fullmatch(line)
    if found is None:
        return None
    month = MONTHS[int(found["month"]) - 1].title()
    stamp = b"%s/%s/%s:%s %s" % (found["day"], month, found["year"], found["time"], found["zone"].replace(b":", b""))
    return Piece(b"[%s] %s" % (stamp, found["text"]))


def _syslog(prefix: Prefix) -> Envelope:
    whole = pattern(rb"^" + prefix.pattern, FLAGS)

    def piece(line: bytes) -> Piece | None:
        found = whole.match(line)
        return Piece(line[found.end() :], writer_of(prefix, line[found.end("zone") : found.end()])) if found else None

    begins = b"<" + DIGITS + b"JFMASOND"
    return Envelope(name=prefix.name.removeprefix("openldap-"), begins=begins, lines=whole, piece=piece)


CRI = Envelope(name="cri", begins=DIGITS, lines=CRI_LINE, piece=_cri, splits=True)
TOOL = Envelope(name="container-prefix", lines=TOOL_LINE, piece=_tool)
SHORT_FULL = Envelope(name="journal-short-full", begins=b"MTWFS", lines=FULL_LINE, piece=_full)
SHORT_UNIX = Envelope(name="journal-short-unix", begins=DIGITS, lines=UNIX_LINE, piece=_unix)
REWRITTEN = Envelope(name="389-iso", lines=REWRITTEN_LINE, piece=_rewritten)
SYSLOGS = tuple(_syslog(prefix) for prefix in (RFC5424, ISO_SYSLOG, TRADITIONAL))


def _event_row(line: bytes) -> Piece | None:
    found = EVENT_ROW.match(line)
    return Piece(line, (found["server"], b"") if found["server"] else None) if found else None


def _whole_lines(envelope: Envelope) -> Envelope:
    """Return an envelope whose lines are passed on with their prefix, as their dialect reads it."""

    def piece(line: bytes) -> Piece:
        found = envelope.piece(line)
        return Piece(line, found.writer if found else None)

    return replace(envelope, piece=piece)


EVENT_ROWS = Envelope(name="event-rows", begins=b'"', lines=EVENT_ROW, piece=_event_row)
TAGGED = {
    RFC5424.name: _whole_lines(SYSLOGS[0]),
    ISO_SYSLOG.name: _whole_lines(SYSLOGS[1]),
    TRADITIONAL.name: _whole_lines(SYSLOGS[2]),
    CONTAINER.name: _whole_lines(TOOL),
    "active-directory-1644": _whole_lines(EVENT_ROWS),
    "389-text": _whole_lines(replace(TOOL, sign=b"| ")),
}
"""By dialect: the lines of those that read the prefix with the name of the writer themselves."""


PROXY = pattern(
    rb"^\[\d\d/\d\d/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] - "
    rb"(?:CONNECT|OPERATION|SERVER_OP|DISCONNECT|PROFILE) {1,9}- [A-Z]{4,9} {1,9}- ",
    re.MULTILINE,
)


def refusal(head: bytes) -> str:
    """Return why a log with these first lines is not read, as the end of a sentence; empty for any other file."""
    lines = head.count(b"\n") + 1
    if 2 * lines_like(PROXY, head) > lines:
        return (
            "is an access log of Directory Proxy Server, which is not supported; read the access logs of the directory "
            "servers behind it"
        )
    if 2 * lines_like(SHORT_FULL.lines, head) > lines:
        return (
            "is a journal with a time zone whose abbreviation stands for several offsets, or without operations; "
            "export it with journalctl -o short-iso"
        )
    if 2 * lines_like(UNSTAMPED, head) > lines:
        return (
            "is an access log of 389-ds whose time stamps have another form than [29/Nov/2026:10:00:00.123456789 "
            "+0100] or ISO 8601 with a zone; a program between the server and this file changes them, so read the log "
            "of the server"
        )
    return ""
