"""The document of `ldapdiag log`: schema ldapdiag.log/1.

Times are ISO 8601 in UTC, durations seconds, shares 0 to 1. A client or an account that the log does not contain is
`unknown`, no account is `anonymous`. The schema and the tables of docs/contract.md are made of these types.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from ldapdiag.documents.common import Counts, From, Gap, Period
from ldapdiag.documents.log_connections import Connections, FailedBind, FailedBindGroup, Refused, Tls
from ldapdiag.documents.log_fleet import Fleet
from ldapdiag.documents.log_operations import (
    Failure,
    Notice,
    NotIndexed,
    OperationTimes,
    Searches,
    Target,
    Waits,
    Workers,
)
from ldapdiag.evidence.log.dialect import Scanner


class Left(TypedDict):
    """What was not read or not counted, and why."""

    target: str
    reason: str


class Stream(TypedDict):
    """One access log with its rotated files."""

    name: str
    dialect: str
    family: str
    files: list[str]
    server_processes: int
    """Starts of the server in it, and the run that was on when it begins."""
    peak: int
    """Connections open at once."""
    scanner: Scanner
    copies_left_out: list[Left]
    """Copies and other records of the same run."""


class Selection(TypedDict):
    """The conditions asked for; operations that meet all are counted."""

    clients: list[str]
    accounts: list[str]
    connections: list[int]
    shapes: list[str]
    codes: list[int]
    least_etime_seconds: float
    not_found: list[str]
    """A sentence for each client or account that is not in the logs."""
    connections_opened: int
    """By the clients asked for."""


class NoMatch(TypedDict):
    """That the log has no record of the period, or no operation of the selection; the exit code is that of a log."""

    asked: str
    """In words."""
    log_begins: str
    log_ends: str


class Line(TypedDict):
    """A line of a log."""

    file: str
    line: int
    """From 1, in the decompressed file."""
    text: str


class SlowestLines(TypedDict):
    """An operation with its lines (`--show-lines`)."""

    etime_seconds: float
    time: str
    connection: int | None
    operation: int | None
    lines: list[Line]


class WorstInterval(From):
    """The interval with the most search time."""

    searches: int
    search_seconds: float


class LeftOut(Period):
    """Records with a time far from all others: forged, or of a clock that was not set."""

    records: int


class Silence(Period):
    """A time without an answer that is unlikely: at the rate of the hour around it less than once in a million days."""

    seconds: float
    """At least: in a log of more than 20 hours it begins and ends at a multiple of 3 s or longer."""
    usual_per_second: float
    """Answers in the hour around it."""


class Timeline(Period):
    """Arrays with a value for each interval."""

    step_seconds: int
    """The smallest of 1, 5, 15, 60, 300, 900, 3600, 21600, 86400, 345600 … that gives at most 240 intervals."""
    operations: list[int]
    """With a result."""
    operation_seconds: list[float]
    searches: list[int]
    """With a result."""
    search_seconds: list[float]
    slow: list[int]
    """Operations of 1 s or longer."""
    failed_binds: list[int]
    opened: list[int]
    closed: list[int]
    open: list[int]
    """At the end of the interval."""
    results: dict[str, list[int]]
    """Code: an array."""
    busy_workers: NotRequired[list[int]]
    """The most in a result, where the log has them."""
    workers: NotRequired[int]
    queued: NotRequired[list[int]]
    worst: WorstInterval
    left_out: list[LeftOut]
    """Counted elsewhere, not in the arrays."""


class Unlisted(TypedDict):
    """What a row that is not listed took at most, and what a listed one may have in addition."""

    table: str
    """As in `caps_hit`."""
    most_seconds: float | None
    most: int | None
    """Connections, operations or requests."""


class Cluster(TypedDict):
    """The work of a cluster; except for this key a cluster gives the same bytes."""

    engine: str
    workers: int
    """Tasks that can run at once."""
    tasks: int
    retried: int
    """Begun again because a worker died or got stuck."""
    task_bytes: int
    """The largest."""
    read_here: list[str]
    """Streams that only this machine could open."""


class Document(TypedDict):
    """The report of ldapdiag log."""

    schema: Literal["ldapdiag.log/1"]
    scanner: Scanner
    """`native` if it read any stream; except for this key both give the same bytes."""
    cluster: Cluster | None
    streams: list[Stream]
    files_not_logs: list[Left]
    gaps: list[Gap]
    unreliable: list[str]
    """Why counts by connection are wrong: several servers write one log at once. Also in `remarks`."""
    remarks: list[str]
    logged: NotRequired[str]
    """Which searches the log has, where those alone are logged that reach a threshold (Active Directory)."""
    stopped: bool
    """Interrupted by Ctrl-C."""
    since: str | None
    """The period asked for, or null."""
    until: str | None
    selection: Selection | None
    """Null where all operations are counted."""
    no_match: NoMatch | None
    slowest_lines: list[SlowestLines]
    """The slowest first."""
    lines: int
    lines_not_understood: int
    lines_not_understood_samples: list[str]
    lost_lines: int
    """As reported by the log itself."""
    first_time: str | None
    """Without the records in `timeline.left_out`."""
    last_time: str | None
    time_zone: str | None
    """Null where the format has none; several are joined by `, `."""
    versions: list[str]
    """From headers and banners."""
    operations: Counts
    """Requests by kind: `bind unbind search modify add delete modrdn compare abandon extended`."""
    internal_operations: int
    results: Counts
    """Code: results."""
    whole_seconds: bool
    """All durations are whole seconds, as some servers write them."""
    holes: int
    """Jumps in operation numbers."""
    connections: Connections
    failed_binds: list[FailedBind]
    """The most first."""
    failed_bind_groups: list[FailedBindGroup]
    waits: Waits
    timeline: Timeline | None
    """Null without records."""
    silences: list[Silence]
    """The ten longest of 10 s or longer, the longest first; without those that recur, as nights."""
    operation_times: dict[str, OperationTimes]
    searches: Searches
    noticed: list[Notice]
    not_indexed: list[NotIndexed]
    caps_hit: list[str]
    """Tables that reached their limit; the cheapest rows are counted as `other`."""
    unlisted: list[Unlisted]
    fleet: Fleet | None
    """Null unless `--by server`."""
    targets: list[Target]
    failures: list[Failure]
    """The most first."""
    tls: Tls
    refused: list[Refused]
    workers: Workers | None
    """Null where the log does not report it."""
