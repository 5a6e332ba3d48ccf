"""Connections, their ends, BINDs and TLS in the document of `ldapdiag log`."""

from __future__ import annotations

from typing import TypedDict

from ldapdiag.documents.common import Counts
from ldapdiag.servers.close_reasons import CloseKind


class IdleTimes(TypedDict):
    """Idle times of 1 s or longer, with nothing outstanding, from the last result or the opening on."""

    count: int
    longest_seconds: float
    longest_ended: str | None
    from_seconds: Counts
    """Edge: so many from this edge to the next (every second to 120, every 10 s to 1 h, every minute to 24 h)."""


class UsedAgain(IdleTimes):
    """Idle times that a request ended, with quantiles: [edge, next edge (null: none)] between which each lies."""

    p50_seconds: list[float | None] | None
    p99_seconds: list[float | None] | None


class Client(TypedDict):
    """The connections of a client."""

    client: str
    opened: int
    operations: int
    first_use: str | None
    """Its first opening; the first record, if that was before the log began; null while no end is counted."""
    last_use: str | None
    """Its last result, or the end of a connection on which an operation was outstanding then."""
    closed_without_operation: Counts
    """Code: connections that ended without an operation."""
    used_again: IdleTimes
    """Those that a request ended."""
    before_close: dict[str, IdleTimes]
    """Code: those that this close ended."""


class Close(TypedDict):
    """The ends of connections by code."""

    code: str
    """As the log names it; `restart`: ended by a restart of the server."""
    meaning: str
    kind: CloseKind
    count: int
    by_client: Counts


class IdleGroup(TypedDict):
    """Idle times by client and the account that was bound; at most 20,000 rows, the others are `other`."""

    client: str
    account: str
    used_again: UsedAgain
    before_close: dict[str, IdleTimes]
    """Code: idle times that this close ended."""
    open_at_end: IdleTimes


class Connections(TypedDict):
    """Connections: `opened + open_before = closed + open_at_end`."""

    opened: int
    closed: int
    """Those ended by a restart included."""
    open_before: int
    open_at_end: int
    peak: int
    """At once, on one server."""
    by_client: Counts
    """Client: opened."""
    by_account: Counts
    """Account of the last BIND: opened."""
    closed_by_code: Counts
    closes: list[Close]
    clients: list[Client]
    idle_times: list[IdleGroup]
    """The longest used again first."""


class FailedBind(TypedDict):
    """BINDs that failed; steps of SASL are no failures."""

    dn: str
    client: str
    err: int
    count: int


class FailedBindGroup(TypedDict):
    """The failed BINDs of one account, or of one client that tried many accounts."""

    account: str | None
    client: str | None
    """Exactly one of the two is null, if several: the clients of an account, the accounts of a client."""
    accounts: int
    clients: int
    err: int
    """The most frequent."""
    count: int


class TlsConnections(TypedDict):
    """Connections with TLS."""

    version: str
    cipher: str
    count: int


class ClearBinds(TypedDict):
    """BINDs with a password, on connections without TLS that were logged from their beginning."""

    client: str
    dn: str
    count: int


class Tls(TypedDict):
    """Connections with TLS, and passwords without."""

    connections: list[TlsConnections]
    starttls: int
    """Requests."""
    binds_in_clear: list[ClearBinds]
    """Simple with a DN, or PLAIN."""
    binds_within_host: int
    """As those, over loopback or ldapi, which are not among them."""
    connections_not_judged: int
    """With such BINDs, but not logged from their beginning."""


class Refused(TypedDict):
    """Connections that the server closed as soon as it had accepted them."""

    client: str
    reason: str
    count: int
