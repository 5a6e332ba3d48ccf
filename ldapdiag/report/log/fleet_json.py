"""The fleet view as plain values, by the keys of docs/contract.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND, moment

if TYPE_CHECKING:
    from ldapdiag.analysis.fleet.clocks import ClockShift
    from ldapdiag.analysis.fleet.comparison import Comparison
    from ldapdiag.analysis.fleet.differences import DifferingSearch
    from ldapdiag.analysis.fleet.replicas import Replica
    from ldapdiag.documents.log_fleet import DifferingSearch as SearchThatDiffers
    from ldapdiag.documents.log_fleet import Fleet, Server, ServerClock

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
