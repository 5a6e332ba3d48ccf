"""Failed BINDs: by account, and by client where one client tried many accounts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.spellings import OTHER_NAME, UNKNOWN_NAME, display_name
from ldapdiag.evidence.log.connection import IN_PROGRESS
from ldapdiag.evidence.log.operation_kinds import BIND
from ldapdiag.evidence.log.tables import OTHER_RESULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ldapdiag.evidence.log.segment import Segment

GUESSED_ACCOUNTS, GUESSES = 20, 100
"""A client that fails so often, as so many accounts, guesses passwords; or it is a broken front end."""
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
    def guesses(self) -> bool:
        """Whether these are too many accounts for one client."""
        known = self.of_client and self.name not in {UNKNOWN_NAME, OTHER_NAME}
        return known and self.count >= GUESSES and len(self.accounts) >= GUESSED_ACCOUNTS


def grouped_failures(failed: Iterable[FailedBinds]) -> tuple[Failures, ...]:
    """Return the clients that tried many accounts, and all other failed BINDs by account; the most frequent first."""
    failed = tuple(failed)
    by_client = {client: one for client, one in _grouped(failed, of_client=True).items() if one.guesses}
    by_account = _grouped((one for one in failed if one.client not in by_client), of_client=False)
    groups = (*by_client.values(), *by_account.values())
    return tuple(sorted(groups, key=lambda one: (-one.count, not one.of_client, one.name)))


def _grouped(failed: Iterable[FailedBinds], *, of_client: bool) -> dict[str, Failures]:
    groups: dict[str, Failures] = {}
    for one in failed:
        name = one.client if of_client else one.dn
        groups.setdefault(name, Failures(name=name, of_client=of_client)).take(one)
    return groups
