"""Candidates on 389-ds: simulation of the ID list of a filter.

With an index of uid and none of title:

    (&(uid=u1)(title=x))              the list of uid=u1; title is not looked up if that has at most 10 ids
    (&(objectClass=person)(title=x))  all ids, if there are more persons than the scan limit
    (|(uid=u1)(title=x))              all ids, from the first member that is all ids
    (!(uid=u1))                       all ids; nothing is looked up

`All ids` are then reduced to the entries below the base, unless their list is over the scan limit. So an unindexed
search below a small base has note U or none, and so has any search without a scan limit. From back-ldbm/filterindex.c,
idl_set.c, idl_common.c and ldbm_search.c; every rule was tested with 2.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.evidence.filter_tree import Node, assertions
from ldapdiag.evidence.ldif import comparable
from ldapdiag.servers.candidates import Amount, Database, Forecast, IndexUse
from ldapdiag.servers.ds389.filter_order import as_written, rearranged
from ldapdiag.servers.ds389.id_lists import FilterEvaluation, not_looked_up
from ldapdiag.servers.ds389.index_lookup import IdList
from ldapdiag.servers.ds389.scan_limits import LimitsOf, exceeds, limits_of
from ldapdiag.servers.ds389.substring_keys import KEY_LENGTH

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version

SUBSTRING_KEY_LENGTH = KEY_LENGTH
MANY = 4000
"""Entries below a base: a scan of more counts as unindexed, whatever the server notes. The former scan limit."""

BASE_ALONE = "only the base entry is tested"
EVERYTHING = "no part of the filter reduces the candidates"
NARROWED = "no part of the filter reduces the candidates, but few entries are below the base"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRules:
    """The differences between the servers with back-ldbm."""

    rearranges: bool = True
    checks_names: bool = True
    """The server does not look up an attribute that the schema lacks."""
    limits: LimitsOf = limits_of


def rules_of(version: Version) -> EvaluationRules:
    """Return the rules of a version; for an unknown version the present ones."""
    # Ticket 49372 came with 1.4.0; nsslapd-verify-filter-schema with 1.4.2.
    return EvaluationRules(
        rearranges=not version or version >= (1, 4), checks_names=not version or version >= (1, 4, 2)
    )


def forecast(filter_: Node, base: str, scope: str, database: Database) -> Forecast:
    """Predict the use of indexes for a search."""
    return forecast_with(rules_of(database.version), filter_, base, scope, database)


def forecast_with(rules: EvaluationRules, filter_: Node, base: str, scope: str, database: Database) -> Forecast:
    """Predict the use of indexes for a search on a server with these rules."""
    if scope == "base":
        leaves = tuple(not_looked_up(assertion, BASE_ALONE) for assertion in assertions(filter_))
        possible = frozenset({IndexUse.INDEXED})
        return Forecast(
            index_use=IndexUse.INDEXED, leaves=leaves, why=BASE_ALONE, possible=possible, notes=frozenset({""})
        )
    evaluation = FilterEvaluation(database, limits=rules.limits, checks_names=rules.checks_names)
    part = as_written(filter_)
    ids = evaluation.find(rearranged(part) if rules.rearranges else part, reached=True, in_and=scope == "one")
    results = set(_results(ids, evaluation.noted, _Scope(base, scope, database, rules.limits)))
    possible = frozenset(one.index_use for one in results)
    reasons = {one.why for one in results}
    return Forecast(
        index_use=next(iter(possible)) if len(possible) == 1 else IndexUse.DEPENDS,
        leaves=evaluation.in_filter_order,
        why=reasons.pop() if len(reasons) == 1 else "",
        possible=possible,
        notes=frozenset(one.note for one in results),
    )


class _Result(NamedTuple):
    """A possible result of a search."""

    index_use: IndexUse
    note: str
    why: str


@dataclass(frozen=True, slots=True)
class _Scope:
    """The entries in the scope of a search."""

    base: str
    scope: str
    database: Database
    limits: LimitsOf

    @property
    def amount(self) -> Amount:
        """Return the number of entries in scope; if it is not known, the suffix has many."""
        amount = self.database.frequencies.below(self.base, self.scope)
        if self.scope == "one" or amount.exceeds(MANY) is not None:
            return amount
        whole = {"", *(comparable(suffix) for suffix in self.database.backend.suffixes)}
        at_suffix = comparable(self.base) in whole
        return replace(amount, least=max(amount.least, amount.most or 1 << 62)) if at_suffix else amount

    @property
    def exceeds_limit(self) -> bool | None:
        """Return whether the server's own list of the entries in scope (parentid, ancestorid) is over its limit."""
        name = "parentid" if self.scope == "one" else "ancestorid"
        definition = self.database.definition(name)
        limits = self.limits(definition, "eq", None, self.database, in_and=True)
        base_itself = 0 if self.scope == "one" else 1
        amount = self.amount
        most = None if amount.most is None else max(0, amount.most - base_itself)
        return exceeds(Amount(max(0, amount.least - base_itself), most), limits)


def _results(ids: IdList, noted: bool | None, scope: _Scope) -> Iterable[_Result]:  # noqa: FBT001  three values
    """Yield the possible results of a search with these candidates and notes."""
    for every in _either(ids.every):
        for unindexed in _either(noted):
            note, index_use = ("U", IndexUse.PARTIALLY) if unindexed else ("", IndexUse.INDEXED)
            if not every:
                yield _Result(index_use, note, "")
                continue
            for too_many in _either(scope.exceeds_limit):
                for many in (True,) if too_many else _either(scope.amount.exceeds(MANY)):
                    scanned = IndexUse.UNINDEXED if many else index_use
                    yield _Result(scanned, "A" if too_many else note, EVERYTHING if many else NARROWED)


def _either(known: bool | None) -> tuple[bool, ...]:  # noqa: FBT001  three values
    return (True, False) if known is None else (known,)
