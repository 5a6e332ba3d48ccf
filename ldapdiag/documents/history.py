"""The document of `ldapdiag history`: schema ldapdiag.history/1. Null: the evidence did not show it."""

from __future__ import annotations

from typing import Literal, TypedDict

from ldapdiag.evidence.history import SeverityName


class RecordedFinding(TypedDict):
    """A finding of a run; of one run at most the 1,000 most severe."""

    check: str
    severity: SeverityName
    id_sha256: str
    """The first 16 hexadecimal digits of the SHA-256 of its `id` in the report."""


class RecordedVolume(TypedDict):
    """The space of one volume of a server."""

    mount_point: str
    taken_at: str
    total_bytes: int
    free_bytes: int
    """For accounts without privileges."""


class ServerSummary(TypedDict):
    """The numbers of one server in one run; the CSV has a row for each."""

    name: str
    product: str
    """Product and version; empty: unknown."""
    taken_at: str
    connections: int | None
    connections_source: str
    joined: int | None
    """Connections that were looked up at the client."""
    ghosts: int | None
    stranded: int | None
    severed: int | None
    descriptors_used: int | None
    used_source: str
    descriptor_limit: int | None
    limit_source: str
    exhausted: int | None
    """Messages and measurements which show that the descriptors ran out."""
    growth_per_hour: float | None
    growth_source: str
    log_seconds: float | None
    """The time of its access logs."""
    opened: int | None
    binds: int | None
    searches: int | None
    search_seconds: float | None
    opens_per_second: float | None
    binds_per_second: float | None
    volumes: list[RecordedVolume]
    findings: list[RecordedFinding]


class Run(TypedDict):
    """One run of ldapdiag record."""

    taken_at: str
    """Of the latest evidence."""
    recorded_at: str
    version: str
    exit_code: int
    crashed: int
    """Checks that crashed."""
    counts: dict[SeverityName, int]
    """All findings of the run, by severity."""
    servers: list[ServerSummary]
    findings: list[RecordedFinding]
    """Those about no single server."""


class Lasting(TypedDict):
    """Findings of the last run, by check and by the run in which they began."""

    server: str | None
    """Null: about no single server."""
    check: str
    severity: SeverityName
    findings: int
    since: str
    """Since when every run has had them."""
    runs: int
    """How many."""


class Document(TypedDict):
    """The recorded runs."""

    schema: Literal["ldapdiag.history/1"]
    file: str
    servers: list[str]
    rows: int
    """Of the database."""
    rows_not_understood: int
    """With values that ldapdiag does not write; left out."""
    notes: list[str]
    runs: list[Run]
    """The latest last."""
    lasting: list[Lasting]
    """Those of the last run of each server, then those of none."""
