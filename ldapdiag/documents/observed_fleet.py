"""What the checks of fleets observed."""

from __future__ import annotations

from typing import TypedDict


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
