"""slapd's log, which is also its access log: stderr of any version, or syslog in any format.

    6b00111c.32864e18 0x7f9c26e20200 slapd starting
    6807a029 conn=1981 fd=14 ACCEPT from IP=127.0.0.1:49138 (IP=0.0.0.0:389)
    Nov 20 09:21:35 vm slapd[25675]: fd=127 DENIED from unknown (127.0.0.70)
    <167>1 2026-11-20T08:54:04.365207+00:00 vm slapd 3989 - -  daemon: accept(8) failed errno=24 (Too many open files)

Operations are ignored. Only lines with conn= may contain text from clients, and of those only descriptor and listener
are read. Source: servers/slapd/daemon.c; the prefixes are added by rsyslog and Docker.

The prefixes of slapd's log lines: time and thread on stderr, date and tag of syslog, name of a container.

    6b00111c.32864e18 0x7f9c26e20200 slapd starting
    openldap        | 5b2c666c daemon: shutdown requested and initiated.
    <167>1 2026-11-20T08:54:04.365207+00:00 vm slapd 3989 - -  slapd starting
    [17-01-2019 09:04:47] slapd debug  conn=1006 op=0 UNBIND

Source: servers/slapd/logging.c (2.4 prints seconds; 2.5 adds nanoseconds and thread), RFC 3164, RFC 5424; Solaris adds
an identifier.

Refusals: the DENIED lines of slapd that mean descriptor exhaustion.

    fd=127 DENIED from unknown (127.0.0.70)

slapd logs this when TCP wrappers refuse a client: because of a rule in hosts.deny, or because the file with the rules
could not be opened for lack of a descriptor. In the second case the descriptor is the last one of the process: no
connection since the server's start had a higher one, and the next number is a usual limit, as 128, 1024 or 65535.
Source: servers/slapd/daemon.c, hosts_ctl() in libwrap; measured with ulimit -n 128.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family, ServerIdentity, identify
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.log import refusal_messages
from ldapdiag.evidence.monitor.openldap import parse_address
from ldapdiag.evidence.server_log import ServerLog
from ldapdiag.evidence.server_log_formats import log_summary
from ldapdiag.evidence.server_log_formats.log_summary import LogSummary
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

OPERATION = r"conn=\d{1,20} (?:fd|op)=-?\d{1,20} "
KNOWN = pattern(
    OPERATION + r"|slapd (?:starting|stopped|shutdown)|[<=][=>] |@\(#\) \$OpenLDAP|daemon: |fd=\d{1,10} DENIED from ",
    re.ASCII,
)
OWN_OPERATION = pattern(
    OPERATION + r"(?:ACCEPT from|closed|SRCH attr=|SRCH .{1,4000} deref=|(?:SEARCH )?RESULT (?:tag|oid)=)", re.ASCII
)
"""An operation in a form that only slapd writes; without times, logs of 389-ds are similar."""
BARE = pattern(OPERATION + r"|@\(#\) \$OpenLDAP|daemon: |fd=\d{1,10} DENIED from |slapd starting\s*$", re.ASCII)
"""The beginning of a line without prefix, as of journalctl -o cat."""
TALK = ("<= ", "=> ", "slapd ", "connection_", "bdb_", "mdb_", "hdb_", "#", "\t", " ")
"""The beginning of slapd's other messages and of their continuation lines, without prefix."""

ACCEPT = pattern(r"conn=\d{1,20} fd=(\d{1,9}) ACCEPT from \S{1,255} \((IP=[^\s()]{1,80})\)\s*$", re.ASCII)
DENIED = pattern(refusal_messages.DENIED + r"\s*$", re.ASCII)
EXHAUSTION = (
    (pattern(refusal_messages.ACCEPT_FAILED), log_summary.ACCEPT_FAILED),
    (pattern(refusal_messages.BEYOND_TABLE + r"\s*$"), log_summary.BEYOND_TABLE),
)
HOSTS_UNREADABLE = pattern(r"warning: cannot open /etc/hosts\.(?:allow|deny): Too many open files")
REPEATED = pattern(r"message repeated (\d{1,9}) times: \[ ?(.{0,4000})\]\s*$")


def recognises(head: Head) -> bool:
    """Recognise slapd by its prefix and one of its messages, or by messages that only slapd writes."""
    return any(_is_slapd(line) for line in head.lines)


def read(document: Document) -> Iterator[ServerLog]:
    """Read the messages about descriptor exhaustion, starts and listeners."""
    summary = LogSummary()
    refusals = Refusals(summary)
    for line in document.lines:
        if "conn=" in line:
            if " ACCEPT from " in line:
                _read_accept(line, summary, refusals)
            continue
        start = prefix_length(line)
        if start or BARE.match(line):
            _read_message(line[start:], line, summary, refusals)
        elif line and not line.startswith(TALK) and not is_syslog(line):
            document.misread(line)
    refusals.classify()
    if refusals.by_rule:
        document.note(f"Clients DENIED by a rule in hosts.deny, not for lack of descriptors: {refusals.by_rule:,}.")
    yield ServerLog(
        origin=document.origin(),
        identity=identify(summary.banner) or ServerIdentity(family=Family.OPENLDAP),
        exhaustion_messages=tuple(summary.exhaustion_messages.values()),
        listeners=tuple(summary.listeners),
        starts=summary.starts,
        recovered=summary.recovered,
    )


def _is_slapd(line: str) -> bool:
    if start := prefix_length(line):
        return KNOWN.match(line, start) is not None
    return (OWN_OPERATION if line.startswith("conn=") else BARE).match(line) is not None


def _read_accept(line: str, summary: LogSummary, refusals: Refusals) -> None:
    """Read the listener and the descriptor of an ACCEPT line."""
    if found := ACCEPT.match(line, prefix_length(line)):
        refusals.add_accepted(int(found[1]))
        address, port = parse_address(found[2])
        if port is not None:
            summary.add_listener(address, port)


def _read_message(message: str, line: str, summary: LogSummary, refusals: Refusals) -> None:
    """Read a message that is not an operation."""
    count = 1
    if repeated := REPEATED.match(message):
        count, message = int(repeated[1]), repeated[2]
    if denied := DENIED.match(message):
        refusals.add_refused(int(denied["descriptor"]), line, count)
    elif HOSTS_UNREADABLE.match(message):
        refusals.proved = True
    elif message.rstrip() == "slapd starting":
        refusals.classify()
        summary.add_start()
    elif message.startswith("@(#) $OpenLDAP"):
        summary.banner = message[:200]
    else:
        for pattern, meaning in EXHAUSTION:
            if pattern.match(message):
                summary.add_exhaustion(meaning, line, count)


FORMAT = Format(name="slapd-log", title="a log of OpenLDAP's slapd", recognises=recognises, read=read)


WORD = r"[^\s=\"]{1,255}"
"""A host, pod, container or time: not a name=value of slapd's own lines."""
DATE = r"(?:<\d{1,3}>)?(?:1 )?(?:[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,+Z-]{8,30})"
TAG = r"(?P<tag>[\w./@()-]{1,64})(?:\[\d{1,10}\])?: "
RFC_5424 = r"(?P<application>\S{1,48}) \S{1,128} \S{1,32} (?:-|\[[^\]]{0,999}\]) {1,2}"
SYSLOG = rf"{DATE}(?: \d{{4}})? {WORD} (?:{TAG}|{RFC_5424})(?:\[ID \d{{1,10}} [\w.]{{1,30}}\] )?"
HOSTED = rf"{WORD} slapd\[\d{{1,10}}\]: "
DEBUG = rf"(?:{WORD} {{1,80}}){{0,4}}[4-7][0-9a-f]{{7}}\.[0-9a-f]{{8}} 0x[0-9a-f]{{1,16}} "
DEBUG_2_4 = rf"(?:{WORD} {{1,80}}(?:\| )?)?[4-7][0-9a-f]{{7}} "
WRAPPED = r"\[[^\]]{8,40}\] slapd debug {1,2}"

PREFIX = pattern(f"{SYSLOG}|{HOSTED}|{DEBUG}|{DEBUG_2_4}|{WRAPPED}", re.ASCII)
SYSLOG_LINE = pattern(rf"{DATE} ?\S", re.ASCII)
"""A line of another program, or of syslog itself."""


def prefix_length(line: str) -> int:
    """Return the length of the prefix in characters; 0 if there is none, or the line is from another program."""
    prefix = PREFIX.match(line)
    if prefix is None:
        return 0
    program = prefix["tag"] or prefix["application"] or "slapd"
    return prefix.end() if "slapd" in program or "openldap" in program else 0


def is_syslog(line: str) -> bool:
    """Return whether this is a syslog line of any program."""
    return SYSLOG_LINE.match(line) is not None


MOST_NUMBERS = 4096
LOWEST_LIMIT = 64
ROUND = (16, 100)
"""Limits are multiples of one of these numbers, or one less."""


@dataclass(slots=True)
class Refused:
    """The DENIED lines with the same descriptor number."""

    first: str
    last: str
    count: int


@dataclass(slots=True)
class Refusals:
    """The DENIED lines between two starts of the server, classified at the second one."""

    summary: LogSummary
    proved: bool = False
    """libwrap logged that it could not open its rules."""
    by_rule: int = 0
    """Number of clients refused by hosts.deny: the descriptor was not the last one."""
    highest: int = 0
    """The highest descriptor of an accepted connection."""
    unclassified: dict[int, Refused] = field(default_factory=dict)
    """By descriptor."""

    def add_accepted(self, descriptor: int) -> None:
        """Record the descriptor of an accepted connection."""
        self.highest = max(self.highest, descriptor)

    def add_refused(self, descriptor: int, line: str, count: int) -> None:
        """Keep a DENIED line until the next start of the server."""
        line = line.strip()[: log_summary.LONGEST_SHOWN]
        known = self.unclassified.get(descriptor)
        if known:
            known.last = line
            known.count += count
        elif len(self.unclassified) < MOST_NUMBERS:
            self.unclassified[descriptor] = Refused(line, line, count)

    def classify(self) -> None:
        """Classify the DENIED lines at a start of the server, or at the end of the log."""
        for descriptor, refused in self.unclassified.items():
            if self.proved or (descriptor > self.highest and is_last(descriptor)):
                self.summary.add_exhaustion(log_summary.DENIED, refused.last, refused.count, first=refused.first)
            else:
                self.by_rule += refused.count
        self.unclassified.clear()
        self.proved = False
        self.highest = 0


def is_last(descriptor: int) -> bool:
    """Return whether a descriptor is the last one below a usual limit."""
    limit = descriptor + 1
    return limit >= LOWEST_LIMIT and any(limit % step in {0, step - 1} for step in ROUND)
