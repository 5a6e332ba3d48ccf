"""Failed BINDs: by account, and by client where one client tried many accounts."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.spellings import ANONYMOUS, OTHER_NAME, UNKNOWN_NAME, display_name
from ldapdiag.evidence.log.connection import IN_PROGRESS
from ldapdiag.evidence.log.operation_kinds import BIND
from ldapdiag.evidence.log.tables import OTHER_RESULT
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ldapdiag.evidence.log.segment import Segment

GUESSED_ACCOUNTS, GUESSES = 20, 100
"""A client that fails so often, as so many accounts, is a subject of its own, even if others succeed from there."""
MANY = 10
"""Accounts of one client, or clients of one account, that are never accepted together: guesses, unless most others are.

Were one user in five of a front end refused and never accepted, this many, and half of all or more, would be so in
fewer than one log of 300 (binomial: 10 or more of 20 users); with fewer or more users it is rarer.
"""
CREDENTIALS = frozenset({19, 32, 49, 53})
"""Wrong password, unknown account, locked account: the answers to guesses."""
ANSWERS = frozenset({0, IN_PROGRESS})


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedBinds:
    """BINDs of one DN from one client that failed with one result code."""

    dn: str
    client: str
    err: int
    count: int


def failed_binds(segment: Segment, account: Callable[[bytes], str]) -> tuple[FailedBinds, ...]:
    """Return failed BINDs by DN, client and result code, the most frequent first; `account` names a DN.

    Without those whose result code is not known any more, because the table was full.
    """
    counts: dict[tuple[str, str, int], int] = {}
    for (kind, _, client, dn, err), (count, *_) in segment.attribution.items():
        if kind == BIND and err not in ANSWERS and err != OTHER_RESULT:
            key = (account(dn), display_name(client), err)
            counts[key] = counts.get(key, 0) + count
    failed = (FailedBinds(dn=dn, client=client, err=err, count=count) for (dn, client, err), count in counts.items())
    return tuple(sorted(failed, key=lambda binds: (-binds.count, binds.dn, binds.client, binds.err)))


def accepted_binds(segment: Segment, account: Callable[[bytes], str]) -> frozenset[tuple[str, str]]:
    """Return the DNs and clients of BINDs that succeeded, those without a DN left out."""
    return frozenset(
        (account(dn), display_name(client))
        for (kind, _, client, dn, err) in segment.attribution
        if kind == BIND and err == 0 and dn
    )


def unlisted_failures(segment: Segment, listed: Iterable[FailedBinds]) -> int:
    """Return how many failed BINDs are not listed by their account, because the table was full."""
    rows = (row for (kind, _), row in segment.targets.items() if kind == BIND)
    failed = sum(count for row in rows for err, count in row.errors.items() if err not in ANSWERS)
    return failed - sum(one.count for one in listed if one.dn != OTHER_NAME)


@dataclass(slots=True, kw_only=True)
class Failures:
    """The failed BINDs of one account; or of one client, as many accounts."""

    name: str
    of_client: bool
    accounts: Counter[str] = field(default_factory=Counter)
    clients: Counter[str] = field(default_factory=Counter)
    errors: Counter[int] = field(default_factory=Counter)
    accepted: set[str] = field(default_factory=set)
    """Of a client: all accounts as which it bound with success; of an account: all clients that did."""

    def take(self, failed: FailedBinds) -> None:
        """Count some more."""
        self.accounts[failed.dn] += failed.count
        self.clients[failed.client] += failed.count
        self.errors[failed.err] += failed.count

    @property
    def count(self) -> int:
        """The number of failed BINDs."""
        return self.errors.total()

    @property
    def never_accepted(self) -> int:
        """The number of accounts of a client, or clients of an account, that failed and never succeeded together."""
        return len((self.accounts if self.of_client else self.clients).keys() - self.accepted)

    @property
    def is_known(self) -> bool:
        """Whether these are one client's or one account's, and some of them were refused for their credentials."""
        return self.name not in {UNKNOWN_NAME, OTHER_NAME, ANONYMOUS} and not CREDENTIALS.isdisjoint(self.errors)

    @property
    def are_guesses(self) -> bool:
        """Whether these are too many accounts or clients for users who mistype, or a service with an old password.

        Such a service fails again and again on each of its hosts, and mostly was accepted there before.
        """
        if not self.is_known or self.never_accepted < MANY:
            return False
        if self.of_client:
            return self.never_accepted >= len(self.accepted)
        return self.never_accepted == len(self.clients) and self.count < MANY * len(self.clients)

    @property
    def tries_many(self) -> bool:
        """Whether these are many accounts of one client."""
        often = self.count >= GUESSES and len(self.accounts) >= GUESSED_ACCOUNTS
        return self.of_client and (self.are_guesses or (self.is_known and often))


def grouped_failures(
    failed: Iterable[FailedBinds], accepted: frozenset[tuple[str, str]] = frozenset()
) -> tuple[Failures, ...]:
    """Return the clients that tried many accounts, and all other failed BINDs by account; the most frequent first.

    `accepted`: as accepted_binds has them.
    """
    failed = tuple(failed)
    by_client = {client: one for client, one in _grouped(failed, accepted, of_client=True).items() if one.tries_many}
    by_account = _grouped((one for one in failed if one.client not in by_client), accepted, of_client=False)
    groups = (*by_client.values(), *by_account.values())
    return tuple(sorted(groups, key=lambda one: (-one.count, not one.of_client, one.name)))


def _grouped(
    failed: Iterable[FailedBinds], accepted: frozenset[tuple[str, str]], *, of_client: bool
) -> dict[str, Failures]:
    groups: dict[str, Failures] = {}
    for one in failed:
        name = one.client if of_client else one.dn
        groups.setdefault(name, Failures(name=name, of_client=of_client)).take(one)
    for dn, client in accepted:
        name, other = (client, dn) if of_client else (dn, client)
        if name in groups:
            groups[name].accepted.add(other)
    return groups
