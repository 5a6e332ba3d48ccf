"""LogContent: what a report on access logs is about, for the document."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.log.selections import Wanted
    from ldapdiag.analysis.log.workload import Workload
    from ldapdiag.documents.log_fleet import Fleet
    from ldapdiag.evidence.access_log import CountedLog, LogStream
    from ldapdiag.evidence.bundle import Gap, PassedOver
    from ldapdiag.evidence.cluster_work import ClusterWork
    from ldapdiag.evidence.log.selection import ShownOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class LogContent:
    """All streams, combined."""

    workload: Workload
    streams: tuple[LogStream, ...]
    passed_over: tuple[PassedOver, ...] = ()
    gaps: tuple[Gap, ...] = ()
    """Files, given or found, that could not be read."""
    since: int | None = None
    until: int | None = None
    """The period selected: nanoseconds since 1970."""
    log_times: tuple[int, int] | None = None
    """When the whole log begins and ends, where no record or operation of it is selected."""
    wanted: Wanted | None = None
    """The operations that were asked for; None: all."""
    not_found: tuple[str, ...] = ()
    """A sentence for each client or account asked for that is not in the logs."""
    shown: tuple[ShownOperation, ...] = ()
    """The slowest operations with their lines, the slowest first."""
    fleet: Fleet | None = None
    """The servers side by side, where that is asked for; as data, because adding them up consumes their counts."""
    cluster: ClusterWork | None = None
    """The work of the cluster that read them; None: they were read here."""
    stopped: bool = False
    """Reading was interrupted before the end."""

    @property
    def is_selection(self) -> bool:
        """Return whether some operations are not counted."""
        return self.wanted is not None and self.wanted.restricts

    @property
    def scanner(self) -> Scanner:
        """Return the scanner of the whole: the native one, if it read any stream."""
        return Scanner.of(stream.scanner for stream in self.streams)


def combined(logs: Sequence[CountedLog]) -> Workload:
    """Return the work of all logs; the counts of the first one become those of all."""
    from ldapdiag.analysis.log.workload import Workload  # noqa: PLC0415  import late
    from ldapdiag.evidence.log.combine import combine  # noqa: PLC0415

    families = {log.stream.family for log in logs}
    return Workload(combine(*(log.segment for log in logs)), families.pop() if len(families) == 1 else None)


def compared(logs: Sequence[CountedLog]) -> Fleet:
    """Return the servers side by side: the logs of each folder are one server's, unless it has several logs."""
    from ldapdiag.analysis.fleet.comparison import Comparison  # noqa: PLC0415  import late: mostly there is one server
    from ldapdiag.analysis.fleet.replicas import fleet_of  # noqa: PLC0415
    from ldapdiag.report.log.fleet_json import fleet_as_data  # noqa: PLC0415

    servers: dict[str, list[CountedLog]] = {}
    for name, log in zip(names_of([log.stream for log in logs]), logs, strict=True):
        servers.setdefault(name, []).append(log)
    return fleet_as_data(Comparison(fleet_of((name, _of_server(several)) for name, several in servers.items())))


def _of_server(logs: Sequence[CountedLog]) -> Workload:
    """Return the work of one server; the counts of its logs are not changed."""
    from ldapdiag.analysis.log.workload import Workload  # noqa: PLC0415  import late

    if len(logs) == 1:
        return Workload(logs[0].segment, logs[0].stream.family)
    return combined([log._replace(segment=log.segment.copied()) for log in logs])


def names_of(streams: Sequence[LogStream]) -> list[str]:
    """Return the server of each stream: its folder's name, or its own where its folder has logs of several."""
    alike = Counter((stream.folder, stream.dialect) for stream in streams)
    names = [
        stream.name if alike[stream.folder, stream.dialect] > 1 else stream.folder.rpartition("/")[2]
        for stream in streams
    ]
    folders: dict[str, set[str]] = {}
    for name, stream in zip(names, streams, strict=True):
        folders.setdefault(name, set()).add(stream.folder)
    return [name if len(folders[name]) == 1 else stream.folder for name, stream in zip(names, streams, strict=True)]
