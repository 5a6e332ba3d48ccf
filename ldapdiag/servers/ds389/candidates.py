"""Candidates on 389-ds: the list of ids it makes of a filter before it looks at any entry.

    (&(uid=u1)(title=x))              the list of uid=u1; title is not looked up when that has no more than 10 ids
    (&(objectClass=person)(title=x))  all ids, when there are more persons than the scan limit and title has no index
    (|(uid=u1)(title=x))              all ids, at the first member that is all ids
    (!(uid=u1))                       all ids; nothing is looked up

`All ids` are then cut down to what lies below the base, if that list is not over the scan limit itself. So an unindexed
search below a small base is noted U, or not at all, and so is any search where the scan limit is off. Read from
back-ldbm/filterindex.c, idl_set.c, idl_common.c and ldbm_search.c; every rule was tried with 2.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.evidence.filter_tree import Node, assertions
from ldapdiag.evidence.ldif import comparable
from ldapdiag.servers.candidates import Amount, Database, Forecast, Outlook
from ldapdiag.servers.ds389.filter_order import as_written, rearranged
from ldapdiag.servers.ds389.id_lists import FilterWalk, passed
from ldapdiag.servers.ds389.index_lookup import Ids
from ldapdiag.servers.ds389.scan_limits import LimitsOf, exceeds, limits_of

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version

MANY = 4000
"""Entries below a base: to look at more is called unindexed here, whatever the server's note. It was the scan limit."""

BASE_ALONE = "the entry of the base alone is looked at"
EVERYTHING = "no part of the filter narrows it down"
NARROWED = "no part of the filter narrows it down, but few entries lie below the base"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """What differs between servers of this lineage."""

    rearranges: bool = True
    checks_names: bool = True
    """An attribute that the schema does not know is not looked up."""
    limits: LimitsOf = limits_of


def ways_of(version: Version) -> Ways:
    """Return the ways of a version; of an unknown one the present ways."""
    # Ticket 49372 came with 1.4.0; nsslapd-verify-filter-schema with 1.4.2.
    return Ways(rearranges=not version or version >= (1, 4), checks_names=not version or version >= (1, 4, 2))


def forecast(filter_: Node, base: str, scope: str, database: Database) -> Forecast:
    """Return what becomes of a search."""
    return forecast_with(ways_of(database.version), filter_, base, scope, database)


def forecast_with(ways: Ways, filter_: Node, base: str, scope: str, database: Database) -> Forecast:
    """Return what becomes of a search at a server of these ways."""
    if scope == "base":
        leaves = tuple(passed(assertion, BASE_ALONE) for assertion in assertions(filter_))
        told = frozenset({Outlook.INDEXED})
        return Forecast(outlook=Outlook.INDEXED, leaves=leaves, why=BASE_ALONE, possible=told, notes=frozenset({""}))
    walk = FilterWalk(database, limits=ways.limits, checks_names=ways.checks_names)
    part = as_written(filter_)
    ids = walk.find(rearranged(part) if ways.rearranges else part, reached=True, in_and=scope == "one")
    ends = set(_ends(ids, walk.noted, _Below(base, scope, database, ways.limits)))
    possible = frozenset(end.outlook for end in ends)
    return Forecast(
        outlook=next(iter(possible)) if len(possible) == 1 else Outlook.DEPENDS,
        leaves=walk.told,
        why=next(iter({end.why for end in ends})) if len({end.why for end in ends}) == 1 else "",
        possible=possible,
        notes=frozenset(end.note for end in ends),
    )


class _End(NamedTuple):
    """What a search may come to."""

    outlook: Outlook
    note: str
    why: str


@dataclass(frozen=True, slots=True)
class _Below:
    """What lies in the scope of a search."""

    base: str
    scope: str
    database: Database
    limits: LimitsOf

    @property
    def amount(self) -> Amount:
        """Return the entries in scope; of what is not known, the suffix has many."""
        told = self.database.frequencies.below(self.base, self.scope)
        if self.scope == "one" or told.exceeds(MANY) is not None:
            return told
        whole = {"", *(comparable(suffix) for suffix in self.database.backend.suffixes)}
        return replace(told, least=max(told.least, told.most or 1 << 62)) if comparable(self.base) in whole else told

    @property
    def exceeds_limit(self) -> bool | None:
        """Tell whether the index by which the server knows what lies there gives all ids itself."""
        name = "parentid" if self.scope == "one" else "ancestorid"
        definition = self.database.definition(name)
        limits = self.limits(definition, "eq", None, self.database, in_and=True)
        base_itself = 0 if self.scope == "one" else 1
        amount = self.amount
        most = None if amount.most is None else max(0, amount.most - base_itself)
        return exceeds(Amount(max(0, amount.least - base_itself), most), limits)


def _ends(ids: Ids, noted: bool | None, below: _Below) -> Iterable[_End]:  # noqa: FBT001  the notes so far
    """Yield what a search may come to, by what its filter gives."""
    for every in _either(ids.every):
        for unindexed in _either(noted):
            note, outlook = ("U", Outlook.PARTIALLY) if unindexed else ("", Outlook.INDEXED)
            if not every:
                yield _End(outlook, note, "")
                continue
            for too_many in _either(below.exceeds_limit):
                for many in (True,) if too_many else _either(below.amount.exceeds(MANY)):
                    seen = Outlook.UNINDEXED if many else outlook
                    yield _End(seen, "A" if too_many else note, EVERYTHING if many else NARROWED)


def _either(known: bool | None) -> tuple[bool, ...]:  # noqa: FBT001  three values
    return (True, False) if known is None else (known,)
