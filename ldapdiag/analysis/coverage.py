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
from ldapdiag.analysis.searches import LATER_PAGE, Search
from ldapdiag.analysis.servers import DirectoryServer
from ldapdiag.analysis.simulated_server import NOTING, Simulations
from ldapdiag.analysis.traffic import Traffic
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import Node, parse_shape
from ldapdiag.evidence.indexes import Backend
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND
from ldapdiag.servers.candidates import Cause, Forecast, Outlook

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.analysis.simulated_database import Simulation

FULLY = {Family.DS389: "A", Family.DSEE: "U", Family.OPENDJ: "unindexed", Family.PING: "unindexed"}

MISTAKEN = frozenset({Family.OPENDJ})
"""Products that note some searches as unindexed which they answer otherwise (isMemberOf, from the group's entry)."""

LEAST_SHARE = 0.005
MUCH = 60 * SECOND
SLOW, ONCE = 5 * MILLISECOND, SECOND
"""A search that takes so long on average, or took so long once, is worth an index."""
FEW = 100
"""Entries: a search that returns so few, and takes long, has looked at many more."""
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
    for lengths, count, etime, noted in _groups(search, simulation) if judged else _whole(search):
        tree = parse_shape(search.shape, lengths)
        forecast = simulation.forecast(tree, search.base, search.scope) if tree and judged else None
        outlook = _outlook(search, family, forecast, noted=noted, slow=_is_slow(search, count, etime))
        refused = sum(search.errors.get(err, 0) for err in REFUSED) if outlook is Outlook.UNINDEXED else 0
        told = _helpful(tree, search, simulation) if outlook is Outlook.UNINDEXED and tree else ()
        yield Covered(
            search=search,
            lengths=lengths,
            filter=tree,
            backend=backend,
            count=count,
            etime=etime,
            noted=noted,
            refused=refused,
            outlook=outlook,
            forecast=forecast,
            alternatives=told,
            hindrance=_hindrance(tree, search, simulation, told) if tree and outlook is Outlook.UNINDEXED else None,
            worth_it=refused > 0 or _is_worth_it(search, count, etime, total),
        )


def _helpful(filter_: Node, search: Search, simulation: Simulation) -> Alternatives:
    """Return the sets of indexes that would help, each tried in the simulation."""
    joined = simulation.forecast(filter_, search.base, search.scope).added
    always = frozenset(leaf.change for leaf in joined if leaf.change is not None and leaf.cause is not Cause.NONE)
    offered = [one | always for one in alternatives(filter_, simulation.leaf)]
    return tuple(one for one in offered if one and simulation.would_do(filter_, search.base, search.scope, one))


def _hindrance(filter_: Node, search: Search, simulation: Simulation, helpful: Alternatives) -> Hindrance | None:
    """Return what stands in the way where no index would help, or what must be built even where one would.

    An index that answers some of the searches is built.
    """
    told = hindrance(filter_, simulation.leaf)
    if helpful and (told is None or told.cause is not Cause.NOT_BUILT):
        return None
    if told and told.cause is Cause.NONE and search.unindexed < search.answered:
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


def _is_worth_it(search: Search, count: int, etime: int, total: int) -> bool:
    """Tell whether searches take time enough to be worth an index."""
    slow = count > 0 and etime >= SLOW * count
    once = search.worst is not None and search.worst.etime >= ONCE
    return (slow or once) and (etime >= LEAST_SHARE * total or etime >= MUCH)


def _outlook(search: Search, family: Family | None, forecast: Forecast | None, *, noted: int, slow: bool) -> Outlook:
    """Return how searches found their candidates: by the server's note, else by the simulation.

    What is only partly answered by indexes, returns little and takes long has looked at nearly everything: a list of
    all persons is as good as none.
    """
    told = forecast.outlook if forecast else Outlook.DEPENDS
    if family is not None and family in NOTING:
        told = _by_the_note(search, family, forecast, noted=noted, slow=slow)
    return Outlook.UNINDEXED if slow and told in {Outlook.PARTIALLY, Outlook.DEPENDS} else told


def _by_the_note(search: Search, family: Family, forecast: Forecast | None, *, noted: int, slow: bool) -> Outlook:
    """Return what a note means, or that there is none."""
    foreseen = forecast.outlook if forecast else None
    if not noted:
        silent = foreseen is Outlook.UNINDEXED and forecast is not None and "" in forecast.notes
        return Outlook.UNINDEXED if silent and slow else Outlook.INDEXED if search.answered else Outlook.DEPENDS
    told = _noted(search, family)
    if told is Outlook.PARTIALLY and foreseen is Outlook.UNINDEXED:
        return Outlook.UNINDEXED  # without a scan limit, 389-ds says U of a full scan
    mistaken = family in MISTAKEN and foreseen is Outlook.INDEXED and told is Outlook.UNINDEXED and not slow
    return Outlook.PARTIALLY if mistaken else told


def _noted(search: Search, family: Family) -> Outlook:
    """Return what the server's notes say."""
    fully = any(FULLY[family] in notes.split(",") for notes in search.notes if notes != LATER_PAGE)
    return Outlook.UNINDEXED if fully else Outlook.PARTIALLY
