"""Workload: what an access log says of a server's work, ranked: what is slow, who asks, why connections end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.searches import SearchGroup, UnindexedNotice, search_groups, unindexed_notices
from ldapdiag.analysis.log.spellings import SpellingCounts, display_name, folded_dn, ranked_by_text, text
from ldapdiag.evidence.log.kinds import NAMES, SEARCH
from ldapdiag.evidence.log.rests import Rests
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.evidence.log.tables import RESTART, ClientRow
from ldapdiag.servers.close_codes import close_reason
from ldapdiag.servers.close_reasons import CloseReason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.family import Family


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTotals:
    """The searches of a client, or of an account. Times in nanoseconds."""

    name: str
    count: int = 0
    """Results."""
    etime: int = 0
    noted: int = 0
    connections: int = 0
    """Of a client: those it opened; of an account: those that were bound as it at last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientActivity:
    """The connections of a client."""

    address: str
    opened: int
    operations: int
    closes: Mapping[str, int]
    """By the server's word for why, the most frequent first."""
    without_operations: Mapping[str, int]
    """Those of them without any operation."""
    idle_times: Rests
    """Followed by a request."""
    idle_before_close: Mapping[str, Rests]
    """Before a close, by its reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseCount:
    """The connections that ended for one reason."""

    code: str
    """The server's word for it."""
    meaning: CloseReason
    count: int
    clients: Mapping[str, int]
    """The most frequent first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedBinds:
    """BINDs of a DN, from a client, that failed in one way."""

    dn: str
    client: str
    err: int
    count: int


@dataclass(frozen=True)
class Workload:
    """A finished Segment, and what is ranked and named of it. Every order is the same for the same log."""

    segment: Segment
    family: Family | None = None
    """Whose words the reasons for closes are; None where several products' logs are added up."""

    @cached_property
    def searches(self) -> tuple[SearchGroup, ...]:
        """Searches by filter without values, base and scope; the costliest first."""
        return search_groups(self.segment, self._accounts)

    @cached_property
    def _accounts(self) -> SpellingCounts:
        """How accounts are spelled, wherever the log names them."""
        spellings = SpellingCounts(folded_dn)
        for account, count in self.segment.accounts.items():
            spellings(account, count)
        for (_, _, account), counts in self.segment.attribution.items():
            spellings(account, counts[0])
        for (account, _, _), count in self.segment.failures.items():
            spellings(account, count)
        return spellings

    def _account(self, dn: bytes) -> str:
        return display_name(self._accounts.most(dn))

    @cached_property
    def search_etime(self) -> int:
        """Nanoseconds of all searches."""
        return sum(search.etime for search in self.searches)

    @property
    def logical_searches(self) -> int:
        """Searches, a paged one counted once."""
        return self.segment.operations[SEARCH] - self.segment.continued

    @cached_property
    def unindexed(self) -> int:
        """Searches that the server says it had no index for, in full or in part; a paged one counted once."""
        return sum(search.unindexed for search in self.searches)

    @cached_property
    def operations(self) -> dict[str, int]:
        """Requests by kind."""
        return dict(zip(NAMES, self.segment.operations, strict=True))

    @cached_property
    def notes(self) -> dict[str, int]:
        """Results of searches by their notes."""
        return ranked_by_text(self.segment.noted.items())

    @cached_property
    def clients(self) -> tuple[ClientActivity, ...]:
        """Clients by connections opened."""
        rows: dict[str, ClientRow] = {}
        for address, row in self.segment.clients.items():
            rows.setdefault(display_name(address), ClientRow()).take(row, self.segment.closed)
        told = (_client(address, row) for address, row in rows.items())
        return tuple(sorted(told, key=lambda one: (-one.opened, -one.operations, one.address)))

    @cached_property
    def by_account(self) -> dict[str, int]:
        """Connections by the account they were bound as at last."""
        return ranked_by_text(self.segment.accounts.items(), self._account)

    @cached_property
    def client_totals(self) -> tuple[SearchTotals, ...]:
        """Clients by the time of their searches."""
        counts = ((display_name(client), each) for (_, client, _), each in self.segment.attribution.items())
        return _asking(counts, {one.address: one.opened for one in self.clients})

    @cached_property
    def account_totals(self) -> tuple[SearchTotals, ...]:
        """Accounts by the time of their searches."""
        counts = ((self._account(account), each) for (_, _, account), each in self.segment.attribution.items())
        return _asking(counts, self.by_account)

    @cached_property
    def closes(self) -> tuple[CloseCount, ...]:
        """Reasons for the end of connections, the most frequent first."""
        of_code: dict[str, dict[str, int]] = {}
        for client in self.clients:
            for code, count in client.closes.items():
                of_code.setdefault(code, {})[client.address] = count
        return tuple(
            CloseCount(
                code=code,
                meaning=close_reason(self.family, code),
                count=count,
                clients=dict(sorted(of_code.get(code, {}).items(), key=lambda item: (-item[1], item[0]))),
            )
            for code, count in ranked_by_text(self._ends()).items()
        )

    def _ends(self) -> tuple[tuple[bytes, int], ...]:
        """Return how many connections ended, and by what: a close record, or a restart."""
        restart = ((RESTART, self.segment.ended_by_restart),) if self.segment.ended_by_restart else ()
        return (*self.segment.closed.items(), *restart)

    @cached_property
    def failed_binds(self) -> tuple[FailedBinds, ...]:
        """Failed BINDs, the most frequent first."""
        counts: dict[tuple[str, str, int], int] = {}
        for (dn, client, err), count in self.segment.failures.items():
            key = (self._account(dn), display_name(client), err)
            counts[key] = counts.get(key, 0) + count
        told = (FailedBinds(dn=dn, client=client, err=err, count=count) for (dn, client, err), count in counts.items())
        return tuple(sorted(told, key=lambda one: (-one.count, one.dn, one.client, one.err)))

    @cached_property
    def lacking_indexes(self) -> tuple[tuple[str, str, int], ...]:
        """What slapd says, at level filter, of a lacking index: attribute, kind of index, how often."""
        told = ((text(attribute), text(kind), count) for (attribute, kind), count in self.segment.not_indexed.items())
        return tuple(sorted(told, key=lambda one: (-one[2], one)))

    @cached_property
    def unindexed_notices(self) -> tuple[UnindexedNotice, ...]:
        """What the errors log of 389-ds tells of unindexed searches, the most frequent first."""
        return unindexed_notices(self.segment)

    @cached_property
    def versions(self) -> tuple[str, ...]:
        """What headers and banners say of the server's version."""
        return tuple(sorted({text(version) for _, version in self.segment.instances if version}))


def _client(address: str, row: ClientRow) -> ClientActivity:
    tails: dict[str, Rests] = {}
    for code, rests in row.tails.items():
        tails.setdefault(text(code), Rests()).take(rests)
    return ClientActivity(
        address=address,
        opened=row.opened,
        operations=row.operations,
        closes=ranked_by_text(row.codes.items()),
        without_operations=ranked_by_text(row.silent.items()),
        idle_times=row.rests,
        idle_before_close=dict(sorted(tails.items())),
    )


def _asking(counts: Iterable[tuple[str, list[int]]], connections: Mapping[str, int]) -> tuple[SearchTotals, ...]:
    """Add up who asks."""
    sums: dict[str, list[int]] = {name: [0, 0, 0] for name in connections}
    for name, each in counts:
        of_name = sums.setdefault(name, [0, 0, 0])
        for place, count in enumerate(each):
            of_name[place] += count
    rows = (
        SearchTotals(name=name, count=count, etime=etime, noted=noted, connections=connections.get(name, 0))
        for name, (count, etime, noted) in sums.items()
    )
    return tuple(sorted(rows, key=lambda one: (-one.etime, -one.count, -one.connections, one.name)))
