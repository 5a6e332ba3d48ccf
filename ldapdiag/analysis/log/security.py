"""Security: how the connections of a log were secured, and which the server refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.operations import START_TLS
from ldapdiag.analysis.log.spellings import SpellingCounts, display_name, folded_dn, ranked, text
from ldapdiag.evidence.addresses import is_loopback, normalise_address
from ldapdiag.evidence.log.connection import UNKNOWN
from ldapdiag.evidence.log.operation_kinds import EXTENDED
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.log.segment import Segment

LOCAL = b"local"
"""The client of a connection over a socket of the same host (ldapi)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountOfClient:
    """What one client did: BINDs as a DN, connections refused for a reason."""

    client: str
    what: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """How the connections of a log were secured, and which were refused."""

    secured: Mapping[tuple[str, str], int]
    """Connections with TLS by protocol version and cipher, as logged; the most frequent first."""
    start_tls: int
    """Requests."""
    clear_binds: tuple[CountOfClient, ...]
    """BINDs that sent a password without TLS over a network, by client and DN; the most frequent first."""
    local_binds: int
    """Those from the same host (loopback, ldapi), where no network is involved."""
    maybe_clear: int
    """Connections with BINDs with a password whose beginning, and so TLS, is not in the log."""
    refused: tuple[CountOfClient, ...]
    """Connections closed as soon as they were accepted, by client and reason; the most frequent first."""


def security_of(segment: Segment) -> Security:
    """Return how the connections of a log were secured, and which were refused."""
    secured: dict[tuple[str, str], int] = {}
    for (version, cipher), count in segment.ciphers.items():
        secured[text(version), text(cipher)] = secured.get((text(version), text(cipher)), 0) + count
    dns = SpellingCounts(folded_dn)
    for (_, dn), count in segment.clear_binds.items():
        dns.add(dn, count)
    binds = (
        (display_name(client), display_name(dns.respelled(dn) or UNKNOWN), count)
        for (client, dn), count in segment.clear_binds.items()
        if not _is_local(client)
    )
    refused = ((display_name(client), text(reason), count) for (client, reason), count in segment.refused.items())
    return Security(
        secured=dict(sorted(secured.items(), key=lambda each: (-each[1], each[0]))),
        start_tls=sum(
            row.requests
            for (kind, oid), row in segment.targets.items()
            if kind == EXTENDED and oid == START_TLS.encode()
        ),
        clear_binds=_by_client(binds),
        local_binds=sum(count for (client, _), count in segment.clear_binds.items() if _is_local(client)),
        maybe_clear=segment.maybe_clear,
        refused=_by_client(refused),
    )


def _is_local(client: bytes) -> bool:
    return client == LOCAL or is_loopback(normalise_address(text(client)))


def _by_client(counts: Iterable[tuple[str, str, int]]) -> tuple[CountOfClient, ...]:
    totals: dict[tuple[str, str], int] = {}
    for client, what, count in counts:
        totals[client, what] = totals.get((client, what), 0) + count
    found = (CountOfClient(client=client, what=what, count=count) for (client, what), count in totals.items())
    return tuple(sorted(found, key=lambda one: (-one.count, one.client, one.what)))


def by_client(counts: Iterable[CountOfClient]) -> dict[str, int]:
    """Return the counts of each client, the most frequent first."""
    totals: dict[str, int] = {}
    for count in counts:
        totals[count.client] = totals.get(count.client, 0) + count.count
    return ranked(totals)
