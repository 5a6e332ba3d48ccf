"""Operations and searches with their times in the document of `ldapdiag log`."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from ldapdiag.documents.common import Counts, From, Period


class Failure(TypedDict):
    """Results with an error code; 0, 5, 6, 10 and 14 are no errors."""

    operation: str
    target: str
    """Of a search the filter shape."""
    client: str
    account: str
    err: int
    count: int
    etime_seconds: float


class Below(TypedDict):
    """Operations that waited less than so long, and not less than the edge before."""

    seconds: float
    count: int


class Waits(TypedDict):
    """The time that operations waited for a worker thread."""

    operations: int
    seconds: float
    etime_seconds: float
    """Of all operations."""
    longest_seconds: float | None
    """None where operations were selected: the longest wait is known of all alone."""
    longest_time: str | None
    below: list[Below]


class Workers(TypedDict):
    """The worker threads of the server, at their busiest."""

    busy: int
    threads: int
    busy_since: str
    """The interval in which most were busy."""
    busy_meanwhile: int
    """The most busy threads in the interval with the longest queue."""
    queued: int
    """The most operations that waited for a thread."""
    queued_since: str
    intervals: int
    """With a result that reports them."""
    seconds: float
    """Of one interval."""


class Quantiles(TypedDict):
    """Quantiles of durations, right within 4 %, and never above the worst."""

    count: int
    p50_seconds: float
    p95_seconds: float
    p99_seconds: float


class OperationTimes(TypedDict):
    """The times of one kind of operation; null where the log has none."""

    answered: int
    etime_seconds: float
    worst_seconds: float
    etime: Quantiles | None
    wtime: Quantiles | None
    """The wait for a worker thread."""
    optime: Quantiles | None
    """The time without that wait."""


class Requester(TypedDict):
    """A client and an account with their results, whatever the base and the scope."""

    client: str
    account: str
    count: int
    etime_seconds: float
    noted: int
    refused: NotRequired[int]
    """Results of codes 3, 11, 50 and 53, where there are some."""


class Slowest(TypedDict):
    """The slowest operation."""

    etime_seconds: float
    time: str
    """Of its result."""
    connection: int | None
    operation: int | None


class SlowestSearch(Slowest):
    """The slowest search."""

    filter: str


class SlowestTarget(Slowest):
    """The slowest operation of a target."""

    dn: str
    """Of the entry or the BIND, or the OID."""


class Series(From):
    """Results and their time; parts of the smallest power of two seconds that gives at most 16 for the whole log."""

    step_seconds: int
    answered: list[int]
    etime_seconds: list[float]


class Share(Period):
    """The time of these searches in a part of the log."""

    answered: int
    etime_seconds: float
    share: float
    """Of all search time then."""


class Step(TypedDict):
    """A time at which searches began to take more."""

    at: str
    """Estimated within a part of the series."""
    before: Share
    after: Share


class Growth(TypedDict):
    """The first and the last quarter of the series, or of its parts since `since`."""

    growing: bool
    """The time per hour at least doubled, and its ratio to that of all other searches too, with a share 5 % higher."""
    steady: bool
    """They are growing, and a straight line fits the series better than a step."""
    step: Step | None
    """Null if they are not growing, or none fits the series."""
    first: Share
    last: Share


class Sort(TypedDict):
    """Searches with a sort control (389-ds)."""

    keys: str
    """As logged: `-uidNumber cn`."""
    count: int
    """Results."""
    etime_seconds: float
    unindexed: int
    candidates: int
    """Sorted in memory."""
    most_candidates: int
    """Of one search."""
    unsorted: int
    """Too many to sort."""
    vlv: int
    """Virtual list views."""
    vlv_by_index: int
    """Of them, those that a VLV index answered."""
    vlv_errors: Counts
    """Code of the view, which the result's code may hide."""


class Kind(TypedDict):
    """What targets and filter shapes have in common."""

    count: int
    """Requests."""
    answered: int
    abandoned: int
    """By an ABANDON, before their result."""
    unanswered: int
    """The connection or the log ended before."""
    etime_seconds: float
    wait_seconds: float
    share: float
    """Of the time of all operations of the list."""
    p50_seconds: float | None
    """None where no operation has a result, as the next two."""
    p95_seconds: float | None
    p99_seconds: float | None
    entries: int
    errors: Counts
    requesters: list[Requester]


class Target(Kind):
    """Operations but searches, by what they are about; the most time first."""

    operation: str
    """`bind`, `modify`, `add`, `delete`, `modrdn`, `compare` or `extended`."""
    target: str
    """The DN of the entry without its naming values; of a BIND the mechanism, of an extended operation the OID."""
    name: str | None
    """Of a known OID."""
    worst: SlowestTarget | None


class Trend(TypedDict):
    """When searches came, and whether their time grows."""

    first_seen: str | None
    last_seen: str | None
    since: str | None
    """The first, where clearly within the log."""
    until: str | None
    """The last, where clearly within the log."""
    series: Series | None
    growth: Growth | None
    """Null for fewer than 10 results, quarters under a minute or without searches, or if a cap was hit."""


class UsedIndexes(TypedDict):
    """Searches for which the server says that it used the same indexes (Active Directory)."""

    indexes: list[str]
    """As logged; empty: the log does not have them."""
    preventing: list[str]
    """Attributes of the filter for which no index could be used, in lower case."""
    count: int
    etime_seconds: float
    entries: int
    visited: int
    most_visited: int
    """For one search."""
    pages: int
    """Database pages looked at."""
    pages_from_disk: int
    expected: int
    """Entries that the server expected of the indexes before it looked."""


class FilterShape(Kind, Trend):
    """Searches with one filter shape; the most time first."""

    shape: str
    scope: str
    """`base`, `one`, `sub` or `subordinate`; several of a filter are joined by `, `."""
    wtime: Quantiles | None
    optime: Quantiles | None
    notes: Counts
    unindexed: int
    clients: list[str]
    accounts: list[str]
    worst: SlowestSearch | None
    sorts: NotRequired[list[Sort]]
    visited: NotRequired[int]
    """Entries that the server examined, where the log has them."""
    pages: NotRequired[int]
    """Database pages that it looked at, and those of them that it read from the disk."""
    pages_from_disk: NotRequired[int]
    used_indexes: NotRequired[list[UsedIndexes]]
    """The most visited entries first."""


class Shape(FilterShape):
    """Searches with one filter shape below one base."""

    base: str


class Filter(FilterShape):
    """Searches with one filter shape and several bases, all of them together (scope `base` left out)."""

    base: None
    bases: int


class RequesterTotals(TypedDict):
    """The searches of one client, or of one account."""

    name: str
    count: int
    """Results."""
    etime_seconds: float
    noted: int
    connections: int | None
    """Of a client: opened; of an account: those whose last BIND was as this; null: the table was full (`other`)."""


class Searches(TypedDict):
    """Searches."""

    total: int
    """Requests, pages included."""
    logical: int
    """A paged search once."""
    unindexed: int
    """Noted so, wholly or in part; a paged one once."""
    etime_seconds: float
    noted: Counts
    """Notes: searches."""
    shapes: list[Shape]
    filters: list[Filter]
    by_client: list[RequesterTotals]
    """The most time first."""
    by_account: list[RequesterTotals]


class Notice(TypedDict):
    """Unindexed searches in an errors log of 389-ds: a second source, never to be added to `noted`."""

    shape: str
    base: str
    scope: str
    internal: bool
    count: int


class NotIndexed(TypedDict):
    """An attribute without an index (slapd at loglevel filter)."""

    attribute: str
    kind: str
    count: int
