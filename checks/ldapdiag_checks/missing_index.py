"""missing-index: an attribute without the index that expensive searches need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ldapdiag.analysis.indexes.account_limits import (
    ADMIN_LIMIT,
    limit_sentences,
    limits_of,
    refused_accounts,
    stopped_by,
    time_limit_sentences,
)
from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.plan import IndexPlan, PlannedIndexes, indexes_as_data, set_with
from ldapdiag.analysis.indexes.predictions import TIME_UNKNOWN, saved_between, time_with
from ldapdiag.analysis.indexes.reported_use import visits_clause
from ldapdiag.analysis.indexes.search_coverage import failing
from ldapdiag.analysis.indexes.unhelped_scans import find_unhelped_scans
from ldapdiag.analysis.log.trends import observed_trend, trend_sentences
from ldapdiag.check import MainNumber, check
from ldapdiag.cost_thresholds import COST_LIMITS, Cost, CostLimits, rests_on_one, severity_of_cost
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.finding import Confidence, Finding, NotJudged, Verdict, clear_unless
from ldapdiag.remedy import Remedy
from ldapdiag.servers.index_remedies import add_indexes, ldapsearch_command
from ldapdiag.servers.indexes.candidates import Cause
from ldapdiag.servers.indexes.example_search import search_command
from ldapdiag.servers.products import UNTESTED, is_tested
from ldapdiag.wording import counted, duration, durations, percent
from ldapdiag.wording import seconds as in_seconds

ASK_FOR_PAGES = "ask the owner of the client whether it requests pages (1.2.840.113556.1.4.319)"
HOW_TO_JUDGE = {Cause.PAGES: ASK_FOR_PAGES, Cause.NOT_EXPORTED: IndexConfiguration.how}
MOST = 10
"""Filters, clients and accounts named."""


@check(
    group="indexes",
    number=MainNumber(
        "saves_seconds",
        "search time that the index saves",
        "spent",
        of="searches",
        up_to="high",
        signs=(("refused", 1),),
    ),
)
def judge(
    plan: IndexPlan,
    coverage: IndexCoverage,
    *,
    limits: CostLimits = COST_LIMITS,
) -> Iterator[Verdict]:
    """An attribute without the index that expensive searches need.

    ## What it looks at
    The searches in the access log that examine every entry below their base: those that the server notes as unindexed
    (389-ds: A; DSEE: U; OpenDJ, PingDirectory: unindexed), and with slapd, which notes nothing, those whose filter its
    indexes do not answer. Active Directory reports the entries visited (event 1644): more than 1,000, of which it
    returns less than half. They count if they take 5 ms or more on average (or 1 s once, or a twentieth of the time of
    the log and 1 s together) and an index saves 0.1 s or more for each hour of log (0.1 s in a shorter log), or if they
    fail for lack of an index. If one counts, half of both suffices for the others.

    Each filter is evaluated by a simulation of the server's own candidate selection with the configured indexes. Of
    all sets of indexes that would answer these filters, the least expensive is recommended: an AND needs one of its
    parts, an OR every branch; a substring index costs more than one for equality, and most where memberships
    change.

    The time with the index is predicted from the log: from the candidates left, the time of a scan for each entry
    it tests, and the time of indexed searches for each entry they return. It is an interval where the log does not
    show how many entries match. An index that removes a scan and saves less than a quarter of its time (without the
    slowest searches, where these decide the average) is not recommended. Where the log does not note pages (slapd),
    searches for presence whose largest result has the size of a page, and others that end as early as a page does, are
    not judged: how many entries match is not known. Of scans that a time limit ended (code 3) the limit is named, with
    its rule, as far as the configuration shows it.

    - certain: the server notes the searches as unindexed, and the simulation shows that the index removes the scan.
    - likely: otherwise.

    ## Severity
    By default:

    - high: it saves half of all search time, and a minute or more; or as much as a twentieth of the time of the log, in
      10 searches and 1 s or more. A log of 4 s in which 4 s of search are unindexed is high; one slow search in an idle
      night is not. Or 10 searches or more are refused, and none of their kind is answered.
    - medium: a tenth of all search time, and 10 s or more; or a hundredth of the time of the log, likewise. Or some
      searches are refused: for the limit of an account, or because the database requires an index (389-ds:
      nsslapd-require-index).
    - low: otherwise.

    The index that saves most has the severity of the whole plan. Where it is that of one slow search alone, a sentence
    says what it is without it.

    ## Why it matters
    Such a search reads the whole database again and again: all other operations wait for its worker and its disk.
    One that is refused returns nothing, and what the application does with it fails.

    ## What to do
    Add the indexes and build them, on each server that answers such searches: index configuration is not
    replicated. One server at a time, at a quiet hour. Then check that the search is no longer noted.

    ## When it is harmless
    An export once a night may scan. Each index makes every change of its attribute a little slower.
    """
    if coverage.indexes is None and plan.indexes:
        yield _possible(plan)
    fastest = coverage.fastest
    for row in plan.indexes if coverage.indexes is not None else ():
        yield _finding(row, plan, coverage, fastest, limits)
    cut = [row for row in coverage.scans if row.filter is None and row.worth_an_index]
    if cut:
        searches = counted(sum(row.count for row in cut), "unindexed search")
        reason = f"the filters of {searches} are cut off in the log, or are none of RFC 4515"
        yield NotJudged(subject=f"long filters at {plan.server}", reason=reason, how="ask the owners of the clients")
    for one in find_unhelped_scans(coverage, HOW_TO_JUDGE) if coverage.indexes is not None else ():
        if one.worth_a_change:
            yield NotJudged(subject=one.subject, reason=one.obstacle.reason, how=HOW_TO_JUDGE[one.obstacle.cause])
    if coverage.undecided and not plan.indexes:
        yield _undecided(coverage)
    elif not plan.indexes:
        scans = len(coverage.scans)
        but = f"; {counted(scans, 'kind')} without an index that helps and is worth its cost" if scans else ""
        yield clear_unless(
            coverage.unlisted,
            plan.server,
            f"no index is missing for the {counted(len(coverage.searches), 'kind')} of search{but}",
        )


def _subject(row: PlannedIndexes, plan: IndexPlan) -> str:
    return f"{row.attribute}{f' of {row.backend.name}' if row.backend else ''} at {plan.server}"


def _possible(plan: IndexPlan) -> Verdict:
    """Return the possible plan of a server whose index configuration is unknown."""
    wanted = [f"{row.attribute} {','.join(row.types)} ({in_seconds(row.saved / SECOND)})" for row in plan.indexes]
    more = f" and {len(wanted) - MOST} more" if len(wanted) > MOST else ""
    return NotJudged.without(
        IndexConfiguration,
        plan.server,
        f"{counted(sum(row.count for row in plan.resolved), 'unindexed search')}, perhaps for "
        f"lack of {', '.join(wanted[:MOST])}{more}; or an index is not built, or more entries match "
        "than an ID list may have. The log alone does not decide",
    )


def _undecided(coverage: IndexCoverage) -> NotJudged:
    """Return the verdict on slow searches where neither the log nor a configuration shows whether they scan."""
    took = in_seconds(sum(one.etime for one in coverage.undecided) / SECOND)
    many = counted(sum(one.count for one in coverage.undecided), "search", "searches")
    return NotJudged.without(
        IndexConfiguration,
        coverage.server,
        f"no index configuration of {coverage.server}, whose log does not note unindexed searches: "
        f"{many} took {took}, with an index or without one",
    )


def _finding(
    row: PlannedIndexes, plan: IndexPlan, coverage: IndexCoverage, fastest: int, limits: CostLimits
) -> Finding:
    first = row.resolved[0].group
    seconds, after = row.saved / SECOND, row.after
    cost = _cost(row, plan, coverage)
    severity = severity_of_cost(cost, limits)
    slowest, part = _slowest(row, plan)
    alone = rests_on_one(severity, cost, slowest, limits, part)
    share = row.saved / coverage.etime if coverage.etime else 0.0
    what = f"{row.attribute} {','.join(row.types)}"
    saves = (
        f"an index would save about {in_seconds(seconds)}{saved_between(row.before, after)} in "
        f"{counted(row.examining, 'search')}, {percent(share)} of the search time"
    )
    if not row.before:
        saves = f"{counted(row.examining, 'search', 'searches')}{visits_clause(first)}; their time is not in the log"
    lacks = f"{counted(row.refused, 'search', 'searches')} failed for lack of it"
    return Finding(
        subject=_subject(row, plan),
        key=f"{plan.server}|{row.backend.name if row.backend else ''}|{row.attribute.lower()}",
        severity=severity,
        confidence=Confidence.CERTAIN
        if is_tested(coverage.family) and any(one.noted and one.certain for one in row.resolved)
        else Confidence.LIKELY,
        title=f"{plan.server} has no index {what}: "
        + "; ".join([lacks] * bool(row.refused) + [saves] * bool(row.examining)),
        detail="\n".join([*_sentences(row, plan, fastest, coverage.family), *filter(None, [alone])]),
        observed={
            "server": plan.server,
            "backend": row.backend.name if row.backend else None,
            "attribute": row.attribute,
            "types": list(row.types),
            "sets": [indexes_as_data(one) for one in set_with(row, plan, coverage)],
            "base": first.base,
            "searches": row.search_count,
            "refused": row.refused,
            "etime_seconds": round(row.before / SECOND, 9),
            "saves_seconds": round(seconds, 9),
            "after_seconds": {"least": round(after.least / SECOND, 9), "most": round(after.most / SECOND, 9)},
            "share": round(share, 6),
            "shapes": list(dict.fromkeys(one.group.shape for one in row.resolved))[:MOST],
            "clients": list(dict.fromkeys(asker.client for asker in row.requesters))[:MOST],
            "accounts": list(dict.fromkeys(asker.account for asker in row.requesters))[:MOST],
            "refused_accounts": list(refused_accounts(row.requesters))[:MOST],
            **observed_trend(first.trend),
        },
        server=plan.server,
        hosts=(plan.host,),
        remedies=_remedies(row, coverage),
        origins=coverage.origins,
    )


def _cost(row: PlannedIndexes, plan: IndexPlan, coverage: IndexCoverage) -> Cost:
    """Return what the lack of an index costs; of the first of a plan, what the lack of all does."""
    whole = row is plan.indexes[0]
    saved, scans = (plan.saved, plan.resolved) if whole else (row.saved, row.resolved)
    share = saved / coverage.etime if coverage.etime else 0.0
    count, refused = sum(scan.count for scan in scans), sum(scan.refused for scan in scans)
    return Cost(share, saved / SECOND, count, coverage.seconds, refused, failing(scans))


def _slowest(row: PlannedIndexes, plan: IndexPlan) -> tuple[float, float]:
    """Return the seconds of the search that the index, the first one with all others, makes quicker by most, and these.

    Of one that needs several attributes, an equal part. Where some are refused, the slowest may be one of these, of
    whose time an index saves nothing.
    """
    whole = row is plan.indexes[0]
    lines = Counter(id(scan) for other in plan.indexes for scan in other.resolved)
    found = [(0, 0)]
    for scan in plan.resolved if whole else row.resolved:
        if scan.group.slowest is not None and not scan.refused:
            etime = scan.group.slowest.etime
            parts = 1 if whole else lines[id(scan)]
            found.append(((etime - scan.each_after(plan.added).expected) // parts, etime))
    saved, etime = max(found)
    return etime / SECOND, saved / SECOND


def _sentences(row: PlannedIndexes, plan: IndexPlan, fastest: int, family: Family | None) -> Iterator[str]:
    for one in row.resolved[:3]:
        noted = f", {one.noted:,} of {one.count:,} noted as unindexed" if one.noted else ""
        then = time_with(one.each_after(plan.added), one.mean, fastest) if one.examining else TIME_UNKNOWN
        yield (
            f"{one.group.shape} below {one.group.base or 'the root'} ({one.group.scope}): {counted(one.count, 'time')} "
            f"{duration(one.mean / SECOND)}{visits_clause(one.group)}{noted}; with the index {then}."
        )
    first = row.resolved[0].group
    yield from trend_sentences(first.trend, f"Those for {first.shape}" if len(row.resolved) > 1 else "These searches")
    for asker in row.requesters[:3]:
        took = in_seconds(asker.etime / SECOND)
        yield f"{asker.account} from {asker.client}: {counted(asker.count, 'time')}, {took}."
    for one in row.slowed[:3]:
        slow = one.slowed_by(plan.added)
        if slow is not None:
            mean, longer = duration(one.mean / SECOND), durations(slow.least / SECOND, slow.most / SECOND)
            yield f"{one.group.shape} takes longer with it: {longer} instead of {mean}."
    if row.refused:
        by = refused_accounts(row.requesters)[:3]
        accounts = f" Accounts with limits: {', '.join(by)}." if by else ""
        yield f"{row.refused:,} of them failed for lack of an index.{accounts}"
        yield from limit_sentences(limits_of(stopped_by(row.resolved, ADMIN_LIMIT), by))[:3]
    yield from time_limit_sentences(row.resolved)
    if not is_tested(family):
        yield UNTESTED
    if not any(one.certain for one in row.resolved):
        yield "It helps if fewer entries match than an ID list may have; their number is not in the evidence."
    if not plan.exact:
        times = plan.cost / plan.lower_bound
        yield f"The cost of the whole plan is at most {times:.2g} times that of the least expensive one."


def _remedies(row: PlannedIndexes, coverage: IndexCoverage) -> tuple[Remedy, ...]:
    if row.backend is None or coverage.indexes is None:
        return ()
    first, indexes = row.resolved[0], coverage.indexes
    command = ldapsearch_command(indexes.address, indexes.configuration)
    verify = search_command(command, first.group.base, first.group.scope, first.filter)
    return add_indexes(indexes.place(row.backend), row.changes, verify)
