"""LogContent: what a report on access logs is about, for the document; its servers side by side as plain values."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND, moment
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.fleet.clocks import ClockShift
    from ldapdiag.analysis.fleet.comparison import Comparison
    from ldapdiag.analysis.fleet.differences import DifferingSearch
    from ldapdiag.analysis.fleet.replicas import Replica
    from ldapdiag.analysis.log.selections import Wanted
    from ldapdiag.analysis.log.workload import Workload
    from ldapdiag.documents.log_fleet import DifferingSearch as SearchThatDiffers
    from ldapdiag.documents.log_fleet import Fleet, Server, ServerClock
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


MOST_CLIENTS = 3
"""Of a server."""


def fleet_as_data(fleet: Comparison) -> Fleet:
    """Return what `log --by server` shows."""
    common = fleet.fleet.common
    return {
        "servers": [_server(fleet, replica) for replica in fleet.replicas],
        "compared_from": moment(common.begin, MILLISECOND) if common else None,
        "compared_to": moment(common.end, MILLISECOND) if common else None,
        "even_share": round(fleet.balance.even, 6) if fleet.balance else None,
        "differing_searches": [_search(search) for search in fleet.searches],
        "clients_of_one_server": [
            {"client": one.client, "server": one.server, "connections": one.connections, "share": round(one.share, 6)}
            for one in fleet.with_affinity
        ],
        "moved_clients": None
        if fleet.moved is None
        else [
            {
                "clients": list(one.clients),
                "from": one.source,
                "to": one.target,
                "begin": moment(one.begin, MILLISECOND),
                "end": moment(one.end, MILLISECOND),
                "silent": one.silent,
            }
            for one in fleet.moved
        ],
        "servers_by_version": {version: list(names) for version, names in fleet.versions.items()},
        "servers_without_records": list(fleet.fleet.without_record),
    }


def _server(fleet: Comparison, one: Replica) -> Server:
    segment = one.workload.segment
    share = next((each for each in fleet.balance.shares if each.replica is one), None) if fleet.balance else None
    return {
        "name": one.name,
        "connections": segment.opened,
        "operations": sum(segment.operations),
        "search_seconds": round(sum(search.etime for search in one.workload.plain_searches) / SECOND, 9),
        "peak": segment.peak,
        "unindexed_share": None if one.unindexed is None else round(one.unindexed, 6),
        "error_share": None if one.errors is None else round(one.errors, 6),
        "connection_share": round(share.connections, 6) if share else None,
        "operation_share": round(share.operations, 6) if share else None,
        "time_share": round(share.etime, 6) if share else None,
        "idle": one.is_idle if share else None,
        "silences": [[moment(each.begin, MILLISECOND), moment(each.end, MILLISECOND)] for each in one.silences],
        "shortest_silence_seconds": one.shortest_silence,
        "begins_late_seconds": round(one.late / SECOND, 3),
        "ends_early_seconds": round(one.early / SECOND, 3),
        "usual_per_second": [round(each.usual, 6) for each in one.silences],
        "not_compared": one.not_compared or None,
        "clock": None if one.clock is None else _clock(one.clock),
        "clients": [
            {"client": client.address, "opened": client.opened}
            for client in one.workload.client_uses[:MOST_CLIENTS]
            if client.opened
        ],
    }


def _clock(one: ClockShift) -> ServerClock:
    return {
        "ahead_seconds": round(one.ahead / SECOND, 3),
        "uncertainty_seconds": round(one.uncertainty / SECOND, 3),
        "uses": one.uses,
        "clients": one.clients,
        "has_zone": one.has_zone,
        "shifted": one.is_certain,
        "half": one.is_half,
    }


def _search(one: DifferingSearch) -> SearchThatDiffers:
    return {
        "server": one.server,
        "shape": one.group.shape,
        "base": one.group.base,
        "bases": one.group.bases,
        "scope": one.group.scope,
        "answered": one.group.answered,
        "unindexed": one.group.unindexed,
        "lacks_index": one.lacks_index,
        "median_seconds": round(one.group.etimes.p50 / SECOND, 9),
        "others": list(one.others),
        "others_median_seconds": round(one.their_median / SECOND, 9),
        "wait_seconds": None if one.wait is None else round(one.wait / SECOND, 9),
        "others_wait_seconds": None if one.their_wait is None else round(one.their_wait / SECOND, 9),
    }
