"""What shows that servers lack an index, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.wording import counted, number, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.fleet.differing_searches import DifferingSearch
    from ldapdiag.analysis.fleet.lacking_indexes import LackingIndex
    from ldapdiag.analysis.fleet.replica_groups import ReplicaGroup

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
    for one in index.servers[:FEW]:
        found, others = one.search, counted(len(one.search.others), "other server")
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
