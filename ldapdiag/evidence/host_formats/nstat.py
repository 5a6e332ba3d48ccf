"""Counters of the TCP stack as nstat prints them.

    #kernel
    TcpExtListenOverflows           5                  0.0

Name, count, rate. Without -a the counts are since the last run of nstat. Source: iproute2 misc/nstat.c.
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

COUNTER = pattern(
    r"((?:Ip|Icmp|Tcp|Udp|MPTcp|Sctp)[A-Za-z0-9]{1,80})\s{1,80}(\d{1,20})\s{1,80}-?\d{1,20}\.\d{1,9}", re.ASCII
)
HEADER = "#"
MOST_COUNTERS = 10_000


def recognises(head: Head) -> bool:
    """Recognise nstat by a kernel counter with its rate."""
    return any(COUNTER.fullmatch(line.strip()) for line in head.lines)


def read(document: Document) -> Iterator[TcpCounters]:
    """Read every counter."""
    values: dict[str, int] = {}
    for line in document.lines:
        found = COUNTER.fullmatch(line.strip())
        if found and len(values) < MOST_COUNTERS:
            values[found[1]] = int(found[2])
        elif not found and line.strip() and not line.startswith(HEADER):
            document.misread(line)
    if values:
        yield TcpCounters(origin=document.origin(), values=values)


FORMAT = Format(name="nstat", title="counters of nstat", recognises=recognises, read=read)
