"""The limits that a server's configuration gives the accounts whose searches were refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers.products import product_of
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ldapdiag.analysis.indexes.search_coverage import SearchCoverage
    from ldapdiag.analysis.log.searches import Requester, SearchGroup
    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.servers.indexes.applied_limits import AppliedLimits

TIME_LIMIT, ADMIN_LIMIT = 3, 11
"""timeLimitExceeded, adminLimitExceeded (RFC 4511, appendix A)."""
FEW = 3
"""Accounts whose limits are named."""


class ResolvedLimits:
    """The limits that a configuration gives accounts: each is looked up once for a database, and a base if need be."""

    def __init__(self, family: Family | None, configuration: IndexConfiguration | None) -> None:
        product = product_of(family) if family is not None else None
        self._applied_limits = product.applied_limits if product is not None else None
        self._configuration = configuration
        self._found: dict[tuple[str, str, str], AppliedLimits | None] = {}

    def of(self, group: SearchGroup, backends: Sequence[Backend]) -> Mapping[str, AppliedLimits]:
        """Return the limits of the accounts whose searches were refused; without those that are not known."""
        chosen = _chosen(backends)
        if chosen is None:
            return {}
        each = {account: self._look_up(chosen, account, group.base) for account in refused_accounts(group.requesters)}
        return {account: limits for account, limits in each.items() if limits is not None}

    def _look_up(self, backend: Backend, account: str, base: str) -> AppliedLimits | None:
        if self._applied_limits is None or self._configuration is None:
            return None
        rules = backend.account_limits.rules if backend.account_limits is not None else ()
        key = backend.name, account, base if any(rule.of_base for rule in rules) else ""
        if key not in self._found:
            self._found[key] = self._applied_limits(self._configuration, backend, account, base)
        return self._found[key]


def _chosen(backends: Sequence[Backend]) -> Backend | None:
    """Return the database whose limits hold for a search.

    slapd chooses the limits once, of the database of the base; where that is glued to another one, of the other one.
    """
    return next((one for one in backends[:1] if not one.glued), None)


def refused_accounts(requesters: Iterable[Requester]) -> tuple[str, ...]:
    """Return the accounts that had refused searches, each once, the most expensive first."""
    return tuple(dict.fromkeys(each.account for each in requesters if each.refused))


def stopped_by(searches: Iterable[SearchCoverage], code: int) -> list[SearchCoverage]:
    """Return the searches of which some ended with this result code."""
    return [search for search in searches if any(err == code for err, _ in search.stops)]


def limits_of(searches: Iterable[SearchCoverage], accounts: Iterable[str]) -> Mapping[str, tuple[AppliedLimits, ...]]:
    """Return the different limits of these searches by account; without accounts whose limits are not known."""
    searches = tuple(searches)
    found = {
        account: tuple(dict.fromkeys(search.limits[account] for search in searches if account in search.limits))
        for account in accounts
    }
    return {account: each for account, each in found.items() if each}


def allows_no_search(group: SearchGroup, limits: Mapping[str, AppliedLimits]) -> bool:
    """Return whether each account whose searches of this shape were refused may not search at all, and never did."""
    refused = {each.account: each for each in group.requesters if each.refused}
    if not refused or any(each.account in refused and each.count > each.refused for each in group.requesters):
        return False
    return all(account in limits and limits[account].candidates == 0 and limits[account].certain for account in refused)


def time_limit_sentences(searches: Iterable[SearchCoverage]) -> Iterator[str]:
    """Yield how many scans ended at a time limit, and which rule has it."""
    ended = stopped_by(searches, TIME_LIMIT)
    if not ended:
        return
    count = sum(stop.results for search in ended for (err, _), stop in search.stops.items() if err == TIME_LIMIT)
    accounts = dict.fromkeys(name for search in ended for name in refused_accounts(search.group.requesters))
    yield f"{number(count)} of them ended before the scan did, at a time limit of the server or the client (code 3)."
    limits = limits_of(ended, [*accounts][:FEW])
    yield from dict.fromkeys(filter(None, (_time_sentence(one) for each in limits.values() for one in each)))


def _time_sentence(limits: AppliedLimits) -> str:
    if limits.time:
        return f"By the configuration, {limits.time}."
    return "" if limits.known else f"Which time limit applies is not judged: {limits.rule}."


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
