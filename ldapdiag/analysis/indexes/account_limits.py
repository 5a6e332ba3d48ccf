"""The limits that a server's configuration gives the accounts whose searches were refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers.products import product_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ldapdiag.analysis.indexes.search_coverage import SearchCoverage
    from ldapdiag.evidence.family import Family
    from ldapdiag.servers.indexes.applied_limits import AppliedLimits


def limits_of(
    searches: Iterable[SearchCoverage], accounts: Iterable[str], family: Family | None
) -> Mapping[str, tuple[AppliedLimits, ...]]:
    """Return the different limits of these searches by account; empty where the configuration does not show them."""
    product = product_of(family) if family is not None else None
    if product is None or product.applied_limits is None:
        return {}
    places = {(backend.name, search.group.base): backend for search in searches for backend in search.backends}
    found = {
        account: [product.applied_limits(backend, account, base) for (_, base), backend in places.items()]
        for account in accounts
    }
    return {account: tuple(dict.fromkeys(filter(None, each))) for account, each in found.items() if any(each)}


def allows_no_search(search: SearchCoverage, family: Family | None) -> bool:
    """Return whether each account whose searches of this shape were refused may not search at all."""
    refused = {each.account for each in search.group.requesters if each.refused}
    limits = limits_of((search,), refused, family)
    return bool(refused) and all(
        account in limits and all(one.candidates == 0 for one in limits[account]) for account in refused
    )


def limit_sentences(limits: Mapping[str, tuple[AppliedLimits, ...]]) -> tuple[str, ...]:
    """Return which rules apply, a sentence for each; the same one once."""
    return tuple(dict.fromkeys(_sentence(one) for each in limits.values() for one in each))


def _sentence(limits: AppliedLimits) -> str:
    if not limits.known:
        return f"Which limit applies is not judged: {limits.rule}."
    if limits.candidates is None and not limits.refuses_pages:
        return (
            f"By the configuration, {limits.rule}: the refusal has another cause, or the rule is younger than the log."
        )
    pages = " It refuses paged searches, too, or large pages of them, with the same code." * limits.refuses_pages
    return f"By the configuration, {limits.rule}.{pages}"
