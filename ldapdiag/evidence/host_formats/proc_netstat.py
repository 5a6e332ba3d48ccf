"""Counters of the TCP stack as the kernel prints them: /proc/net/netstat, /proc/net/snmp, or both in one file.

    TcpExt: SyncookiesSent SyncookiesRecv ListenOverflows
    TcpExt: 0 0 5

A line of names is followed by a line of as many numbers. A counter is named as in nstat: TcpExtListenOverflows.
Source: Linux net/ipv4/proc.c (snmp_seq_show, netstat_seq_show).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.host_facts import TcpCounters
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

GROUPS = "Ip|IpExt|Icmp|IcmpMsg|Tcp|TcpExt|Udp|UdpLite|MPTcpExt"
NAMES = pattern(rf"({GROUPS}):((?: [A-Za-z][A-Za-z0-9]{{0,60}}){{1,400}}) ?", re.ASCII)
NUMBERS = pattern(rf"({GROUPS}):((?: -?\d{{1,20}}){{1,400}}) ?", re.ASCII)
EMPTY = pattern(rf"(?:{GROUPS}): ?", re.ASCII)
"""IcmpMsg of a host without ICMP messages."""
MOST_COUNTERS = 10_000


def recognises(head: Head) -> bool:
    """Recognise the file by a line of counter names."""
    return any(NAMES.fullmatch(line) for line in head.lines)


def read(document: Document) -> Iterator[TcpCounters]:
    """Read each pair of lines."""
    values: dict[str, int] = {}
    group, names = "", ""
    for line in document.lines:
        if found := NAMES.fullmatch(line):
            group, names = found[1], found[2]
        elif (found := NUMBERS.fullmatch(line)) and found[1] == group and len(found[2].split()) == len(names.split()):
            if len(values) < MOST_COUNTERS:
                values.update(zip((group + name for name in names.split()), map(int, found[2].split()), strict=True))
            group = names = ""
        elif line.strip() and not EMPTY.fullmatch(line):
            document.misread(line)
    if values:
        yield TcpCounters(origin=document.origin(), values=values)


FORMAT = Format(
    name="proc-net-netstat", title="counters of the kernel, from /proc/net", recognises=recognises, read=read
)
