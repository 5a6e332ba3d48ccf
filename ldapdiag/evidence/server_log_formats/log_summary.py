"""LogSummary: lines of one meaning, counted, with the first and the last as they stand in the log."""

from __future__ import annotations

from dataclasses import dataclass, field

from ldapdiag.evidence.server_log import ExhaustionMessage

LONGEST_SHOWN = 400
MOST_LISTENERS = 1000

NOT_LISTENING = "stopped accepting connections: too many descriptors open"
ACCEPT_FAILED = "accepting a connection failed: no descriptor left"
DENIED = "accepted and closed at once: no descriptor left"
BEYOND_TABLE = "accepted and closed at once: beyond the descriptor table"
TABLE_FULL = "no free place in the connection table"


@dataclass(slots=True)
class LogSummary:
    """What one log has testified to so far."""

    exhaustion_messages: dict[str, ExhaustionMessage] = field(default_factory=dict)
    listeners: dict[tuple[str, int], None] = field(default_factory=dict)
    starts: int = 0
    recovered: bool = False
    banner: str = ""

    def exhausted(self, meaning: str, line: str, count: int = 1, *, first: str = "") -> None:
        """Count a line that says that descriptors ran out; several in one call share their first."""
        self.recovered = False
        known = self.exhaustion_messages.get(meaning)
        shown = line.strip()[:LONGEST_SHOWN]
        self.exhaustion_messages[meaning] = ExhaustionMessage(
            meaning=meaning,
            count=count + (known.count if known else 0),
            first=known.first if known else (first or shown),
            last=shown,
        )

    def started(self) -> None:
        """Count a start of the server, which begins with all descriptors free."""
        self.starts += 1
        self.listens_again()

    def listens_again(self) -> None:
        """Note that the server accepts connections, for all the log says so far."""
        self.recovered = bool(self.exhaustion_messages) or self.recovered

    def listens(self, address: str, port: int) -> None:
        """Keep an address the server listens on."""
        if len(self.listeners) < MOST_LISTENERS:
            self.listeners[address, port] = None
