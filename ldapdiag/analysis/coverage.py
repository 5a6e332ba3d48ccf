"""Coverage: how the searches of a log find their candidates, why not by an index, and which indexes would help.

The server's own word comes first where it gives one: its note says whether a search was unindexed, never why. The
simulation of its candidate logic says why; where the server says nothing (slapd), it says whether, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.alternatives import Alternatives, alternatives
from ldapdiag.analysis.hindrance import MANY, Hindrance, hindrance
from ldapdiag.analysis.indexing import Indexing
from ldapdiag.analysis.outlooks import outlook_of
from ldapdiag.analysis.searches import Search
from ldapdiag.analysis.servers import DirectoryServer
from ldapdiag.analysis.simulated_database import Unconfigured
from ldapdiag.analysis.simulated_server import NOTING, Simulations
from ldapdiag.analysis.traffic import Traffic
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import Node, assertions, parse_shape
from ldapdiag.evidence.indexes import Backend
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND
from ldapdiag.servers.candidates import Cause, Change, Forecast, Outlook

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.analysis.simulated_database import Simulation

LEAST_SHARE = 0.005
MUCH = 60 * SECOND
SLOW, ONCE = 5 * MILLISECOND, SECOND
"""A search that takes so long on average, or took so long once, is worth an index."""
FEW = 100
"""Entries: a search that returns so few, and takes long, has looked at many more."""
PRESENCE = frozenset({"pres", "presence"})
MOST_HAVE_IT = "most entries may have it, and then no index lists them"
UNHEARD_OF = "no schema at hand has it, and no search has found anything"
REFUSED = {11: "administrative limit exceeded", 50: "refused, being unindexed", 53: "refused, being unindexed"}
"""Result codes of searches that failed for want of an index (RFC 4511, appendix A)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """Searches of one filter without values, base and scope, whose substrings are alike long."""

    search: Search
    lengths: str
    """Of the pieces of its substrings (evidence/filter_tree.py); empty where there are none, or nobody tells."""
    filter: Node | None
    """None: cut off by the server, or not understood."""
    backend: Backend | None
    """None: the server's own place, or no configuration."""
    count: int
    """Answered."""
    etime: int
    """Nanoseconds."""
    noted: int
    """Those that the server says had no index, wholly or in part."""
    refused: int
    outlook: Outlook
    forecast: Forecast | None
    alternatives: Alternatives = ()
    """Sets of indexes any of which would help."""
    sure: bool = False
    """One of them helps whatever is not known; else only if few entries have what is asked for."""
    hindrance: Hindrance | None = None
    """Why none helps."""
    worth_it: bool = False
    """It takes time enough to be worth an index, or fails for want of one."""

    @property
    def scans(self) -> bool:
        """Tell whether every entry below the base is looked at."""
        return self.outlook is Outlook.UNINDEXED

    @property
    def mean(self) -> int:
        """Nanoseconds that one took on average."""
        return self.etime // self.count if self.count else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """All searches of one server's log."""

    kind: ClassVar[str] = "coverage"
    how: ClassVar[str] = Traffic.how

    host: str
    family: Family | None
    rows: tuple[Covered, ...]
    """The costliest first."""
    indexing: Indexing | None
    """None: no index configuration is at hand."""
    etime: int
    """Nanoseconds of all searches."""
    seconds: float
    """Between the first record of the log and the last."""
    origins: tuple[str, ...]

    @property
    def scanned(self) -> tuple[Covered, ...]:
        """Searches that look at every entry."""
        return tuple(row for row in self.rows if row.scans)

    @property
    def harmless(self) -> tuple[Covered, ...]:
        """Searches that are partly without an index, and do no harm; many of them the server notes."""
        return tuple(row for row in self.rows if row.outlook is Outlook.PARTIALLY)


def audit(server: DirectoryServer, traffic: Traffic, indexing: Indexing | None) -> Coverage:
    """Judge every search of a server's log."""
    work = traffic.workload
    family = server.family or work.family
    simulations = Simulations(family, work, indexing)
    rows = [
        row
        for search in work.searches
        if not search.nameless and search.scope != "base"
        for row in _covered(search, family, simulations, work.search_etime)
    ]
    return Coverage(
        host=server.host,
        family=family,
        rows=tuple(sorted(rows, key=lambda row: (-row.etime, row.search.shape, row.search.base, row.search.scope))),
        indexing=indexing,
        etime=work.search_etime,
        seconds=traffic.seconds,
        origins=tuple(sorted({*traffic.origins, *(indexing.origins if indexing else ())})),
    )


def _covered(search: Search, family: Family | None, simulations: Simulations, total: int) -> Iterator[Covered]:
    """Yield the searches of one shape, apart by the lengths of their substrings where these make a difference."""
    backend = simulations.backend(search.base)
    simulation = simulations.of(backend, search.base)
    if simulation is None:
        return
    slow = _is_slow(search, search.answered, search.etime)
    judged = family not in NOTING or search.notes or slow  # of quick ones a server that notes nothing has said it all
    for group in _groups(search, simulation) if judged else _whole(search):
        lengths, count, etime, noted = group
        tree = parse_shape(search.shape, lengths)
        forecast = simulation.forecast(tree, search.base, search.scope) if tree and judged else None
        outlook = outlook_of(search, family, forecast, noted=noted, slow=_is_slow(search, count, etime))
        row = Covered(
            search=search,
            lengths=lengths,
            filter=tree,
            backend=backend,
            count=count,
            etime=etime,
            noted=noted,
            refused=_refused(search, group, family) if outlook is Outlook.UNINDEXED else 0,
            outlook=outlook,
            forecast=forecast,
        )
        worth_it = row.refused > 0 or _is_worth_it(row, total)
        yield (
            replace(row, worth_it=worth_it)
            if not row.scans
            else _explained(replace(row, worth_it=worth_it), simulation)
        )


def _refused(search: Search, group: Group, family: Family | None) -> int:
    """Return how many searches of a group failed for want of an index; at a server that notes, these are noted."""
    _, count, _, noted = group
    failed = sum(search.errors.get(err, 0) for err in REFUSED)
    return min(failed, noted if family in NOTING else count)


def _explained(row: Covered, simulation: Simulation) -> Covered:
    """Return a scan with the indexes that would help, or with what stands in their way."""
    if row.filter is None:
        return row
    search = row.search
    helpful = [one | _joined(row) for one in alternatives(row.filter, simulation.leaf)]
    foreseen = {one: simulation.with_added(row.filter, search.base, search.scope, one) for one in helpful if one}
    told = tuple(one for one, outlook in foreseen.items() if _would_help(one, outlook, search, simulation))
    sure = any(foreseen[one] in {Outlook.INDEXED, Outlook.PARTIALLY} for one in told)
    return replace(row, alternatives=told, sure=sure, hindrance=_hindrance(row, simulation, told))


def _joined(row: Covered) -> frozenset[Change]:
    """Return the indexes of what the server joins to every filter."""
    joined = row.forecast.added if row.forecast else ()
    return frozenset(leaf.change for leaf in joined if leaf.change is not None and leaf.cause is not Cause.NONE)


def _would_help(changes: frozenset[Change], outlook: Outlook, search: Search, simulation: Simulation) -> bool:
    """Tell whether indexes would help: not those of what nearly all may have, nor of what perhaps there is not."""
    many = outlook is Outlook.DEPENDS and any(change.type in PRESENCE for change in changes)
    unheard_of = not search.entries and not all(simulation.knows(change.attribute) for change in changes)
    return outlook is not Outlook.UNINDEXED and not unheard_of and (not many or isinstance(simulation, Unconfigured))


def _hindrance(row: Covered, simulation: Simulation, helpful: Alternatives) -> Hindrance | None:
    """Return what stands in the way where no index would help, or what must be built even where one would.

    An index that answers some of the searches is built.
    """
    if row.filter is None:
        return None
    told = hindrance(row.filter, simulation.leaf)
    if helpful and (told is None or told.cause is not Cause.NOT_BUILT):
        return None
    if told is None:
        first = next(assertions(row.filter))
        known = simulation.knows(first.attribute)
        cause, why = (Cause.LIMIT_PERHAPS, MOST_HAVE_IT) if known else (Cause.UNKNOWN_ATTRIBUTE, UNHEARD_OF)
        return Hindrance(cause=cause, attribute=first.name, text=first.text, why=why)
    if told.cause is Cause.NONE and row.search.unindexed < row.search.answered:
        return replace(told, cause=Cause.LIMIT_PERHAPS, why=MANY)
    return told


Group = tuple[str, int, int, int]
"""Lengths of the pieces, answered, nanoseconds, noted."""


def _whole(search: Search) -> list[Group]:
    return [("", search.answered, search.etime, search.unindexed)]


def _groups(search: Search, simulation: Simulation) -> Iterable[Group]:
    """Return the searches of a shape by the lengths of their pieces; those that fare alike are one group."""
    if not search.pieces:
        return _whole(search)
    groups: dict[object, Group] = {}
    for lengths, (count, etime, noted, _) in sorted(search.pieces.items(), reverse=True):
        tree = parse_shape(search.shape, lengths)
        forecast = simulation.forecast(tree, search.base, search.scope) if tree else None
        alike = (forecast.outlook, tuple(leaf.cause for leaf in forecast.leaves)) if forecast else None
        known = groups.get(alike, (lengths, 0, 0, 0))
        groups[alike] = (known[0], known[1] + count, known[2] + etime, known[3] + min(noted, search.unindexed))
    return groups.values()


def _is_slow(search: Search, count: int, etime: int) -> bool:
    """Tell whether searches took longer than what they returned explains."""
    return count > 0 and etime >= SLOW * count and search.entries <= FEW * search.answered


def _is_worth_it(row: Covered, total: int) -> bool:
    """Tell whether searches take time enough to be worth an index."""
    worst = row.search.worst
    once = worst is not None and worst.etime >= ONCE and row.count == row.search.answered
    return (once or (row.count > 0 and row.mean >= SLOW)) and (row.etime >= LEAST_SHARE * total or row.etime >= MUCH)
