"""What the checks of servers and fleets observed."""

from __future__ import annotations

from typing import Literal, TypedDict


class AcceptQueueOverflow(TypedDict):
    """`accept-queue-overflow`: more connections waiting to be accepted than the backlog allows."""

    backlog: int | None
    server: str | None
    waiting: int | None


class CloseWaitBacklog(TypedDict):
    """`close-wait-backlog`: connections that the peer has closed and this end keeps open."""

    connections: int | None
    end: Literal["server", "client"] | None
    host: str | None
    owner: str | None
    peer: str | None
    """Null: several clients, counted together."""


class ReachedLimit(TypedDict):
    """A message or measurement which shows that the descriptors ran out."""

    count: int
    first: str
    last: str
    """Null: the lines have no year."""
    source: str
    what: str


class DescriptorHeadroom(TypedDict):
    """`descriptor-headroom`: how many descriptors the server has left."""

    forecast_from: str | None
    """Its last reading, from which the hours count."""
    forecast_hours: float | None
    """Length of the series."""
    forecast_readings: int | None
    forecast_remarks: list[str] | None
    """Left out, and why."""
    forecast_source: str | None
    hours_left: float | None
    """Median."""
    hours_left_earliest: float | None
    hours_left_latest: float | None
    """The 90 % interval; the latter null: possibly never."""
    limit: int | None
    limit_source: str | None
    not_forecast: str | None
    """Why there is no forecast; then the hours are null."""
    problem: Literal["leak", "limit", "filling"] | None
    rate_per_hour: float | None
    rate_per_hour_high: float | None
    """Connections an hour, and the 90 % interval; null: unknown."""
    rate_per_hour_low: float | None
    reached: list[ReachedLimit] | None
    server: str | None
    used: int | None
    witnesses: list[str] | None


class ServerUnresponsive(TypedDict):
    """`server-unresponsive`: servers that do not answer, and what keeps them from it.

    Per server, and per named LDAP target that could not be reached.
    """

    not_accepted: int | None
    """Of these."""
    outcome: Literal["refused", "unreachable", "unresolved", "timed-out", "no-answer", "closed"] | None
    pid: int | None
    served: int | None
    """Connections read from meanwhile."""
    server: str | None
    since_seconds: float | None
    """At least."""
    state: (
        Literal[
            "stopped",
            "looping",
            "out-of-threads",
            "blocked-on-lock",
            "blocked-on-disk",
            "out-of-descriptors",
            "not-listening",
            "unreachable",
            "closes-connections",
            "no-answer",
        ]
        | None
    )
    target: str | None
    """Of a failed probe, else null."""
    threads: int | None
    unread_bytes: int | None
    waiting: int | None
    """Connections with requests that stand unread."""


class StalledReader(TypedDict):
    """`stalled-reader`: clients that do not read what the server sends.

    Server ESTABLISHED, Send-Q > 0, persist or retransmit timer.
    """

    bytes: int | None
    client: str | None
    connections: int | None
    server: str | None


class WorkerSaturation(TypedDict):
    """`worker-saturation`: worker threads that are all busy while operations wait."""

    busy: int | None
    connections_at_max_threads: int | None
    logged_busy: int | None
    logged_operations: int | None
    """Whose wait is in the access log; null: no log."""
    logged_queue: int | None
    """The most busy threads, and the longest queue, that the log reports; null: it reports none."""
    logged_queue_time: str | None
    """The beginning of the interval."""
    logged_waits: int | None
    """Of 134 ms or more."""
    longest_wait_seconds: float | None
    queued: int | None
    server: str | None
    threads: int | None


class ReplicaDiffers(TypedDict):
    """`replica-differs`: a server that answers searches in another way than the others with the same data.

    Per lacking index or server that takes longer; per setting; of the versions.
    """

    answered: int | None
    attributes: list[str] | None
    base: str | None
    differing_servers: int | None
    lost_seconds: float | None
    """Null: a setting or the version."""
    median_seconds: float | None
    others_median_seconds: float | None
    scope: str | None
    """Of the search that lost the most time; null: a setting or the version."""
    servers: list[str] | None
    setting: str | None
    """Null: of searches."""
    shape: str | None
    types: list[str] | None
    unindexed: int | None
    values: dict[str, str] | None


class UnevenLoad(TypedDict):
    """`uneven-load`: a server with much more than its share of the connections or operations.

    Per server.
    """

    connection_share: float | None
    even_share: float | None
    """Of the servers with load."""
    operation_share: float | None
    server: str | None
    spread_share: float | None
    """Of its connections, those of clients that use other servers, too."""
    time_share: float | None
    times_even: float | None
    """The larger of the first two."""
    working_servers: int | None
