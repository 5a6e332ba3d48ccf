"""Coverage: how the searches of a log find their candidates, why not by an index, and which indexes would help.

The server's own word comes first where it gives one: its note says whether a search was unindexed, never why. The
simulation of its candidate logic says why; where the server says nothing (slapd), it says whether, too.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.indexes.index_use import index_use_of
from ldapdiag.analysis.indexes.proposed_indexes import has_short_list, propose
from ldapdiag.analysis.indexes.search_coverage import ProposedIndex, SearchCoverage
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
from ldapdiag.analysis.indexes.simulated_database import ConfiguredDatabase
from ldapdiag.analysis.indexes.simulated_server import NOTING_FAMILIES, SimulatedServer, is_server_suffix
from ldapdiag.analysis.log.searches import SearchGroup
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import parse_shape
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND
from ldapdiag.servers.candidates import Outlook

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.analysis.indexes.simulated_database import SimulatedDatabase

LEAST_SHARE = 0.005
MUCH = 60 * SECOND
SLOW, ONCE = 5 * MILLISECOND, SECOND
"""A search that takes so long on average, or took so long once, is worth an index."""
FEW = 100
"""Entries: a search that returns so few, and takes long, has looked at many more."""
REFUSED = {11: "administrative limit exceeded", 50: "refused, being unindexed", 53: "refused, being unindexed"}
"""Result codes of searches that failed for want of an index (RFC 4511, appendix A)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexCoverage:
    """All searches of one server's log."""

    kind: ClassVar[str] = "coverage"
    how: ClassVar[str] = Traffic.how

    host: str
    family: Family | None
    searches: tuple[SearchCoverage, ...]
    """The costliest first."""
    outside_suffixes: int
    """Searches below no suffix that the index configuration has."""
    indexes: ServerIndexes | None
    """None: no index configuration is at hand."""
    etime: int
    """Nanoseconds of all searches."""
    seconds: float
    """Between the first record of the log and the last."""
    origins: tuple[str, ...]

    @property
    def scans(self) -> tuple[SearchCoverage, ...]:
        """Searches that look at every entry."""
        return tuple(row for row in self.searches if row.is_scan)

    @property
    def harmless(self) -> tuple[SearchCoverage, ...]:
        """Searches that are partly without an index, and do no harm; many of them the server notes."""
        return tuple(row for row in self.searches if row.outlook is Outlook.PARTIALLY and row.mean < SLOW)


def audit_searches(server: Instance, traffic: Traffic, indexing: ServerIndexes | None) -> IndexCoverage:
    """Judge every search of a server's log."""
    work = traffic.workload
    family = server.family or work.family
    simulations = SimulatedServer(family, work, indexing)
    rows = [
        row
        for search in work.searches
        if not search.unidentified and search.scope != "base"
        for row in _covered(search, family, simulations, work.search_etime)
    ]
    rows = _worth_together(rows, work.search_etime)
    return IndexCoverage(
        host=server.host,
        family=family,
        outside_suffixes=sum(one.count for one in work.searches if _is_elsewhere(one, simulations)),
        searches=tuple(sorted(rows, key=lambda row: (-row.etime, row.group.shape, row.group.base, row.group.scope))),
        indexes=indexing,
        etime=work.search_etime,
        seconds=traffic.seconds,
        origins=tuple(sorted({*traffic.origins, *(indexing.origins if indexing else ())})),
    )


def _is_elsewhere(search: SearchGroup, simulations: SimulatedServer) -> bool:
    judged = not search.unidentified and search.scope != "base" and not is_server_suffix(search.base)
    return judged and not simulations.databases(search.base, search.scope)


def _worth_together(rows: list[SearchCoverage], total: int) -> list[SearchCoverage]:
    """Return the searches, and those worth an index that are so only together: of many bases, or of many filters."""
    together: dict[frozenset[ProposedIndex], int] = defaultdict(int)
    for row in rows:
        for one in row.sufficient_sets:
            together[one] += row.etime
    return [
        replace(row, worth_an_index=True)
        if not row.worth_an_index
        and row.mean >= SLOW
        and any(_is_much(together[one], total) for one in row.sufficient_sets)
        else row
        for row in rows
    ]


def _is_much(etime: int, total: int) -> bool:
    return etime >= LEAST_SHARE * total or etime >= MUCH


def _covered(
    search: SearchGroup, family: Family | None, simulations: SimulatedServer, total: int
) -> Iterator[SearchCoverage]:
    """Yield the searches of one shape, apart by the lengths of their substrings where these make a difference."""
    answering = simulations.databases(search.base, search.scope)
    if not answering:
        return
    simulation = answering[0]
    slow = _is_slow(search, search.answered, search.etime)
    judged = (
        family not in NOTING_FAMILIES or search.notes or slow
    )  # of quick ones a server that notes nothing has said it all
    for group in _groups(search, simulation) if judged else _whole(search):
        lengths, count, etime, noted = group
        tree = parse_shape(search.shape, lengths)
        forecast = simulation.forecast(tree, search.base, search.scope) if tree and judged else None
        unhelped_and_slow = _is_slow(search, count, etime) and not has_short_list(forecast, simulation)
        outlook = index_use_of(search, family, forecast, noted=noted, slow=unhelped_and_slow)
        row = SearchCoverage(
            group=search,
            piece_lengths=lengths,
            filter=tree,
            backends=tuple(one.database.backend for one in answering if isinstance(one, ConfiguredDatabase)),
            count=count,
            etime=etime,
            noted=noted,
            refused=_refused(search, group, family) if outlook is Outlook.UNINDEXED else 0,
            outlook=outlook,
            forecast=forecast,
        )
        row = replace(row, worth_an_index=row.refused > 0 or _is_worth_it(row, total))
        yield propose(row, answering, family) if row.is_scan else row


def _refused(search: SearchGroup, group: Group, family: Family | None) -> int:
    """Return how many searches of a group failed for want of an index; at a server that notes, these are noted."""
    _, count, _, noted = group
    failed = sum(search.errors.get(err, 0) for err in REFUSED)
    return min(failed, noted if family in NOTING_FAMILIES else count)


Group = tuple[str, int, int, int]
"""Lengths of the pieces, answered, nanoseconds, noted."""


def _whole(search: SearchGroup) -> list[Group]:
    return [("", search.answered, search.etime, search.unindexed)]


def _groups(search: SearchGroup, simulation: SimulatedDatabase) -> Iterable[Group]:
    """Return the searches of a shape by the lengths of their pieces; those that fare alike are one group."""
    if not search.by_piece_lengths:
        return _whole(search)
    groups: dict[object, Group] = {}
    for lengths, (count, etime, noted, _) in sorted(search.by_piece_lengths.items(), reverse=True):
        tree = parse_shape(search.shape, lengths)
        forecast = simulation.forecast(tree, search.base, search.scope) if tree else None
        alike = (forecast.outlook, tuple(leaf.cause for leaf in forecast.leaves)) if forecast else None
        known = groups.get(alike, (lengths, 0, 0, 0))
        groups[alike] = (known[0], known[1] + count, known[2] + etime, known[3] + min(noted, search.unindexed))
    return groups.values()


def _is_slow(search: SearchGroup, count: int, etime: int) -> bool:
    """Tell whether searches took longer than what they returned explains, and than waiting for a worker."""
    waited = search.wait * count // search.answered if search.answered else 0
    return count > 0 and etime - waited >= SLOW * count and search.entries <= FEW * search.answered


def _is_worth_it(row: SearchCoverage, total: int) -> bool:
    """Tell whether searches take time enough to be worth an index."""
    worst = row.group.slowest
    once = worst is not None and worst.etime >= ONCE and row.count == row.group.answered
    return (once or (row.count > 0 and row.mean >= SLOW)) and _is_much(row.etime, total)
