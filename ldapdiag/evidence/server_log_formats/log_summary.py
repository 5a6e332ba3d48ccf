"""LogSummary: exhaustion messages, listeners and starts of one server log, collected while it is read."""

from __future__ import annotations

from collections import deque
from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.evidence.server_log import ExhaustionMessage
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from datetime import datetime

LONGEST_SHOWN = 400
MOST_LISTENERS = 1000
MOST_START_TIMES = 1000

NOT_LISTENING = "stopped accepting connections: too many descriptors open"
ACCEPT_FAILED = "accepting a connection failed: no descriptor left"
DENIED = "accepted and closed at once: no descriptor left"
BEYOND_TABLE = "accepted and closed at once: beyond the descriptor table"
TABLE_FULL = "no free slot in the connection table"


@dataclass(slots=True)
class LogSummary:
    """The messages of one log read so far."""

    exhaustion_messages: dict[str, ExhaustionMessage] = field(default_factory=dict)
    listeners: dict[tuple[str, int], None] = field(default_factory=dict)
    starts: int = 0
    start_times: deque[datetime] = field(default_factory=lambda: deque(maxlen=MOST_START_TIMES))
    recovered: bool = False
    banner: str = ""

    def add_exhaustion(self, meaning: str, line: str, count: int = 1, *, first: str = "") -> None:
        """Count an exhaustion message; `first` and `line`: the first and the last of `count` lines."""
        self.recovered = False
        known = self.exhaustion_messages.get(meaning)
        shown = line.strip()[:LONGEST_SHOWN]
        self.exhaustion_messages[meaning] = ExhaustionMessage(
            meaning=meaning,
            count=count + (known.count if known else 0),
            first=known.first if known else (first or shown),
            last=shown,
        )

    def add_start(self) -> None:
        """Count a start of the server, which frees all descriptors."""
        self.starts += 1
        self.recovered = bool(self.exhaustion_messages) or self.recovered

    def add_listener(self, address: str, port: int) -> None:
        """Add an address and port on which the server listens."""
        if len(self.listeners) < MOST_LISTENERS:
            self.listeners[address, port] = None
