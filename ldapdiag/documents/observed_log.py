"""What the checks of access logs observed."""

from __future__ import annotations

from typing import Literal, TypedDict

Cause = Literal[
    "worker",
    "other-writes",
    "locks",
    "internal-searches",
    "plug-ins",
    "indexes",
    "not-searches",
    "disk",
    "steps",
    "accounts",
    "refused",
    "even",
]
"""Why operations are slow; the last four, and `worker`, of BINDs."""


class BindsInClear(TypedDict):
    """`binds-in-clear`: passwords that BINDs sent over the network without TLS.

    Per server.
    """

    account_count: int | None
    accounts: list[str] | None
    binds: int | None
    """BINDs with a password without TLS, over a network."""
    client_count: int | None
    clients: list[str] | None
    """20 of each."""
    refused: int | None
    """Of the BINDs, because TLS is required."""
    same_host: int | None
    """Others, over loopback or ldapi."""
    server: str | None
    unjudged_connections: int | None
    """With such BINDs, that began before the log."""


class CostlySearch(TypedDict):
    """`costly-search`: slow searches that take a large share of the server's time.

    Per filter shape, base and scope; of a filter that is costly below all its bases together, per filter shape; at
    most 10.
    """

    accounts: list[str] | None
    """The 10 with the most search time."""
    base: str | None
    """Null: several."""
    bases: int | None
    """Their number."""
    clients: list[str] | None
    entries: int | None
    etime_seconds: float | None
    first_share: float | None
    growing: bool | None
    last_share: float | None
    mean_seconds: float | None
    notes: dict[str, int] | None
    scope: Literal["base", "one", "sub", "subordinate"] | None
    searches: int | None
    server: str | None
    shape: str | None
    share: float | None
    """Of all search time, 0 to 1."""
    since: str | None
    spread_seconds: float | None
    """Standard deviation of their times."""
    until: str | None
    worst_connection: int | None
    worst_operation: int | None
    """Null where the log has none."""
    worst_seconds: float | None
    worst_time: str | None


class FailedBinds(TypedDict):
    """`failed-binds`: accounts and clients whose BINDs fail again and again.

    Per account; per client that tries many accounts.
    """

    accepted: int | None
    account: str | None
    """Null: many."""
    accounts: int | None
    client: str | None
    """Null: the finding is about an account."""
    clients: list[str] | None
    errors: dict[str, int] | None
    failures: int | None
    never_accepted: int | None
    """Of a client: accounts that succeeded from there, and those that failed and never did; of an account: likewise
    its clients.
    """
    per_hour: float | None
    server: str | None


class SlowBinds(TypedDict):
    """`slow-binds`: BINDs that take long.

    Per mechanism.
    """

    accounts: list[str] | None
    """The 10 with the most time."""
    causes: list[Cause] | None
    """Those that the evidence shows."""
    clients: list[str] | None
    errors: dict[str, int] | None
    etime_seconds: float | None
    first_share: float | None
    growing: bool | None
    last_share: float | None
    """Of the time of all operations but searches."""
    mean_seconds: float | None
    no_result: int | None
    """Unanswered or abandoned."""
    operation: Literal["add", "modify", "delete", "modrdn", "bind"] | None
    operations: int | None
    """Results."""
    p50_seconds: float | None
    p99_seconds: float | None
    server: str | None
    since: str | None
    spread_seconds: float | None
    """Standard deviation of their times."""
    target: str | None
    """The DN without its naming values; of a BIND the mechanism."""
    until: str | None
    wait_seconds: float | None
    """Of it, for a worker thread."""
    worst_connection: int | None
    worst_dn: str | None
    worst_operation: int | None
    worst_seconds: float | None
    worst_time: str | None


class SlowWrites(SlowBinds):
    """`slow-writes`: additions, modifications, deletions and renames that take long.

    Per kind of operation and target; at most 10.
    """
