"""The report on access logs as JSON: schema ldapdiag.log/1 (docs/contract.md).

The JSON of all operations but searches, of failures, TLS, refusals and worker threads (docs/contract.md).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from ldapdiag.analysis.log.failed_binds import grouped_failures
from ldapdiag.analysis.log.omissions import omissions
from ldapdiag.analysis.log.spellings import text
from ldapdiag.analysis.log.workload import busiest_workers
from ldapdiag.evidence.log.durations import edges
from ldapdiag.evidence.log.idle_times import at_least_seconds
from ldapdiag.evidence.log.stamps import SECOND, moment
from ldapdiag.report.as_data import cluster_as_data
from ldapdiag.report.log.json_parts import kind, quantiles, silences, timeline, trend_of
from ldapdiag.report.log.quantities import seconds
from ldapdiag.report.log.selected import conditions_as_data, lines_as_data, no_match
from ldapdiag.report.log.sort import Sort, in_order, totals_in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ldapdiag.analysis.log.failed_binds import Failures
    from ldapdiag.analysis.log.operations import OperationGroup
    from ldapdiag.analysis.log.searches import Requester as RequesterOf
    from ldapdiag.analysis.log.searches import SearchGroup, SlowestOperation
    from ldapdiag.analysis.log.security import Security
    from ldapdiag.analysis.log.workload import ClientActivity, SearchTotals, Workload
    from ldapdiag.documents.log import Document, Stream, Unlisted
    from ldapdiag.documents.log_connections import Client, Connections, FailedBindGroup, IdleGroup, IdleTimes, Tls
    from ldapdiag.documents.log_operations import (
        Below,
        Failure,
        FilterShape,
        Requester,
        RequesterTotals,
        Searches,
        Slowest,
        Target,
        Waits,
        Workers,
    )
    from ldapdiag.evidence.access_log import LogStream
    from ldapdiag.evidence.log.idle_times import IdleRow
    from ldapdiag.evidence.log.idle_times import IdleTimes as IdleTimesOf
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.report.log.content import LogContent

SCHEMA: Final = "ldapdiag.log/1"
ROWS = 3
"""The depth of table rows in the document: `connections`, `clients`, one client."""


def render(document: Mapping[str, Any]) -> str:
    """Return the report as JSON, with a line for each table row; the same logs give the same bytes."""
    return _laid_out(document) + "\n"


def _laid_out(value: Any, depth: int = 0) -> str:  # noqa: ANN401  any plain value
    """Return a value with a line for each member; table rows and arrays of numbers are on one line each."""
    import json  # noqa: PLC0415  import late: the text needs none

    numbers = isinstance(value, list) and all(isinstance(one, int | float) for one in value)
    if depth == ROWS or not value or numbers or not isinstance(value, dict | list):
        return json.dumps(value, sort_keys=True)
    if isinstance(value, dict):
        ends, parts = "{}", [f"{json.dumps(key)}: {_laid_out(value[key], depth + 1)}" for key in sorted(value)]
    else:
        ends, parts = "[]", [_laid_out(one, depth + 1) for one in value]
    lines = ",\n".join(" " * (depth + 1) + part for part in parts)
    return f"{ends[0]}\n{lines}\n{' ' * depth}{ends[1]}"


def line(document: Mapping[str, Any]) -> str:
    """Return the report as JSON on one line, for a stream of reports."""
    import json  # noqa: PLC0415  import late

    return json.dumps(document, sort_keys=True) + "\n"


def document(read: LogContent, sort: Sort = Sort.TIME) -> Document:
    """Return the report as plain values."""
    work = read.workload
    segment = work.segment
    zones = sorted(zone.decode("utf-8", "backslashreplace") for zone in segment.zones if zone)
    return {
        **_logged(read),  # type: ignore[typeddict-item]  # mypy reads no optional keys there
        "schema": SCHEMA,
        "scanner": read.scanner,
        "cluster": cluster_as_data(read.cluster),
        "streams": [_stream(stream) for stream in read.streams],
        "files_not_logs": [{"target": one.target, "reason": one.reason} for one in read.passed_over],
        "gaps": [{"target": gap.target, "reason": gap.reason, "how": gap.how} for gap in read.gaps],
        "unreliable": [sentence for stream in read.streams for sentence in stream.unreliable],
        "remarks": [note for stream in read.streams for note in (*stream.unreliable, *stream.notes)],
        "stopped": read.stopped,
        "since": _moment(read.since, 1),
        "until": _moment(read.until, 1),
        "selection": conditions_as_data(read),
        "no_match": no_match(read),
        "slowest_lines": lines_as_data(read.shown, segment.resolution),
        "lines": segment.lines,
        "lines_not_understood": segment.misread,
        "lines_not_understood_samples": [sample.decode("utf-8", "backslashreplace") for sample in segment.samples],
        "lost_lines": segment.lost,
        "first_time": _moment(work.period and work.period[0], segment.resolution),
        "last_time": _moment(work.period and work.period[1], segment.resolution),
        "time_zone": ", ".join(zones) or None,
        "versions": list(work.versions),
        "operations": work.operations,
        "internal_operations": segment.internal,
        "results": {str(err): count for err, count in sorted(segment.results.items())},
        "whole_seconds": _in_whole_seconds(segment),
        "holes": segment.holes,
        "connections": _connections(work),
        "failed_binds": [
            {"dn": bind.dn, "client": bind.client, "err": bind.err, "count": bind.count} for bind in work.failed_binds
        ],
        "failed_bind_groups": [
            _failures_of(failure) for failure in grouped_failures(work.failed_binds, work.accepted_binds)
        ],
        "waits": _waits(work),
        "timeline": timeline(work.time_axis),
        "silences": silences(work.silences),
        "operation_times": {one.kind: kind(one) for one in work.kinds},
        "searches": _searches(work, sort),
        "noticed": [
            {
                "shape": notice.shape,
                "base": notice.base,
                "scope": notice.scope,
                "internal": notice.internal,
                "count": notice.count,
            }
            for notice in work.unindexed_notices
        ],
        "not_indexed": [
            {"attribute": name, "kind": kind, "count": count} for name, kind, count in work.lacking_indexes
        ],
        "caps_hit": segment.caps_hit,
        "fleet": read.fleet,
        "targets": [_target(target, segment.resolution) for target in work.targets],
        "failures": _failures(work),
        "tls": _tls(work.security),
        "refused": [{"client": one.client, "reason": one.what, "count": one.count} for one in work.security.refused],
        "workers": _workers(segment),
        "unlisted": _unlisted(segment),
    }


def _moment(time: int | None, resolution: int) -> str | None:
    return None if time is None else moment(time, resolution)


def _stream(stream: LogStream) -> Stream:
    return {
        "name": stream.name,
        "dialect": stream.dialect,
        "family": str(stream.family),
        "files": list(stream.files),
        "server_processes": stream.server_processes,
        "peak": stream.peak,
        "scanner": stream.scanner,
        "copies_left_out": [{"target": copy.target, "reason": copy.reason} for copy in stream.copies],
    }


def _connections(work: Workload) -> Connections:
    segment = work.segment
    return {
        "opened": segment.opened,
        "closed": sum(close.count for close in work.closes),
        "open_before": segment.open_before,
        "open_at_end": segment.open_at_end,
        "peak": segment.peak,
        "by_client": {client.address: client.opened for client in work.clients if client.opened},
        "by_account": work.by_account,
        "closed_by_code": {close.code: close.count for close in work.closes},
        "closes": [
            {
                "code": close.code,
                "meaning": close.meaning.text,
                "kind": close.meaning.kind,
                "count": close.count,
                "by_client": dict(close.clients),
            }
            for close in work.closes
        ],
        "clients": [_client(client, segment.resolution) for client in work.clients],
        "idle_times": [_idle_group(*of, row) for of, row in work.idle_rows.items()],
    }


def _client(client: ClientActivity, resolution: int) -> Client:
    first, last = client.used or (None, None)
    return {
        "client": client.address,
        "opened": client.opened,
        "operations": client.operations,
        "first_use": _moment(first, resolution),
        "last_use": _moment(last, resolution),
        "closed_without_operation": dict(client.without_operations),
        "used_again": _idle_times(client.idle_times),
        "before_close": {code: _idle_times(times) for code, times in client.idle_before_close.items()},
    }


def _idle_group(client: str, account: str, row: IdleRow) -> IdleGroup:
    p50, p99 = (row.used.quantile(percent) for percent in (50, 99))
    return {
        "client": client,
        "account": account,
        "used_again": {
            **_idle_times(row.used),
            "p50_seconds": None if p50 is None else list(p50),
            "p99_seconds": None if p99 is None else list(p99),
        },
        "before_close": {text(code): _idle_times(times) for code, times in sorted(row.before_close.items())},
        "open_at_end": _idle_times(row.open),
    }


def _idle_times(times: IdleTimesOf) -> IdleTimes:
    longest, ended, _ = times.longest
    return {
        "count": times.count,
        "longest_seconds": seconds(longest),
        "longest_ended": moment(-ended) if times.count else None,
        "from_seconds": {str(at_least_seconds(bucket)): count for bucket, (count, _) in sorted(times.buckets.items())},
    }


def _waits(work: Workload) -> Waits:
    segment = work.segment
    longest, time = segment.longest_wait if segment.selection is None else (None, 0)  # of all operations
    return {
        "operations": sum(work.waits.values()),
        "seconds": seconds(segment.waited),
        "etime_seconds": seconds(segment.took),
        "longest_seconds": None if longest is None else seconds(longest),
        "longest_time": moment(-time, segment.resolution) if longest else None,
        "below": _below(work.waits),
    }


def _below(durations: Mapping[int, int]) -> list[Below]:
    """Return durations as counts between each power of two and the one before."""
    by_bits = Counter[int]()
    for number, count in durations.items():
        by_bits[edges(number)[0].bit_length()] += count
    return [{"seconds": seconds(1 << bits), "count": count} for bits, count in sorted(by_bits.items())]


def _searches(work: Workload, sort: Sort) -> Searches:
    return {
        "total": work.operations["search"],
        "logical": work.logical_searches,
        "unindexed": work.unindexed,
        "etime_seconds": seconds(work.search_etime),
        "noted": work.notes,
        "shapes": [
            {**_filter_shape(one, work.segment.resolution), "base": one.base} for one in in_order(work.searches, sort)
        ],
        "filters": [
            {**_filter_shape(one, work.segment.resolution), "base": None, "bases": one.bases}
            for one in in_order(work.filter_totals, sort)
        ],
        "by_client": [_totals(one) for one in totals_in_order(work.client_totals, sort)],
        "by_account": [_totals(one) for one in totals_in_order(work.account_totals, sort)],
    }


def _totals(one: SearchTotals) -> RequesterTotals:
    return {
        "name": one.name,
        "count": one.count,
        "etime_seconds": seconds(one.etime),
        "noted": one.noted,
        "connections": one.connections,
    }


def _failures_of(group: Failures) -> FailedBindGroup:
    several = len(group.clients) > 1
    return {
        "account": None if group.of_client else group.name,
        "client": group.name if group.of_client else None if several else next(iter(group.clients)),
        "accounts": len(group.accounts),
        "clients": len(group.clients),
        "err": group.errors.most_common(1)[0][0],
        "count": group.count,
    }


def _logged(read: LogContent) -> dict[str, str]:
    """Return which searches the log has, where it has some alone: by the thresholds of its server beside it."""
    work = read.workload
    if not work.segment.least_visited:
        return {}
    from ldapdiag.analysis.log.logged_share import of_several, what_is_logged  # noqa: PLC0415  import late

    found = [one.thresholds for one in read.passed_over if one.thresholds]
    is_of_one = len(found) == len(read.streams) == 1 and len(work.segment.instances) <= 1
    logged = what_is_logged(work.segment, work.family, found[0] if is_of_one else None)
    if logged and found and not is_of_one:
        logged = f"{of_several(found)}; {logged}"
    return {"logged": logged} if logged else {}


def _in_whole_seconds(segment: Segment) -> bool:
    """Return whether all durations are whole seconds, as old servers log them."""
    rows = (*segment.shapes.values(), *segment.targets.values())
    return segment.resolution >= SECOND and bool(rows) and all(row.etime % SECOND == 0 for row in rows)


def _filter_shape(search: SearchGroup, resolution: int) -> FilterShape:
    trend = trend_of(search.trend, resolution)
    row: FilterShape = {
        "shape": search.shape,
        "scope": search.scope,
        "count": search.count,
        "answered": search.answered,
        "abandoned": search.abandoned,
        "unanswered": search.unanswered,
        "etime_seconds": seconds(search.etime),
        "wait_seconds": seconds(search.wait),
        "share": round(search.share, 6),
        "p50_seconds": seconds(search.etimes.p50) if search.answered else None,
        "p95_seconds": seconds(search.etimes.p95) if search.answered else None,
        "p99_seconds": seconds(search.etimes.p99) if search.answered else None,
        "wtime": quantiles(search.waits),
        "optime": quantiles(search.optimes),
        "first_seen": trend["first_seen"],
        "last_seen": trend["last_seen"],
        "since": trend["since"],
        "until": trend["until"],
        "series": trend["series"],
        "growth": trend["growth"],
        "entries": search.entries,
        "notes": dict(search.notes),
        "unindexed": search.unindexed,
        "errors": _errors(search.errors),
        "clients": _costliest((requester.client, requester.etime) for requester in search.requesters),
        "accounts": _costliest((requester.account, requester.etime) for requester in search.requesters),
        "requesters": [_requester(requester) for requester in search.requesters],
        "worst": None
        if search.slowest is None
        else {**_slowest(search.slowest, resolution), "filter": search.slowest.subject},
    }
    if search.sorts or search.reported:
        from ldapdiag.report.log.json_parts import add_details  # noqa: PLC0415  import late: few logs have them

        add_details(row, search)
    return row


def _errors(errors: Mapping[int, int]) -> dict[str, int]:
    return {str(err): count for err, count in errors.items()}


def _costliest(times: Iterable[tuple[str, int]]) -> list[str]:
    """Return names by the sum of their times, the largest first, ties by text."""
    sums: dict[str, int] = {}
    for name, etime in times:
        sums[name] = sums.get(name, 0) + etime
    return sorted(sums, key=lambda name: (-sums[name], name))


def _failures(work: Workload) -> list[Failure]:
    return [
        {
            "operation": failure.operation,
            "target": failure.target,
            "client": failure.client,
            "account": failure.account,
            "err": failure.err,
            "count": failure.count,
            "etime_seconds": seconds(failure.etime),
        }
        for failure in work.failures
    ]


def _tls(security: Security) -> Tls:
    return {
        "connections": [
            {"version": version, "cipher": cipher, "count": count}
            for (version, cipher), count in security.secured.items()
        ],
        "starttls": security.start_tls,
        "binds_in_clear": [
            {"client": bind.client, "dn": bind.what, "count": bind.count} for bind in security.clear_binds
        ],
        "binds_within_host": security.local_binds,
        "connections_not_judged": security.maybe_clear,
    }


def _unlisted(segment: Segment) -> list[Unlisted]:
    return [
        {
            "table": omission.table,
            "most_seconds": None if omission.unit else seconds(omission.most),
            "most": omission.most if omission.unit else None,
        }
        for omission in omissions(segment)
    ]


def _workers(segment: Segment) -> Workers | None:
    busiest = busiest_workers(segment)
    if busiest is None:
        return None
    return {
        "busy": busiest.busy,
        "threads": busiest.threads,
        "busy_since": moment(busiest.busy_since * SECOND, SECOND),
        "busy_meanwhile": busiest.busy_meanwhile,
        "queued": busiest.queued,
        "queued_since": moment(busiest.queued_since * SECOND, SECOND),
        "intervals": busiest.intervals,
        "seconds": busiest.seconds,
    }


def _target(group: OperationGroup, resolution: int) -> Target:
    return {
        "operation": group.operation,
        "target": group.target,
        "name": group.name,
        "count": group.count,
        "answered": group.answered,
        "abandoned": group.abandoned,
        "unanswered": group.unanswered,
        "etime_seconds": seconds(group.etime),
        "wait_seconds": seconds(group.wait),
        "share": round(group.share, 6),
        "p50_seconds": seconds(group.p50) if group.answered else None,
        "p95_seconds": seconds(group.p95) if group.answered else None,
        "p99_seconds": seconds(group.p99) if group.answered else None,
        "entries": group.entries,
        "errors": _errors(group.errors),
        "requesters": [_requester(requester) for requester in group.requesters],
        "worst": None
        if group.slowest is None
        else {**_slowest(group.slowest, resolution), "dn": group.slowest.subject},
    }


def _requester(requester: RequesterOf) -> Requester:
    row: Requester = {
        "client": requester.client,
        "account": requester.account,
        "count": requester.count,
        "etime_seconds": seconds(requester.etime),
        "noted": requester.noted,
    }
    if requester.refused:
        row["refused"] = requester.refused
    return row


def _slowest(slowest: SlowestOperation, resolution: int) -> Slowest:
    return {
        "etime_seconds": seconds(slowest.etime),
        "time": moment(slowest.time, resolution),
        "connection": slowest.connection,
        "operation": slowest.operation,
    }
