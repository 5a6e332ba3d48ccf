"""When a server started, and which builds of indexes its errors logs contain."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from ldapdiag.evidence.index_build import EVERY_ATTRIBUTE
from ldapdiag.evidence.log.stamps import when

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ldapdiag.analysis.hosts.instances import Instance
    from ldapdiag.evidence.index_build import IndexBuild
    from ldapdiag.evidence.processes import ProcessTable

LONGEST_START = timedelta(minutes=10)
"""From the first line of a start to what another source shows of it: a database may have to be recovered first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """The known starts of a server, in order."""

    times: tuple[datetime, ...]
    restarts_from: datetime | None = None
    """The beginning of an access log with a restart in it, whose time that log does not contain."""
    complete: bool = False
    """The monitor or the process shows the last start."""

    @property
    def last(self) -> datetime | None:
        """Return the latest known one; None: none is known."""
        return max(filter(None, (*self.times[-1:], self.restarts_from)), default=None)

    def since(self, at: datetime) -> str:
        """Return a clause about the first start after a time; empty: none is known."""
        if found := next((one for one in self.times if one > at), None):
            return f"the server has started since ({shown(found)})"
        later = self.restarts_from is not None and self.restarts_from >= at
        return "the server has started since (its access log contains a restart)" if later else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorsLogs:
    """The builds in the errors logs of a server, and the time that the logs cover."""

    builds: Mapping[tuple[str, str], IndexBuild]
    """The last of each index, by backend and attribute in lower case."""
    first: datetime | None
    last: datetime | None

    def build_of(self, backend: str, attribute: str) -> IndexBuild | None:
        """Return the last build of an index: its own, or a later import of the whole database."""
        own = self.builds.get((backend.lower(), attribute.lower()))
        whole = self.builds.get((backend.lower(), EVERY_ATTRIBUTE))
        return max(filter(None, (own, whole)), key=lambda one: one.started, default=None)

    def covers(self, at: datetime, until: datetime | None) -> bool:
        """Return whether the logs reach from a time to the last start, so that a build between them would be there."""
        if self.first is None or self.last is None:
            return False
        return self.first <= at <= self.last and (until is None or until <= self.last + LONGEST_START)


def errors_logs(server: Instance) -> ErrorsLogs:
    """Combine the errors logs of a server."""
    builds: dict[tuple[str, str], IndexBuild] = {}
    for build in sorted((one for log in server.logs for one in log.index_builds), key=lambda one: one.started):
        builds[build.backend, build.attribute] = build
    return ErrorsLogs(
        builds=builds,
        first=min((log.first_time for log in server.logs if log.first_time), default=None),
        last=max((log.last_time for log in server.logs if log.last_time), default=None),
    )


def starts_of(server: Instance, processes: Iterable[ProcessTable]) -> Starts:
    """Return when a server started, by its errors logs, its monitor, its process, and restarts in its access logs."""
    logged = {one for log in server.logs for one in log.start_times}
    present = {server.monitor.started_at} if server.monitor is not None and server.monitor.started_at else set()
    for table in processes:
        known = (table.process(pid) for pid in server.pids)
        present |= {one.started for one in known if one is not None and one.started is not None and table.zoned}
    restarted = [
        when(log.segment.first_time)
        for log in server.access_logs
        if log.segment.first_time is not None and log.segment.server_processes > 1
    ]
    return Starts(
        times=tuple(sorted(logged | present)), restarts_from=max(restarted, default=None), complete=bool(present)
    )


def shown(at: datetime) -> str:
    """Return a time as reports print it."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
