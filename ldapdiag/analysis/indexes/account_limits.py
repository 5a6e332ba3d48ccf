"""The limits that a server's configuration gives the accounts whose searches were refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers.products import product_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ldapdiag.analysis.indexes.search_coverage import SearchCoverage
    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.servers.indexes.applied_limits import AppliedLimits


def limits_of(
    searches: Iterable[SearchCoverage], accounts: Iterable[str], family: Family | None
) -> Mapping[str, tuple[AppliedLimits, ...]]:
    """Return the different limits of these searches by account; empty where the configuration does not show them."""
    product = product_of(family) if family is not None else None
    if product is None or product.applied_limits is None:
        return {}
    places = {place: backend for search in searches for place, backend in _places(search)}
    found = {
        account: [product.applied_limits(backend, account, base) for (_, base), backend in places.items()]
        for account in accounts
    }
    return {account: tuple(dict.fromkeys(filter(None, each))) for account, each in found.items() if any(each)}


def _places(search: SearchCoverage) -> Iterator[tuple[tuple[str, str], Backend]]:
    """Yield the database whose limits hold for searches, and their base if a rule may name it.

    slapd chooses the limits once, of the database of the base; where that is glued to another one, of the other one.
    """
    chosen = next((one for one in search.backends[:1] if not one.glued), None)
    if chosen is not None:
        rules = chosen.account_limits.rules if chosen.account_limits is not None else ()
        yield (chosen.name, search.group.base if any(rule.of_base for rule in rules) else ""), chosen


def allows_no_search(search: SearchCoverage, family: Family | None) -> bool:
    """Return whether each account whose searches of this shape were refused may not search at all, and never did."""
    refused = {each.account: each for each in search.group.requesters if each.refused}
    if not refused or any(each.account in refused and each.count > each.refused for each in search.group.requesters):
        return False
    limits = limits_of((search,), refused, family)
    return all(
        account in limits and all(one.candidates == 0 and one.certain for one in limits[account]) for account in refused
    )


def limit_sentences(limits: Mapping[str, tuple[AppliedLimits, ...]]) -> tuple[str, ...]:
    """Return which rules apply, a sentence for each; the same one once."""
    return tuple(dict.fromkeys(_sentence(one) for each in limits.values() for one in each))


def _sentence(limits: AppliedLimits) -> str:
    if not limits.known:
        return f"Which limit applies is not judged: {limits.rule}."
    if limits.candidates is None and not limits.refuses_pages:
        return f"By the configuration, {limits.rule}: the refusal has another cause, or the rule was added later."
    pages = " It refuses paged searches, too, or large pages of them, with the same code." * limits.refuses_pages
    return f"By the configuration, {limits.rule}.{pages}"
