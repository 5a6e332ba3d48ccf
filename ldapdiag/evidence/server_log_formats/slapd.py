"""slapd's log, which is also its access log: stderr of any version, or syslog in any format.

    6b00111c.32864e18 0x7f9c26e20200 slapd starting
    6807a029 conn=1981 fd=14 ACCEPT from IP=127.0.0.1:49138 (IP=0.0.0.0:389)
    Nov 20 09:21:35 vm slapd[25675]: fd=127 DENIED from unknown (127.0.0.70)
    <167>1 2026-11-20T08:54:04.365207+00:00 vm slapd 3989 - -  daemon: accept(8) failed errno=24 (Too many open files)

Operations are ignored. Only lines with conn= may contain text from clients, and of those only descriptor and listener
are read. Source: servers/slapd/daemon.c; the prefixes are added by rsyslog and Docker.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family, ServerIdentity, identify
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.log import refusal_messages
from ldapdiag.evidence.monitor.openldap import parse_address
from ldapdiag.evidence.server_log import ServerLog
from ldapdiag.evidence.server_log_formats import log_summary
from ldapdiag.evidence.server_log_formats.log_summary import LogSummary
from ldapdiag.evidence.server_log_formats.refusals import Refusals
from ldapdiag.evidence.server_log_formats.slapd_prefix import is_syslog, prefix_length

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

OPERATION = r"conn=\d{1,20} (?:fd|op)=-?\d{1,20} "
KNOWN = re.compile(
    OPERATION + r"|slapd (?:starting|stopped|shutdown)|[<=][=>] |@\(#\) \$OpenLDAP|daemon: |fd=\d{1,10} DENIED from ",
    re.ASCII,
)
OWN_OPERATION = re.compile(
    OPERATION + r"(?:ACCEPT from|closed|SRCH attr=|SRCH .{1,4000} deref=|(?:SEARCH )?RESULT (?:tag|oid)=)", re.ASCII
)
"""An operation in a form that only slapd writes; without times, logs of 389-ds are similar."""
BARE = re.compile(OPERATION + r"|@\(#\) \$OpenLDAP|daemon: |fd=\d{1,10} DENIED from |slapd starting\s*$", re.ASCII)
"""The beginning of a line without prefix, as of journalctl -o cat."""
TALK = ("<= ", "=> ", "slapd ", "connection_", "bdb_", "mdb_", "hdb_", "#", "\t", " ")
"""The beginning of slapd's other messages and of their continuation lines, without prefix."""

ACCEPT = re.compile(r"conn=\d{1,20} fd=(\d{1,9}) ACCEPT from \S{1,255} \((IP=[^\s()]{1,80})\)\s*$", re.ASCII)
DENIED = re.compile(refusal_messages.DENIED + r"\s*$", re.ASCII)
EXHAUSTION = (
    (re.compile(refusal_messages.ACCEPT_FAILED), log_summary.ACCEPT_FAILED),
    (re.compile(refusal_messages.BEYOND_TABLE + r"\s*$"), log_summary.BEYOND_TABLE),
)
HOSTS_UNREADABLE = re.compile(r"warning: cannot open /etc/hosts\.(?:allow|deny): Too many open files")
REPEATED = re.compile(r"message repeated (\d{1,9}) times: \[ ?(.{0,4000})\]\s*$")


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
