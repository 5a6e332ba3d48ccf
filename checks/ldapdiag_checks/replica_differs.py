"""replica-differs: a server that answers searches in another way than the others with the same data.

The remedies for an index that one of several servers lacks.

What shows that servers lack an index, in sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ldapdiag.analysis.fleet.comparison import Comparison
from ldapdiag.analysis.fleet.differences import Difference, DifferingSearch, compared_searches, compared_settings
from ldapdiag.analysis.fleet.lacking_indexes import LackingIndex, LackingServer, lacking_indexes
from ldapdiag.analysis.fleet.replica_groups import ReplicaGroup
from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.plan import IndexPlan
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
from ldapdiag.check import MainNumber, check
from ldapdiag.cost_thresholds import COST_LIMITS, Cost, CostLimits, severity_of_cost
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Remedy, RemedyKind, Where
from ldapdiag.servers.index_remedies import add_indexes, ldapsearch_command
from ldapdiag.servers.indexes.example_search import search_command
from ldapdiag.wording import counted, number, rounded

TIMES = ("median_seconds", "others_median_seconds", "lost_seconds")
OF_SEARCHES = ("shape", "base", "scope", "answered", "unindexed", *TIMES)
"""The keys of `observed` that settings do not have."""


@check(
    group="fleet",
    number=MainNumber(
        "lost_seconds",
        "search time lost",
        "spent",
        of="answered",
        up_to="high",
        otherwise=MainNumber("differing_servers", "servers that differ", "value"),
    ),
)
def judge(
    groups: tuple[ReplicaGroup, ...],
    coverages: tuple[IndexCoverage, ...],
    plans: tuple[IndexPlan, ...],
    indexings: tuple[ServerIndexes, ...],
    *,
    limits: CostLimits = COST_LIMITS,
) -> Iterator[Verdict]:
    """A server that answers searches in another way than the others with the same data.

    ## What it looks at
    Servers of one product with the same suffix, by their index configurations, or with searches below the same base
    in their access logs. Searches of the same filter shape, base and scope with 100 results or more on each server:

    - unindexed on one server (half of the results are noted so) and indexed on another (at most 1 in 100). Where the
      product notes nothing (OpenLDAP), the simulation of its configured indexes decides, if the searches also take
      longer;
    - four times the others' median, and 1 ms more, on one of three servers or more.

    The index that a server lacks is the one of its plan, as missing-index has it. Then the settings that decide speed
    and limits (idle timeout, threads, descriptors, limits of indexes), and the versions. index-drift compares the
    configured indexes themselves.

    - certain: the index configuration of the server is in the evidence, and its simulation lacks the index; settings
      and versions.
    - likely: the log alone shows it. Other clients may ask for other values, of which more entries match.
    - possible: the searches take longer on a server with twice the even share of the load, or they are asked by
      other clients there.

    ## Severity
    - high: an index is lacking, and by default half of the server's search time and a minute or more are
      lost.
    - medium: by default a tenth of it and 10 s or more.
    - low: otherwise; searches that only take longer; settings.
    - info: versions.

    ## Why it matters
    The same request is fast or slow by chance: it depends on the server that a balancer chooses. Index configuration
    and settings are not replicated.

    ## What to do
    Add the index on that server and build it there. Make settings equal, one server at a time.

    ## When it is harmless
    Servers for different purposes may have different indexes and settings. During an upgrade versions differ.
    """
    if not groups:
        yield NotJudged.without(
            AccessLog,
            None,
            "no two servers of one product with the same data are in the evidence",
            how=ReplicaGroup.how,
        )
    by_coverage, by_plan = {coverage.server: coverage for coverage in coverages}, {plan.server: plan for plan in plans}
    configurations = {indexing.server: indexing.configuration for indexing in indexings}
    for group in groups:
        yield from _searches(group, by_coverage, by_plan, limits)
        yield from _settings(group, configurations)


def _searches(
    group: ReplicaGroup,
    coverages: Mapping[str, IndexCoverage],
    plans: Mapping[str, IndexPlan],
    limits: CostLimits,
) -> Iterator[Verdict]:
    comparison = group.comparison
    compared = compared_searches(group.fleet)
    if not compared:
        reason = "no kind of search has 100 results or more in the access logs of two of these servers"
        yield NotJudged.without(AccessLog, _subject(group), reason)
        return
    lacking = lacking_indexes(comparison, coverages, plans)
    explained = {(one.search.server, one.search.key) for each in lacking for one in each.servers}
    yield from (_lacking(one, group, limits) for one in lacking)
    slower: dict[str, list[DifferingSearch]] = {}
    for search in comparison.searches:
        if not search.lacks_index and (search.server, search.key) not in explained:
            slower.setdefault(search.server, []).append(search)
    for server, searches in slower.items():
        kinds = sum(server in answered for answered in compared.values())
        yield _slower(server, searches, kinds, comparison, group)
    if not lacking and not slower:
        every = counted(len(compared), "kind")
        yield Clear(subject=_subject(group), reason=f"{every} of search: all servers that were asked answer alike")


def _subject(group: ReplicaGroup) -> str:
    return f"{group.suffix} at {some(list(group.names))}"


def _lacking(index: LackingIndex, group: ReplicaGroup, limits: CostLimits) -> Finding:
    search, first = index.search, index.servers[0]
    names = sorted(server.search.server for server in index.servers)
    workload = next(replica.workload for replica in group.fleet.replicas if replica.name == search.server)
    etime, (begin, end) = workload.search_etime, workload.period or (0, 0)
    lost = search.lost / SECOND
    where = f"{names[0]} lacks" if len(names) == 1 else f"{counted(len(names), 'server')} lack"
    title = f"{where} the index {index.what}" if index.what else f"{some(names)}: {search.group.shape} is unindexed"
    there = f"{counted(len(search.others), 'server')} answer{'s' * (len(search.others) == 1)} the same searches"
    here = milliseconds(search.group.etimes.p50)
    share = search.lost / etime if etime else 0.0
    cost = Cost(share, lost, search.group.answered, (end - begin) / SECOND)
    return Finding(
        subject=f"{index.what or search.group.shape} below {search.group.place} at {', '.join(names[:FEW])}",
        key=f"{group.family}|{group.suffix}|{search.group.base.lower()}|{index.what or search.group.shape}",
        severity=severity_of_cost(cost, limits),
        confidence=_confidence(first, group),
        title=f"{title}: {there} with an index, median {here} against {milliseconds(search.their_median)}",
        detail="\n".join(lacking_sentences(index, group)),
        observed={
            **_observed(search, names),
            "attributes": [change.attribute for change in index.changes],
            "types": [change.rule or change.type for change in index.changes],
        },
        server=names[0] if len(names) == 1 else None,
        hosts=tuple(sorted({server.host for server in group.servers if server.name in names})),
        remedies=tuple(remedy for server in index.servers[:FEW] for remedy in remedies_of(server, group)),
        origins=group.origins,
    )


def _confidence(one: LackingServer, group: ReplicaGroup) -> Confidence:
    if one.is_configured and one.changes:
        return Confidence.CERTAIN
    return Confidence.LIKELY if shares_clients(one.search, group) else Confidence.POSSIBLE


def _slower(
    server: str, searches: list[DifferingSearch], kinds: int, comparison: Comparison, group: ReplicaGroup
) -> Finding:
    first = searches[0]
    loaded = comparison.balance is not None and server in {one.replica.name for one in comparison.balance.overloaded}
    waiting = first.longer_wait is not None and first.longer_wait * 2 >= first.longer
    sentences = [
        f"{search.group.shape} below {search.group.place}: median {milliseconds(search.group.etimes.p50)} here and "
        f"{milliseconds(search.their_median)} on {counted(len(search.others), 'other server')}."
        for search in searches[:FEW]
    ]
    if first.longer_wait is None:
        sentences.append("The logs do not say how long the searches waited for a worker thread.")
    else:
        longer = f"{milliseconds(first.longer_wait)} of the {milliseconds(first.longer)}"
        sentences.append(f"Of the first, {longer} that it takes longer are the wait for a worker thread.")
    if waiting:
        sentences.append("Half of the difference or more is that wait: it follows from the load.")
    elif loaded:
        sentences.append("The server has twice the even share of the load or more: the difference may follow from it.")
    else:
        sentences.append("Its share of the load does not explain it: compare disk, memory and cache sizes.")
    return Finding(
        subject=f"slower searches at {server}",
        key=f"{group.family}|{group.suffix}|slower|{server}",
        severity=Severity.LOW,
        confidence=Confidence.POSSIBLE if loaded or waiting else Confidence.LIKELY,
        title=f"{server} takes longer than the other servers for {number(len(searches))} of {counted(kinds, 'kind')} "
        f"of search: median {milliseconds(first.group.etimes.p50)} against {milliseconds(first.their_median)}",
        detail="\n".join(sentences),
        observed={**_observed(first, [server]), "attributes": [], "types": []},
        server=server,
        hosts=tuple(one.host for one in group.servers if one.name == server),
        origins=group.origins,
    )


def _observed(search: DifferingSearch, names: list[str]) -> dict[str, object]:
    return {
        "setting": None,
        "values": {},
        "servers": names,
        "differing_servers": len(names),
        "shape": search.group.shape,
        "base": search.group.base,
        "scope": search.group.scope,
        "answered": search.group.answered,
        "unindexed": search.group.unindexed,
        "median_seconds": round(search.group.etimes.p50 / SECOND, 9),
        "others_median_seconds": round(search.their_median / SECOND, 9),
        "lost_seconds": round(search.lost / SECOND, 9),
    }


def _settings(group: ReplicaGroup, indexes: Mapping[str, IndexConfiguration]) -> Iterator[Verdict]:
    versions = {
        server.name: str(server.identity) for server in group.servers if server.identity and server.identity.version
    }
    compared = compared_settings(group.servers, indexes, versions)
    for setting in compared.settings:
        yield _differing(setting, f"the setting {setting.name}", Severity.LOW, group)
    if compared.versions:
        yield _differing(compared.versions, "the version", Severity.INFO, group)
    subject = f"settings of {_subject(group)}"
    if not compared.compared:
        yield NotJudged.without(Configuration, subject, "no setting is known of two of these servers")
    elif not compared.settings:
        yield Clear(subject=subject, reason=f"{counted(compared.compared, 'setting')} compared, and all are equal")


def _differing(one: Difference, what: str, severity: Severity, group: ReplicaGroup) -> Finding:
    values = [f"{value}: {some(names)}" for value, names in one.by_value.items()]
    return Finding(
        subject=f"{one.name} at {some(list(one.servers))}",
        key=f"{group.family}|{group.suffix}|{one.name}",
        severity=severity,
        confidence=Confidence.CERTAIN,
        title=f"{what} differs: {'; '.join(values[:FEW])}",
        detail=f"Known of {counted(len(one.values), 'server')} with data below {group.suffix}.",
        observed={
            **dict.fromkeys(OF_SEARCHES),
            "attributes": [],
            "types": [],
            "setting": one.name,
            "values": dict(sorted(one.values.items())),
            "servers": list(one.servers),
            "differing_servers": len(one.servers),
        },
        server=one.servers[0] if len(one.servers) == 1 else None,
        hosts=tuple(sorted({each.host for each in group.servers if each.name in one.servers})),
        origins=tuple(sorted({path for each in group.servers for path in each.origins})),
    )


def remedies_of(one: LackingServer, group: ReplicaGroup) -> tuple[Remedy, ...]:
    """Return the commands that add the index to its server; without its index configuration, how to get them."""
    indexes = one.coverage.indexes if one.coverage else None
    server = next(each for each in group.servers if each.name == one.search.server)
    if indexes is not None and one.backend is not None and one.changes:
        tool = ldapsearch_command(indexes.address, indexes.configuration)
        verify = search_command(tool, one.search.group.base, one.search.group.scope, one.filter)
        return add_indexes(indexes.place(one.backend), one.changes, verify)
    return (
        Remedy(
            title=f"collect the index configuration of {server.name}",
            target=server.host,
            where=Where.SERVER,
            kind=RemedyKind.ADVICE,
            text="ldapdiag collect copies it. With the access log beside it, ldapdiag indexes prints the commands "
            "that add the index.",
            changes="Nothing: it is read.",
            risk="None.",
            undo="",
            verify="",
            family=group.family,
        ),
    )


FEW = 3
"""Servers that are described; commands are for as many."""


def shares_clients(search: DifferingSearch, group: ReplicaGroup) -> bool:
    """Return whether a client sends the searches to this server and to another that it was compared with."""
    asking = {
        replica.name: {asker.client for asker in one.requesters}
        for replica in group.fleet.replicas
        for one in replica.workload.searches
        if (one.shape, one.base, one.scope) == search.key
    }
    here = asking.get(search.server, set())
    return any(here & asking.get(name, set()) for name in search.others)


def lacking_sentences(index: LackingIndex, group: ReplicaGroup) -> Iterator[str]:
    """Yield what shows it, on which servers, and what may explain it otherwise."""
    for server in index.servers[:FEW]:
        found, others = server.search, counted(len(server.search.others), "other server")
        noted = f"; the server notes {number(found.group.unindexed)} as unindexed" if found.group.unindexed else ""
        yield (
            f"{found.server}: {found.group.shape} below {found.group.place} {counted(found.group.answered, 'time')}, "
            f"median {milliseconds(found.group.etimes.p50)}{noted}; {milliseconds(found.their_median)} on {others}."
        )
    if len(index.servers) > FEW:
        yield f"And {counted(len(index.servers) - FEW, 'more server')}."
    if not index.what:
        yield "No index to add is known: one exists and more entries match than it may list, or it is not built."
    elif not index.servers[0].is_configured:
        yield "The index follows from the filter: the index configuration of the server is not in the evidence."
    if not shares_clients(index.search, group):
        yield "Other clients ask the other servers: they may ask for values that fewer entries have."


def some(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {number(len(names) - FEW)} more" if len(names) > FEW else ""
    return f"{', '.join(names[:FEW])}{more}"


def milliseconds(nanoseconds: int) -> str:
    """Return a time with its unit."""
    return f"{rounded(nanoseconds / 1_000_000)} ms"
