"""index-not-built: an index that is configured but not used because it is not built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from ldapdiag.analysis.indexes.build_history import BuildHistory, IndexHistory
from ldapdiag.analysis.indexes.build_states import BuildState, shown
from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.unhelped_scans import UnhelpedScans, find_unhelped_scans
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.check import SEARCH_TIME, check
from ldapdiag.cost_thresholds import COST_LIMITS, Cost, CostLimits, severity_of_cost
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.log.stamps import when
from ldapdiag.finding import Confidence, Finding, NotJudged, Severity, Verdict, clear_unless
from ldapdiag.servers.index_remedies import build_indexes
from ldapdiag.servers.indexes.candidates import Cause
from ldapdiag.wording import counted, number, percent
from ldapdiag.wording import seconds as in_seconds

MOST_NAMED = 10


@check(group="indexes", number=SEARCH_TIME)
def judge(
    coverage: IndexCoverage,
    builds: BuildHistory | None,
    traffic: Traffic | None,
    *,
    limits: CostLimits = COST_LIMITS,
) -> Iterator[Verdict]:
    """An index that is configured but not used because it is not built.

    ## What it looks at
    Searches in the access log that the server notes as unindexed although every part of their filter has an index with
    a list within the limits: a new index is not used before it is built (389-ds keeps it offline, OpenDJ calls it
    degraded). A domain controller walks although the schema has the index, and names its attribute as what prevents
    optimization: not built, deferred (dSHeuristics), or not replicated. Also the server's own report of an index that
    needs rebuilding.

    - certain: the server reports it, or its errors log has no build since the index was added.
    - likely: the log shows it (possible: for a single account); the index may have been built after the log was
      written, or the account may not see all entries.

    An index that was added, changed or built after the log began is not judged: searches before that prove nothing. On
    OpenLDAP any change of the entry of the database after the log counts, because it has all its indexes. Without time
    stamps an index is not judged if only some searches of a kind examined every entry, and none returned many.

    ## Severity
    By default:

    - high, medium, low: as missing-index, if the searches take enough time.
    - low: otherwise.

    ## Why it matters
    The administrator who added the index considers the matter settled.

    ## What to do
    Build it. Searches stay as slow as they are until then.

    ## When it is harmless
    While it is being built.
    """
    found = find_unhelped_scans(coverage, {Cause.NOT_BUILT}) if coverage.indexes is not None else ()
    for one in found:
        history = _history(one, coverage, builds)
        building = history is not None and history.state is BuildState.BUILDING
        yield _being_built(one) if building else _finding(one, coverage, history, limits)
    younger = find_unhelped_scans(coverage, {Cause.YOUNGER})
    if traffic is not None:
        yield from _younger(younger, coverage, traffic)
    if not found and coverage.indexes is None:
        reason = f"no index configuration of {coverage.server}: the configured indexes are unknown"
        yield NotJudged.without(IndexConfiguration, coverage.server, reason)
    elif not found and not younger:
        yield clear_unless(coverage.unlisted, coverage.server, "no unindexed search has an index that would answer it")


def _history(one: UnhelpedScans, coverage: IndexCoverage, builds: BuildHistory | None) -> IndexHistory | None:
    """Return the history of the index, by any name of its attribute."""
    backends = one.searches[0].backends
    if builds is None or coverage.indexes is None or not backends:
        return None
    names = sorted(coverage.indexes.schema.names(one.attribute))
    return next((found for name in names if (found := builds.of(backends[0], name))), None)


def _younger(found: Sequence[UnhelpedScans], coverage: IndexCoverage, traffic: Traffic) -> Iterator[NotJudged]:
    """Yield one verdict on all searches that have an index which is younger than the log, and on those that may."""
    if dated := [one for one in found if not one.obstacle.inferred]:
        since = max(one.obstacle.since for one in dated if one.obstacle.since is not None)
        searches = counted(sum(one.count for one in dated), "search", "searches")
        reason = (
            f"{searches} ({in_seconds(sum(one.seconds for one in dated))}) are from before an index that answers them "
            f"was added, changed or built, the last at {shown(since)}: {_names(dated)}"
        )
        yield NotJudged(subject=coverage.server, reason=reason, how=_log_from(since, traffic))
    undated = [one for one in found if one.obstacle.inferred]
    for why in sorted({one.obstacle.reason for one in undated}):
        alike = [one for one in undated if one.obstacle.reason == why]
        noted = sum(scan.noted for one in alike for scan in one.searches)
        reason = (
            f"{number(noted)} of {counted(sum(one.count for one in alike), 'search', 'searches')} for {_names(alike)} "
            f"examined every entry, and an index answered the others of the same kinds: {why}"
        )
        times = [one.obstacle.since for one in alike if one.obstacle.since is not None]
        if not times:  # of events that name the indexes used
            yield NotJudged(subject=f"{_names(alike)} at {coverage.server}", reason=why, how="events of a later time")
            continue
        yield NotJudged(
            subject=f"{coverage.server}, indexes of unknown age", reason=reason, how=_log_from(max(times), traffic)
        )


def _names(found: Sequence[UnhelpedScans]) -> str:
    names = list(dict.fromkeys(one.attribute for one in found))
    return ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def _log_from(since: datetime, traffic: Traffic) -> str:
    """Return how to get a log of searches after a time."""
    last = traffic.segment.last_time
    within = last is not None and since < when(last)
    after = since + timedelta(seconds=1)  # time stamps of entries are in whole seconds
    return f"--since {after:%Y-%m-%dT%H:%M:%SZ}" if within else f"an access log from {shown(since)} on"


def _being_built(one: UnhelpedScans) -> NotJudged:
    reason = f"the index of {one.attribute} is being built, and no search uses it before the end of the build"
    return NotJudged(subject=one.subject, reason=reason, how="an access log from after the build")


def _confidence(one: UnhelpedScans, history: IndexHistory | None) -> Confidence:
    """Return how sure it is: a long list seems short to an account that may not see all entries, or below one base."""
    if not one.obstacle.inferred or (history is not None and history.state is BuildState.UNUSED):
        return Confidence.CERTAIN
    if one.obstacle.partial:
        return Confidence.POSSIBLE
    answered = {asker.account for asker in one.requesters if asker.count > asker.refused}
    return Confidence.LIKELY if len(answered) > 1 else Confidence.POSSIBLE


def _finding(one: UnhelpedScans, coverage: IndexCoverage, history: IndexHistory | None, limits: CostLimits) -> Finding:
    reported = not one.obstacle.inferred
    first, indexing = one.searches[0], coverage.indexes
    remedies = build_indexes(indexing.place(first.backends[0]), (one.attribute,)) if indexing and first.backends else ()
    unused = history is not None and history.state is BuildState.UNUSED
    why = history.why if history is not None and unused else one.obstacle.reason
    hidden = (
        "The index may have been built after this log was written.\n"
        "Or the account may not see the other matching entries: then the ID list is too long."
    )
    restart = (
        "Build it before the server starts again: it would use the index as it is, and answer with too few entries."
    )
    return Finding(
        subject=one.subject,
        severity=severity_of_cost(Cost.of(one, coverage.seconds), limits) if one.worth_a_change else Severity.LOW,
        confidence=_confidence(one, history),
        title=f"{one.attribute} has an index that {one.server} does not use because it is not built",
        detail=f"{counted(one.count, 'search')} {one.shape} examined every entry, {in_seconds(one.seconds)} in total "
        f"({percent(one.share)} of the search time); {why}.\n"
        + (restart if unused else "The index may have been built after this log was written." if reported else hidden),
        observed={**one.observed, "reason": why},
        server=one.server,
        hosts=(one.host,),
        remedies=remedies,
        origins=coverage.origins,
    )
