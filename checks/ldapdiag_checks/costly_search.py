"""costly-search: slow searches that take a large share of the server's time.

Costly searches: those that take a large share of all search time and are slow, alone or below all bases together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.indexes.plan import IndexPlan
from ldapdiag.analysis.indexes.reported_use import examines_many, visits_clause
from ldapdiag.analysis.indexes.worth import without_result
from ldapdiag.analysis.log.logged_share import has_no_times, what_is_logged
from ldapdiag.analysis.log.searches import Requester, SearchGroup, SlowestOperation, is_unindexed
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.log.trends import observed_trend, trend_sentences
from ldapdiag.analysis.log.workload import Workload
from ldapdiag.check import MainNumber, check
from ldapdiag.cost_thresholds import COST_LIMITS, Cost, CostLimits, rests_on_one, severity_of_cost
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.host_facts import EventThresholds
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND, moment
from ldapdiag.finding import NEXT, NO_COMMAND, Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.lazy_pattern import pattern
from ldapdiag.servers.traits import traits_of
from ldapdiag.wording import are, counted, percent

HOPELESS = 30 * SECOND
TOGETHER, TOGETHER_SHARE = 10 * SECOND, 0.1
"""The time of slow searches of many kinds that matters, and its share of all search time."""
NAMED = 3
"""Bases named of searches below several."""
MOST = 10
"""Findings, and clients and accounts named in each."""

ATTRIBUTE = pattern(r"\(\s*+\??([A-Za-z0-9][A-Za-z0-9.;-]{0,63}+)[:~<>=]")
"""The attribute of an assertion (RFC 4515); slapd writes a question mark before one it cannot evaluate."""


OWNER = "the owner of the account decides whether the search is needed."
UNKNOWN = (
    f"{NEXT}ldapdiag indexes, with the access log and the index configuration, prints the commands of the index that "
    f"helps, or why none does; {OWNER}"
)
OTHER_CAUSES = (
    "Look at the pages read from the disk, the checks of access and of nested groups, and the processors of the server."
)
PAGES = f"{NO_COMMAND}its results may be pages of larger ones, so whether an index helps is not known; {OWNER}"
NO_INDEX = f"{NO_COMMAND}the plan of ldapdiag indexes has no index for it; {OWNER}"


@check(
    group="access log",
    number=MainNumber(
        "etime_seconds",
        "search time",
        "spent",
        of="searches",
        up_to="high",
        signs=(("worst_seconds", HOPELESS / SECOND),),
    ),
)
def judge(
    server: Instance,
    traffic: Traffic,
    plan: IndexPlan | None = None,
    thresholds: EventThresholds | None = None,
    *,
    limits: CostLimits = COST_LIMITS,
) -> Iterator[Verdict]:
    """Slow searches that take a large share of the server's time.

    ## What it looks at
    The searches in the access log, by filter shape, base and scope, with the time of each (etime, including the
    wait for a worker). A search counts if it takes 1 % of all search time or more, and is slow (100 ms on average,
    or 1 s once), or the server notes it as unindexed (389-ds: A or U; OpenDJ and PingDirectory: unindexed) and it
    takes 5 ms or more. A filter below many bases (each tenant's) counts with all of them, if those that do not count by
    themselves do so together: one finding, with the most expensive bases.

    Excluded: searches of one entry (scope base), later pages of a paged search, and filters whose only fault is an
    attribute that the schema does not have (389-ds: F). Active Directory logs only expensive searches (event 1644),
    so a share is a share of those; of those that visit few entries it says that no index helps.

    Not judged: slow searches of many filters, each below 1 %, that take 10 s and a tenth of the time together; and
    searches without a result (3 or more, and a tenth of their kind), whose time is not in the log.

    ## Severity
    By default:

    - high: half of all search time, and a minute or more, or a twentieth of the time of the log (in 10 searches and 1 s
      or more); or one that took 30 s.
    - medium: a tenth of it, and 10 s or more, or a hundredth of the time of the log.
    - low: otherwise.

    Where one search alone gives it that severity, a sentence says what it is without that one.

    At most 10 are reported; ldapdiag log lists all.

    ## Why it matters
    A search that scans the database occupies a worker and the disk while all other operations wait: a few of them
    slow a whole directory.

    ## What to do
    Ask the account's owner whether the search is needed, with this filter and base. Whether an index would help is
    judged by missing-index and the other index checks, if the index configuration is in the evidence: the server's
    note may mean a scan limit, a filter that no index answers, or a missing index.

    ## When it is harmless
    Exports and audits at night, when no user waits.
    """
    workload = traffic.workload
    searches, total = workload.searches, workload.search_etime
    if not any(search.answered for search in searches):
        reason = "no search was answered while the access log was written"
        how = "an access log of a busy hour; of slapd, at loglevel stats"
        yield NotJudged.without(AccessLog, server.name, reason, how=how)
        return
    if has_no_times(traffic.segment):
        reason = "its events 1644 do not have the times of the searches"
        how = "events of Windows Server 2012 R2 or later, or of an earlier one with KB2800945"
        yield NotJudged.without(AccessLog, server.name, reason, how=how)
        return
    costly = costly_searches(workload)
    for search, worst in costly[:MOST]:
        sentences = [*_sentences(traffic, search, worst, thresholds), _helped_by(search, plan)]
        yield _finding(server, traffic, search, worst, sentences, limits)
    yield _of_other_searches(server, [search for search, _ in costly], searches, total, traffic.segment.shapes.omitted)


unconfigured = judge.where(
    lambda facts: facts["plan"] is None or not facts["plan"].configured or bool(facts["plan"].perhaps_pages)
)
"""What `ldapdiag indexes` runs: with the index configuration, its other checks name the causes of the same searches,
except of those whose results may be pages."""


def _of_other_searches(
    server: Instance, costly: list[SearchGroup], searches: Iterable[SearchGroup], total: int, unlisted: int
) -> Verdict:
    """Return the verdict on all other searches: not costly, or with an unknown filter."""
    subject = f"other searches of {server.name}" if costly else server.name
    more = len(costly) - MOST
    if more > 0:
        how = f"ldapdiag log --top {len(costly)}"
        return NotJudged(
            subject=subject,
            reason=f"{counted(more, 'more kind')} of search {are(more)} costly and not reported one by one",
            how=how,
        )
    reported = {_whose(search) for search in costly}
    others = [
        search
        for search in searches
        if search.scope == "base" or reported.isdisjoint({_whose(search), (search.shape, None)})
    ]
    slow = [search for search in others if search.slowest and is_slow(search, search.slowest)]
    if nameless := [search for search in slow if search.unidentified]:
        reason = f"{_took(nameless)}, with unknown filters: requests before the log, or too many distinct filters"
        how = "the log before this one, or the log of a shorter period"
        return NotJudged.without(AccessLog, subject, reason, how=how)
    if unlisted >= max(LEAST_SHARE * total, 1):
        reason = f"more filters than are counted separately: one that is not listed took at most {_seconds(unlisted)}"
        return NotJudged.without(AccessLog, subject, reason, how="the log of a shorter period")
    if lacking := without_result(others):
        how = "the log after this one; or these searches, with ldapsearch and without a time limit"
        return NotJudged.without(AccessLog, subject, lacking, how=how)
    if scattered := _scattered(others, total):
        return NotJudged(subject=subject, reason=scattered, how="ldapdiag log --format json")
    besides = f", except searches of one entry: {_took(slow)}" if slow else ""
    reason = f"{_took(others)} of {_seconds(total)}, and none of them is both slow and 1 % of all search time{besides}"
    return Clear(subject=subject, reason=reason)


def _scattered(searches: Iterable[SearchGroup], total: int) -> str:
    """Return what slow searches took together, where each kind takes less than 1 % of all time; empty: little."""
    slow = [each for each in searches if each.scope != "base" and each.mean >= SLOW]
    time = sum(each.etime for each in slow)
    if time < max(TOGETHER, TOGETHER_SHARE * total):
        return ""
    shapes = Counter[str]()
    for each in slow:
        shapes[each.shape] += each.etime
    ((shape, most),) = shapes.most_common(1)
    kinds = counted(len(slow), "kind")
    return f"{_took(slow)}, of {kinds} with less than 1 % of all search time each; most {shape}, {_seconds(most)}"


def _took(searches: list[SearchGroup]) -> str:
    count = counted(sum(each.count for each in searches), "search")
    return f"{count} took {_seconds(sum(each.etime for each in searches))}"


def _whose(search: SearchGroup) -> tuple[str, str | None]:
    """Return a key of the searches; None for the base of those below several."""
    return search.shape, None if search.bases > 1 else f"{search.base} {search.scope}"


def severity_of(search: SearchGroup, worst: SlowestOperation, log_seconds: float, limits: CostLimits) -> Severity:
    """Return how bad it is, by the numbers of the manual page."""
    return Severity.HIGH if worst.etime >= HOPELESS else severity_of_cost(_cost(search, log_seconds), limits)


def _alone(severity: Severity, search: SearchGroup, worst: SlowestOperation, cost: Cost, limits: CostLimits) -> str:
    """Return whether the severity is that of the worst search alone, as a sentence; empty: no, or not known."""
    if worst.etime >= HOPELESS and search.etime - worst.etime >= HOPELESS:
        return ""  # another one may be as slow
    return rests_on_one(severity, cost, worst.etime / SECOND, limits)


def _cost(search: SearchGroup, log_seconds: float) -> Cost:
    return Cost(search.share, search.etime / SECOND, search.answered, log_seconds)


def attributes_of(shape: str) -> list[str]:
    """Return the attributes of a filter, as its first spelling has them."""
    names = {name.lower(): name for name in reversed(ATTRIBUTE.findall(shape))}
    return sorted(names.values(), key=str.lower)


def _finding(
    server: Instance,
    traffic: Traffic,
    search: SearchGroup,
    worst: SlowestOperation,
    sentences: Sequence[str],
    limits: CostLimits,
) -> Finding:
    place = search.place
    where = f"several bases ({search.scope})" if search.bases > 1 else place
    severity = severity_of(search, worst, traffic.seconds, limits)
    alone = filter(None, [_alone(severity, search, worst, _cost(search, traffic.seconds), limits)])
    whose = f"the events 1644 of {server.name}" if _only_expensive(traffic) else server.name
    return Finding(
        subject=f"{search.shape} below {where} at {server.name}",
        severity=severity,
        confidence=Confidence.CERTAIN,
        title=f"{search.shape} below {place} takes {percent(search.share)} of the search time of {whose}: "
        f"{counted(search.count, 'search')}, {_seconds(search.etime)} in total",
        detail="\n".join([*sentences, *alone]),
        observed={
            "server": server.name,
            "shape": search.shape,
            "base": None if search.bases > 1 else search.base,
            "bases": search.bases,
            "scope": search.scope,
            "searches": search.count,
            "etime_seconds": round(search.etime / SECOND, 9),
            "share": round(search.share, 6),
            "mean_seconds": round(search.mean / SECOND, 9),
            "spread_seconds": round(search.etimes.spread / SECOND, 9),
            "worst_seconds": round(worst.etime / SECOND, 9),
            "worst_time": moment(worst.time, MILLISECOND),
            "worst_connection": worst.connection,
            "worst_operation": worst.operation,
            "notes": dict(search.notes),
            "entries": search.entries,
            "clients": _first(asker.client for asker in search.requesters),
            "accounts": _first(asker.account for asker in search.requesters),
            **observed_trend(search.trend),
        },
        server=server.name,
        hosts=(server.host,),
        origins=traffic.origins,
    )


def _sentences(
    traffic: Traffic, search: SearchGroup, worst: SlowestOperation, thresholds: EventThresholds | None
) -> Iterator[str]:
    where = f" (conn={worst.connection} op={worst.operation})" if worst.connection is not None else ""
    names = attributes_of(search.shape)
    if names:
        yield f"Attributes in the filter: {', '.join(names)}."
    if search.bases > 1:
        yield f"Most below {', '.join(_bases(search, traffic.workload))}."
    yield from trend_sentences(search.trend)
    at = moment(worst.time, MILLISECOND)
    yield f"On average {_seconds(search.mean)}; the worst {_seconds(worst.etime)}, at {at}{where}."
    if search.unindexed:
        yield f"The server notes {search.unindexed:,} of {search.answered:,} as unindexed, in full or in part."
    yield from _sorted(search)
    if examines_many(search) is False:
        yield f"No index makes them faster{visits_clause(search)}. {OTHER_CAUSES}"
    if 2 * search.wait >= search.etime:
        yield f"{_seconds(search.wait)} of it was spent waiting for a worker thread: see worker-saturation."
    if traffic.segment.resolution >= SECOND:
        yield "The clock of this log has whole seconds, so short times are imprecise."
    if logged := what_is_logged(traffic.segment, traffic.workload.family, thresholds):
        yield f"{logged[0].upper()}{logged[1:]}."
    for asker in search.requesters[:3]:
        yield _asked(asker)


def _bases(search: SearchGroup, workload: Workload) -> Iterator[str]:
    """Yield the most expensive bases of searches below several."""
    rows = [one for one in workload.searches if one.shape == search.shape and one.scope != "base"]
    for row in rows[:NAMED]:
        yield f"{row.base or 'the root'} ({_seconds(row.etime)})"
    if len(rows) > NAMED:
        yield f"{len(rows) - NAMED:,} more"


def _sorted(search: SearchGroup) -> Iterator[str]:
    """Yield what plain sorts cost; those of virtual list views are judged by missing-vlv-index."""
    for keys, count in search.sorts.items():
        plain = count.count - count.vlv - count.unsorted
        if plain > 0 and count.most_candidates:
            most = counted(count.most_candidates, "entry", "entries")
            yield (
                f"{counted(plain, 'result')} sorted in memory by {keys}, up to {most}: no index has this order for a "
                "plain sort; only a narrower filter leaves fewer entries to sort."
            )
        if count.unsorted:
            yield f"{counted(count.unsorted, 'result')} not sorted by {keys}: every entry was a candidate."


def _helped_by(search: SearchGroup, plan: IndexPlan | None) -> str:
    """Return which index would help, or none, where the index configuration is known; else what shows it."""
    if plan is None or not plan.configured:
        return UNKNOWN
    needed = [row for row in plan.indexes if any(_is_among(one.group, search) for one in row.resolved)]
    wanted = " and ".join(f"{row.attribute} {','.join(row.types)}" for row in needed)
    helps = f"{NEXT}an index would help: {wanted}; ldapdiag indexes prints its commands (missing-index), and {OWNER}"
    if not wanted and any(_is_among(one.group, search) for one in plan.perhaps_pages):
        return PAGES
    return helps if wanted else NO_INDEX


def _is_among(group: SearchGroup, search: SearchGroup) -> bool:
    """Return whether a search of the plan, whose substrings are counted by their lengths, is one of these."""
    same_place = (group.base, group.scope) == (search.base, search.scope)
    return group.shape == search.shape and (search.bases > 1 or same_place)


def _only_expensive(traffic: Traffic) -> bool:
    return traits_of(traffic.workload.family).logs_above is not None


def _asked(asker: Requester) -> str:
    return f"{asker.account} from {asker.client}: {counted(asker.count, 'time')}, {_seconds(asker.etime)}."


def _first(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))[:MOST]


def _seconds(nanoseconds: int) -> str:
    seconds = nanoseconds / SECOND
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms" if nanoseconds >= SLOW // 10 else f"{1000 * seconds:.2g} ms"
    return f"{seconds:,.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


LEAST_SHARE = 0.01
ONCE = SECOND
SLOW, CHEAP = SECOND // 10, SECOND // 200
"""The average time of slow searches, and of those that the server notes as unindexed."""
SEVERAL = 2


def costly_searches(workload: Workload) -> list[tuple[SearchGroup, SlowestOperation]]:
    """Return the searches that are findings, each with its slowest, the most expensive first.

    A filter is one finding where its bases are costly only together; else each costly base is one.
    """
    alone = [search for search in workload.searches if search.slowest and is_costly(search, search.slowest)]
    others: dict[str, list[SearchGroup]] = defaultdict(list)
    reported = set(map(id, alone))
    for search in workload.searches:
        if id(search) not in reported and search.scope != "base":
            others[search.shape].append(search)
    together = [total for total in workload.filter_totals if _are_costly(others[total.shape], workload.search_etime)]
    covered = {one.shape for one in together}
    found = [*together, *(one for one in alone if one.shape not in covered)]
    found.sort(key=lambda one: (-one.etime, one.shape, one.base, one.scope))
    return [(one, one.slowest) for one in found if one.slowest]


def _are_costly(searches: list[SearchGroup], total: int) -> bool:
    """Return whether searches of one filter, each below another base, are a finding together."""
    etime, answered = sum(search.etime for search in searches), sum(search.answered for search in searches)
    if (
        len(searches) < SEVERAL
        or etime < max(LEAST_SHARE * total, 1)
        or any(search.unidentified for search in searches)
    ):
        return False
    worst = max(search.slowest.etime for search in searches if search.slowest)
    return is_long(etime // answered, worst, blamed=any(map(_is_blamed, searches)))


def is_costly(search: SearchGroup, worst: SlowestOperation) -> bool:
    """Return whether a search is a finding, by the numbers of the manual page."""
    return search.scope != "base" and not search.unidentified and is_slow(search, worst)


def is_slow(search: SearchGroup, worst: SlowestOperation) -> bool:
    """Return whether a search takes enough time, whatever its filter is."""
    return search.share >= LEAST_SHARE and is_long(search.mean, worst.etime, blamed=_is_blamed(search))


def is_long(mean: int, worst: int, *, blamed: bool) -> bool:
    """Return whether searches take long: on average, once, or for a reason that the server notes (`blamed`)."""
    return mean >= SLOW or worst >= ONCE or (blamed and mean >= CHEAP)


def _is_blamed(search: SearchGroup) -> bool:
    """Return whether the server notes that the searches are unindexed, and not for an attribute it does not know."""
    noted = any(is_unindexed(notes) and "F" not in notes.split(",") for notes in search.notes)
    return search.unindexed > 0 and noted
