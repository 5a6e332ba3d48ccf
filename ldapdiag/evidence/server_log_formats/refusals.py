"""Refusals: the DENIED lines of slapd that mean descriptor exhaustion.

    fd=127 DENIED from unknown (127.0.0.70)

slapd logs this when TCP wrappers refuse a client: because of a rule in hosts.deny, or because the file with the rules
could not be opened for lack of a descriptor. In the second case the descriptor is the last one of the process: no
connection since the server's start had a higher one, and the next number is a usual limit, as 128, 1024 or 65535.
Source: servers/slapd/daemon.c, hosts_ctl() in libwrap; measured with ulimit -n 128.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ldapdiag.evidence.server_log_formats import log_summary
from ldapdiag.evidence.server_log_formats.log_summary import LogSummary

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
