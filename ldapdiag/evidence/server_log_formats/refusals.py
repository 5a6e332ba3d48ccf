"""Refusals: which of slapd's DENIED lines mean that no descriptor was left.

    fd=127 DENIED from unknown (127.0.0.70)

slapd writes it when tcp wrappers refuse a client: by a rule in hosts.deny, or because the rules could not be opened for
want of a descriptor. In the second case the number is the last one of the process: no connection of this life of the
server has had a higher one, and the next number is a limit somebody set, 128 or 1024 or 65535.
Source: servers/slapd/daemon.c, hosts_ctl() in libwrap; measured with ulimit -n 128.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ldapdiag.evidence.server_log_formats import log_summary
from ldapdiag.evidence.server_log_formats.log_summary import LogSummary

MOST_NUMBERS = 4096
LOWEST_LIMIT = 64
ROUND = (16, 100)
"""Limits are multiples of one of these, or one less."""


@dataclass(slots=True)
class Refused:
    """DENIED lines with one descriptor number."""

    first: str
    last: str
    count: int


@dataclass(slots=True)
class Refusals:
    """The DENIED lines of one life of the server, judged when it ends."""

    summary: LogSummary
    proved: bool = False
    """libwrap itself said that it could not open its rules."""
    by_rule: int = 0
    """Refused with a descriptor that was not the last: hosts.deny."""
    highest: int = 0
    waiting: dict[int, Refused] = field(default_factory=dict)

    def accepted(self, descriptor: int) -> None:
        """Learn that a connection got this descriptor."""
        self.highest = max(self.highest, descriptor)

    def refused(self, descriptor: int, line: str, count: int) -> None:
        """Keep a DENIED line until the life of the server ends."""
        line = line.strip()[: log_summary.LONGEST_SHOWN]
        known = self.waiting.get(descriptor)
        if known:
            known.last = line
            known.count += count
        elif len(self.waiting) < MOST_NUMBERS:
            self.waiting[descriptor] = Refused(line, line, count)

    def settle(self) -> None:
        """Judge what is waiting, and begin a new life."""
        for descriptor, refused in self.waiting.items():
            if self.proved or (descriptor > self.highest and is_last(descriptor)):
                self.summary.exhausted(log_summary.DENIED, refused.last, refused.count, first=refused.first)
            else:
                self.by_rule += refused.count
        self.waiting.clear()
        self.proved = False
        self.highest = 0


def is_last(descriptor: int) -> bool:
    """Tell whether a descriptor's number looks like the last one below a limit."""
    limit = descriptor + 1
    return limit >= LOWEST_LIMIT and any(limit % step in {0, step - 1} for step in ROUND)
