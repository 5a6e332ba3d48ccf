"""The model of a live view: the servers that it watches, the diagnosis that it repeats, and what happened."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ldapdiag.live_view.server import NO_LOOK, RESTARTED, ServerModel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ldapdiag.live_view.socket_look import SocketLook
    from ldapdiag.live_view.source import TimedSource

MOST_EVENTS = 200


class Model:
    """Everything that the screen shows."""

    is_replay = False
    before = "the first one is under way"
    """Why there is no diagnosis of a server yet."""
    no_report = "The first diagnosis is under way."

    def __init__(
        self,
        servers: Sequence[ServerModel],
        diagnosis: TimedSource[Any],
        sockets: TimedSource[SocketLook] | None = None,
    ) -> None:
        """`sockets`: the tables of the hosts between two diagnoses; None: no host is read."""
        self.servers = servers
        self.diagnosis = diagnosis
        self.sockets = sockets
        self.events: deque[tuple[datetime, str]] = deque(maxlen=MOST_EVENTS)
        self._errors: dict[str, list[str]] = {}

    @property
    def report(self) -> Mapping[str, Any] | None:
        """Return the report of the last diagnosis."""
        found: Mapping[str, Any] | None = self.diagnosis.state.value
        return found

    @property
    def now(self) -> datetime:
        """Return the time that the screen shows."""
        return datetime.now(UTC)

    @property
    def position(self) -> str:
        """Return that time for the first line."""
        return f"{self.now:%H:%M:%S} UTC"

    def step(self, moments: int) -> str:  # noqa: ARG002  as a replay has it
        """Go on or back by recorded moments, and return what to say."""
        return "left and right step through a replay: ldapdiag top --replay FILE"

    def update(self) -> None:
        """Take what the sources have said since the last time."""
        sockets = self.sockets.state if self.sockets else NO_LOOK
        for server in self.servers:
            where = f"{server.label}: " if len(self.servers) > 1 else ""
            for event in server.update(self.diagnosis.state, sockets, is_only=len(self.servers) == 1):
                self.add_event(f"{where}{event}")
                if event == RESTARTED:  # what was judged is gone with its connections
                    self.diagnosis.wake.set()
        gaps = [f"{one.target}: {one.reason}" for one in sockets.value.gaps] if sockets.value else []
        for source, errors in (("diagnosis", [self.diagnosis.state.error]), ("sockets", [sockets.error, *gaps])):
            for error in filter(None, errors):
                if error not in self._errors.get(source, ()):
                    self.add_event(f"{source}: {error}")
            self._errors[source] = errors

    def add_event(self, text: str) -> None:
        """Keep what happened, with its time, for the line of events."""
        self.events.append((self.now, text))
