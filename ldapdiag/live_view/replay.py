"""A replay: what was recorded, moment by moment, on the screen of a live view; nothing is asked.

A moment is a capture, or a run of a history. What a moment lacks stays on the screen as old, with its age then.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.family import Family, ServerIdentity, identify
from ldapdiag.evidence.history import SEVERITIES
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.live_view.judged import LastDiagnosis, judged
from ldapdiag.live_view.model import Model
from ldapdiag.live_view.server import MOST_READINGS, ServerModel
from ldapdiag.live_view.source import State, TimedSource
from ldapdiag.sources.live.ldap.watch import Look

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from ldapdiag.evidence.history import RecordedRun, ServerSummary

LACKS = "not in the evidence of this moment"
NO_CLIENT = "a history names no client"
SECONDS = 60.0
"""Twice as long after the evidence of one server, that of another one makes it old."""
NO_REPORT = "a history has no report; replay captures for it"


@dataclass(frozen=True, slots=True)
class RecordedServer:
    """One server at one moment."""

    at: datetime
    look: Look
    diagnosis: LastDiagnosis


@dataclass(frozen=True, slots=True)
class Moment:
    """What was recorded at one time."""

    at: datetime
    """When the latest of its evidence was taken."""
    servers: Mapping[str, RecordedServer]
    report: Mapping[str, Any] | None = None
    """None: of a history."""


def moment_of_run(
    run: RecordedRun, report: Mapping[str, Any] | None = None, monitors: Mapping[str, Monitor | None] | None = None
) -> Moment:
    """Return the moment of a recorded run, or of a capture with its report and what its servers publish by name."""
    servers = {}
    for one in run.servers:
        found = judged(report, one.name) if report is not None else _of_history(run, one)
        monitor = (monitors or {}).get(one.name) or _monitor(one)
        look = Look(monitor=monitor, seconds=0.0, requests=0, brand=one.product or "directory server")
        servers[one.name] = RecordedServer(one.taken, look, replace(found, taken_at=one.taken))
    return Moment(run.taken, servers, report)


def _monitor(one: ServerSummary) -> Monitor:
    # The screen shows the brand of the look; a product that is in no list of ours has any family here.
    identity = identify(one.product) or ServerIdentity(family=min(Family), product="directory server")
    return Monitor(origin=Origin(path="history"), identity=identity, current_connections=one.connections)


def _of_history(run: RecordedRun, one: ServerSummary) -> LastDiagnosis:
    """Return what a history has of a diagnosis: numbers, and the checks that found something."""
    worst = next((name for name in reversed(SEVERITIES) if run.counts.get(name)), "")
    wrong = {"ghosts": one.ghosts, "severed": one.severed, "stranded": one.stranded}
    numbers = [f"{name} {'-' if count is None else f'{count:,}'}" for name, count in wrong.items()]
    found = dict.fromkeys(f"{finding.severity} {finding.check}" for finding in (*one.findings, *run.findings))
    return LastDiagnosis(
        headline=f"{worst.upper() or 'no finding'}  {', '.join((*numbers, *found))}",
        outcomes="",
        findings={f"{each.check}|{each.digest}": f"{each.severity} {each.check}" for each in one.findings},
        clients={},
        used=one.descriptors_used,
        limit=one.descriptor_limit,
        not_matched=NO_CLIENT,
    )


class Replay(Model):
    """Moments, one of which the screen shows."""

    is_replay = True
    before = LACKS
    no_report = NO_REPORT

    def __init__(
        self,
        moments: Sequence[Moment],
        seconds: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin at the first of `moments`, at least one, by time; each is shown for `seconds()`."""
        self.moments = sorted(moments, key=lambda one: one.at)
        self.place = -1
        self.is_playing = len(moments) > 1
        self._seconds, self._clock = seconds, clock
        self._shown = clock()
        super().__init__([], self._source("diagnosis"))
        self._show(0)

    @property
    def report(self) -> Mapping[str, Any] | None:
        """Return the report of the moment that is shown."""
        return self.moments[max(0, self.place)].report

    @property
    def now(self) -> datetime:
        """Return the time of the moment that is shown."""
        return self.moments[max(0, self.place)].at

    @property
    def position(self) -> str:
        """Return which moment is shown, and its time."""
        paused = "" if self.is_playing else ", paused"
        return f"REPLAY {self.place + 1:,} of {len(self.moments):,}{paused}: {self.now:%Y-%m-%d %H:%M:%S} UTC"

    def update(self) -> None:
        """Go on to the next moment when its time has come."""
        if self.is_playing and self._clock() - self._shown >= self._seconds():
            self._show(self.place + 1)
            self.is_playing = self.place + 1 < len(self.moments)

    def step(self, moments: int) -> str:
        """Go on or back, which stops the playing; 0: play, or stop."""
        self.is_playing = not (self.is_playing or moments)
        self._shown = self._clock()
        if self.is_playing and self.place + 1 == len(self.moments):
            self._show(0)
        elif 0 <= self.place + moments < len(self.moments):
            self._show(self.place + moments)
        else:
            return "no moment was recorded before" if moments < 0 else "no later moment was recorded"
        return ""

    def _show(self, place: int) -> None:
        """Take the moments up to one, those that are taken already excepted; before them, begin anew."""
        if place < self.place or self.place < 0:
            begin = max(0, place + 1 - MOST_READINGS)
            names = dict.fromkeys(name for one in self.moments for name in one.servers)
            self.servers = [self._server(name) for name in names]
            self.diagnosis = self._source("diagnosis")
            self.events.clear()
            self.place = begin - 1
        while self.place < place:
            self.place += 1
            self._take(self.moments[self.place])
        for server in self.servers:
            server.forecast.ask_once()
        self._shown = self._clock()

    def _take(self, moment: Moment) -> None:
        self.diagnosis.state = State(moment, self._second(moment.at))
        for server in self.servers:
            found = moment.servers.get(server.label)
            is_listed = found is not None and found.look.monitor.connections is not None
            for source, is_there in ((server.counters, found is not None), (server.listing, is_listed)):
                lacks = replace(source.state, error=LACKS if source.state.value or moment.report else "")
                source.state = State(found.look, self._second(found.at)) if found and is_there else lacks
            for event in (*server.update(State()), *server.take_diagnosis(found.diagnosis if found else None)):
                self.add_event(f"{server.label}: {event}" if len(self.servers) > 1 else event)

    def _server(self, name: str) -> ServerModel:
        log = self._source("log")
        log.state = replace(log.state, error="not recorded")
        return ServerModel(name, self._source("counters"), self._source("list"), log, lambda: None, lambda: self.now)

    def _source(self, name: str) -> TimedSource[Any]:
        """Return a source that nothing asks; its answer is old when that of the moment is much later."""
        return TimedSource(name, lambda: None, lambda: SECONDS, clock=lambda: self._second(self.now))

    def _second(self, at: datetime) -> float:
        return (at - self.moments[0].at).total_seconds()
