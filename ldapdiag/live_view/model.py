"""The model of a live view: the servers that it watches, the diagnosis that it repeats, and what happened."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ldapdiag.live_view.server import ServerModel
    from ldapdiag.live_view.source import TimedSource

MOST_EVENTS = 200


class Model:
    """Everything that the screen shows."""

    def __init__(self, servers: Sequence[ServerModel], diagnosis: TimedSource[Mapping[str, Any]]) -> None:
        self.servers = servers
        self.diagnosis = diagnosis
        self.events: deque[tuple[datetime, str]] = deque(maxlen=MOST_EVENTS)
        self._error = ""

    @property
    def report(self) -> Mapping[str, Any] | None:
        """Return the report of the last diagnosis."""
        return self.diagnosis.state.value

    def update(self) -> None:
        """Take what the sources have said since the last time."""
        for server in self.servers:
            where = f"{server.label}: " if len(self.servers) > 1 else ""
            for event in server.update(self.report):
                self.add_event(f"{where}{event}")
        error = self.diagnosis.state.error
        if error and error != self._error:
            self.add_event(f"diagnosis: {error}")
        self._error = error

    def add_event(self, text: str) -> None:
        """Keep what happened, with its time, for the line of events."""
        self.events.append((datetime.now(UTC), text))
