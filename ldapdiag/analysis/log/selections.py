"""Selections: the operations that an operator asks for, as conditions on what a log contains."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.spellings import ANONYMOUS, UNKNOWN_NAME, caseless, display_name, folded_dn, text
from ldapdiag.evidence.filters import shape
from ldapdiag.evidence.log.connection import ANONYMOUS as ANONYMOUS_DN
from ldapdiag.evidence.log.connection import UNKNOWN
from ldapdiag.evidence.log.selection import Selection
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from ipaddress import IPv4Network, IPv6Network

    from ldapdiag.evidence.log.segment import Segment

MOST_NEAR = 3
"""Names suggested in place of one that does not occur."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an operator asks for; an empty tuple: any."""

    clients: tuple[str, ...] = ()
    """Addresses, networks (10.1.0.0/16), or names as logged (local)."""
    accounts: tuple[str, ...] = ()
    connections: tuple[int, ...] = ()
    shapes: tuple[str, ...] = ()
    """Filters, or shapes of filters."""
    codes: tuple[int, ...] = ()
    least_seconds: float = 0.0
    most_shown: int = 0

    @property
    def restricts(self) -> bool:
        """Return whether some operations are not selected."""
        return bool(
            self.clients or self.accounts or self.connections or self.shapes or self.codes or self.least_seconds
        )

    def connections_opened(self, segment: Segment) -> int:
        """Return how many connections of a log the clients asked for have opened."""
        is_client = _is_client(self.clients)
        return sum(row.opened for client, row in segment.clients.items() if is_client(client))

    def selection(self) -> Selection:
        """Return the conditions."""
        return Selection(
            client=_is_client(self.clients) if self.clients else None,
            account=_is_account(self.accounts) if self.accounts else None,
            shape=_has_shape(self.shapes) if self.shapes else None,
            connections=frozenset(self.connections) if self.connections else None,
            codes=frozenset(self.codes) if self.codes else None,
            least_etime=round(self.least_seconds * 1_000_000_000),
            most_shown=self.most_shown,
        )


def _is_client(names: Sequence[str]) -> Callable[[bytes], bool]:
    networks = [network for name in names if (network := network_of(name)) is not None]
    literal = {UNKNOWN if name == UNKNOWN_NAME else name.encode() for name in names}

    @cache
    def is_client(logged: bytes) -> bool:
        return logged in literal or is_within(logged, networks)

    return is_client


def network_of(name: str) -> IPv4Network | IPv6Network | None:
    """Return an address or a network; None for any other name."""
    try:
        return ip_network(name, strict=False)
    except ValueError:
        return None


def is_within(client: bytes, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    """Return whether a client's address is in one of the networks; an IPv4-mapped one counts as IPv4."""
    try:
        address = ip_address(client.decode("ascii", "replace"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return any(one in network for network in networks for one in (address, mapped) if one is not None)


def _is_account(names: Sequence[str]) -> Callable[[bytes], bool]:
    wanted = {folded_dn(name.encode("utf-8", "surrogateescape")) for name in names}
    special = {dn for dn, name in ((ANONYMOUS_DN, ANONYMOUS), (UNKNOWN, UNKNOWN_NAME)) if name in names}

    @cache
    def is_account(logged: bytes) -> bool:
        return logged in special or folded_dn(logged) in wanted

    return is_account


def _has_shape(texts: Sequence[str]) -> Callable[[bytes], bool]:
    wanted = {caseless(shape(one.encode("utf-8", "surrogateescape"))) for one in texts}

    @cache
    def has_shape(logged: bytes) -> bool:
        return caseless(logged) in wanted

    return has_shape


def not_found(wanted: Wanted, segment: Segment) -> tuple[str, ...]:
    """Return a sentence for each client and account that does not occur in the log, with the nearest that do.

    Only connections are certain to be counted whatever was selected, so `segment` needs no result. Of filters that no
    selected search has, the nearest are not known.
    """
    clients = {display_name(client) for client in segment.clients}
    accounts = {display_name(account) for account in segment.accounts}
    is_known = {folded_dn(account) for account in segment.accounts}
    sentences = [
        _sentence("client", name, clients)
        for name in wanted.clients
        if not any(map(_is_client((name,)), segment.clients))
    ]
    sentences += [
        _sentence("account", name, accounts)
        for name in wanted.accounts
        if name not in accounts and folded_dn(name.encode("utf-8", "surrogateescape")) not in is_known
    ]
    sentences += _filters_not_found(wanted.shapes, segment)
    return tuple(sentences)


def _sentence(what: str, name: str, known: set[str]) -> str:
    near = get_close_matches(name, sorted(known), n=MOST_NEAR, cutoff=0.5)
    similar = f"; similar: {', '.join(near)}" if near else ""
    return f"no connection of the log has the {what} {name}{similar}"


def _filters_not_found(filters: Sequence[str], segment: Segment) -> Iterator[str]:
    """Yield a sentence for each filter that no selected search has, with how to list those there are."""
    for one in filters:
        if not any(map(_has_shape((one,)), (logged for logged, _, _ in segment.shapes))):
            wanted = text(shape(one.encode("utf-8", "surrogateescape")))
            yield f"no search that is selected has the filter {wanted}; ldapdiag log --top 100 lists filters"
