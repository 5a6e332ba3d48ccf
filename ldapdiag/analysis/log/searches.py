"""Searches: the searches of a log by filter shape, base and scope: their time, and the clients and accounts.

Sorts: how the searches of one kind were sorted, by the keys that clients asked for (389-ds).

Stops: results of searches that a limit or a refusal stopped, by result code and notes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.quantiles import NO_TIMES, Quantiles, quantiles
from ldapdiag.analysis.log.spellings import (
    UNKNOWN_NAME,
    SpellingCounts,
    caseless,
    display_name,
    folded_dn,
    ranked_by_text,
    text,
)
from ldapdiag.analysis.log.trends import Trend, Trends
from ldapdiag.evidence.log.counting import REFUSED, UNSEEN_SEARCH
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.evidence.log.shape_row import ShapeRow
from ldapdiag.evidence.log.sorting import ALL, NO_VLV, UNLISTED
from ldapdiag.evidence.log.tables import OTHER
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from ldapdiag.analysis.log.time_axis import TimeAxis
    from ldapdiag.evidence.log.operation_row import OperationRow, ShapeKey
    from ldapdiag.evidence.log.reported_use import ReportedUse
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.evidence.log.sorting import Sorting

SCOPES = {0: "base", 1: "one", 2: "sub", 3: "subordinate"}
"""As `ldapsearch -s` has them, but for the last one's whole name (RFC 4511, 4.5.1.2, and its draft for the fourth)."""

ANY_SCOPE = -2
"""In the key of the searches below all bases."""
LATER_PAGE, FIRST_PAGE = "U,P", "P,A"
"""389-ds notes both on one unindexed paged search: the first page so, every later one so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """A client and an account that sent operations of one group. Times in nanoseconds."""

    client: str
    account: str
    count: int
    """Results."""
    etime: int
    noted: int
    """Results with a note."""
    refused: int = 0
    """Results with a code that means a limit or a refusal (counting.REFUSED)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowestOperation:
    """The slowest operation of a group. Times in nanoseconds."""

    etime: int
    time: int
    """Of its result in the log, since 1970."""
    connection: int | None
    operation: int | None
    """None where the log has no such numbers."""
    subject: str
    """The filter of a search, else the DN or the OID, as logged; empty if the request is not in the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchGroup:
    """The searches of one filter shape, base and scope; or of one filter shape below all its bases.

    Times in nanoseconds.
    """

    shape: str
    base: str
    """Empty also if there are several."""
    scope: str
    """Several are joined by a comma."""
    bases: int = 1
    count: int
    """Requests, pages included."""
    answered: int
    abandoned: int
    """Requests that an ABANDON ended before their result."""
    unanswered: int
    """Requests whose connection ended, or the log, before their result."""
    etime: int
    wait: int
    entries: int
    most_entries: int
    """The most in one complete result; -1: there was none."""
    most_limited: int
    """The most in one result that a limit cut off or that was a page of several; -1: there was none."""
    by_piece_lengths: Mapping[str, tuple[int, int, int, int]]
    """By the lengths of the substrings' pieces (evidence/filter_tree.py; empty: unknown), after `STOPPED_LENGTHS` where
    a limit or a refusal stopped the search: results, nanoseconds, results with a note, most entries of one result."""
    notes: Mapping[str, int]
    errors: Mapping[int, int]
    stops: Mapping[tuple[int, str], StopCount]
    """Results that a limit or a refusal stopped, by code and notes; they are in the other counts, too."""
    sorts: Mapping[str, SortCount]
    """Results that were to be sorted, by their keys (`-uidNumber cn`)."""
    reported: Mapping[ReportedIndexes, Visits]
    """Results by the indexes that the server says it used; empty where the log does not have them."""
    share: float
    """Of the time of all searches, 0 to 1."""
    etimes: Quantiles
    waits: Quantiles | None
    """Of the waits for a worker thread; None if the log has none. Likewise the times without them."""
    optimes: Quantiles | None
    trend: Trend | None
    """None if no search has a result."""
    slowest: SlowestOperation | None
    """None if no search has a result."""
    requesters: tuple[Requester, ...]
    """Of this filter shape with any base and scope; the most expensive first."""

    @property
    def no_result(self) -> int:
        """Requests without a result in the log; their time, client and account are not counted."""
        return self.unanswered + self.abandoned

    @property
    def unindexed(self) -> int:
        """The number noted as fully or partly unindexed; later pages of a search not counted."""
        return unindexed_of(self.notes)

    @property
    def unidentified(self) -> bool:
        """Return whether the requests are not in the log, or are the remainder of too many to be counted separately."""
        return self.shape == self.base == self.scope

    @property
    def mean(self) -> int:
        """The average time in nanoseconds."""
        return self.etime // self.answered if self.answered else 0

    @property
    def sorted_for_views(self) -> float:
        """Return how many entries were sorted on average if all results are virtual list views; else 0."""
        views = [each for each in self.sorts.values() if each.vlv]
        without_index = sum(each.count - each.by_index for each in views)
        if not without_index or sum(each.vlv for each in views) < self.answered:
            return 0.0
        return sum(each.candidates for each in views) / without_index

    @property
    def visited(self) -> int | None:
        """The entries that the server examined for all results; None where the log does not have it."""
        return sum(one.visited for one in self.reported.values()) if self.reported else None

    @property
    def place(self) -> str:
        """Return base and scope in words."""
        base = counted(self.bases, "base") if self.bases > 1 else self.base or "the root"
        return f"{base} ({self.scope})"


def is_unindexed(notes: str) -> bool:
    """Return whether a result's notes mean unindexed, fully or in part (389-ds A, U; OpenDJ and Ping unindexed)."""
    return not {"A", "U", "unindexed"}.isdisjoint(notes.split(","))


def unindexed_of(notes: Mapping[str, int]) -> int:
    """Return how many results have notes that mean unindexed, later pages of a search not counted."""
    later = notes.get(LATER_PAGE, 0) if FIRST_PAGE in notes else 0
    return sum(count for noted, count in notes.items() if is_unindexed(noted)) - later


def searches_of(segment: Segment, name: str) -> tuple[SearchGroup, ...]:
    """Return the searches of the filter shape with this name, as search_groups without requesters and trends."""
    folded = caseless(name.encode(errors="backslashreplace"))
    unseen = name == UNKNOWN_NAME
    return _ranked_groups(
        segment,
        None,
        None,
        lambda key: key,
        lambda shape: caseless(shape) == folded or (unseen and shape == UNSEEN_SEARCH[0]),
    )


def search_groups(segment: Segment, accounts: SpellingCounts | None, axis: TimeAxis | None) -> tuple[SearchGroup, ...]:
    """Return the searches of a log, the most expensive first, ties by text; `accounts` has the spellings.

    Without `accounts` they are without requesters, without `axis` without trends: both take most of the time.
    """
    return _ranked_groups(segment, accounts, axis, lambda key: key, lambda _: True)


def filter_totals(segment: Segment, accounts: SpellingCounts, axis: TimeAxis | None) -> tuple[SearchGroup, ...]:
    """Return the searches of each filter shape below all its bases, where there are several, with any scope but base.

    As search_groups; without what a full table counts with all others.
    """
    bases: dict[bytes, set[bytes]] = {}
    for shape, base, scope in segment.shapes:
        if _below_any_base((shape, base, scope))[2] == ANY_SCOPE:
            bases.setdefault(caseless(shape), set()).add(folded_dn(base))
    several = {shape for shape, different in bases.items() if len(different) > 1}
    if not several:
        return ()
    groups = _ranked_groups(segment, accounts, axis, _below_any_base, lambda shape: caseless(shape) in several)
    return tuple(group for group in groups if group.bases > 1)


def _below_any_base(key: ShapeKey) -> ShapeKey:
    shape, _, scope = key
    return (shape, b"", ANY_SCOPE) if scope in SCOPES and SCOPES[scope] != "base" else key


def _ranked_groups(
    segment: Segment,
    accounts: SpellingCounts | None,
    axis: TimeAxis | None,
    grouped: Callable[[ShapeKey], ShapeKey],
    is_wanted: Callable[[bytes], bool],
) -> tuple[SearchGroup, ...]:
    """Return the searches of the wanted filter shapes whose `grouped` keys are equal, as one group each."""
    shapes, bases = SpellingCounts(caseless), SpellingCounts(folded_dn)
    rows: dict[ShapeKey, ShapeRow] = {}
    members: dict[ShapeKey, set[ShapeKey]] = {}
    others: list[ShapeRow] = []
    for (shape, base, scope), row in segment.shapes.items():
        if not is_wanted(shape):
            others.append(row)
            continue
        member = (shapes.add(shape, row.requests), bases.add(base, row.requests), scope)
        key = grouped(member)
        rows.setdefault(key, ShapeRow(key)).merge_searches(row, segment.noted)
        members.setdefault(key, set()).add(member)
    requesters: dict[bytes, dict[tuple[str, str], list[int]]] = {}
    for (kind, shape, client, account, err), counts in segment.attribution.items() if accounts else ():
        if accounts is None or kind != SEARCH or not is_wanted(shape):
            continue
        names = (display_name(client), display_name(accounts.respelled(account)))
        requester = requesters.setdefault(shapes.add(shape, 0), {}).setdefault(names, [0, 0, 0, 0])
        for column, count in enumerate((*counts, counts[0] if err in REFUSED else 0)):
            requester[column] += count
    counted_rows = [*rows.values(), *others]
    total = sum(row.etime for row in counted_rows)
    trends = None if axis is None else Trends(axis, counted_rows, whole=not segment.shapes.full)
    groups = (
        _search_group(row, segment, total, trends, _place(members[key], shapes, bases), requesters.get(key[0], {}))
        for key, row in rows.items()
    )
    return tuple(sorted(groups, key=lambda group: (-group.etime, -group.count, group.shape, group.base, group.scope)))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnindexedNotice:
    """Unindexed searches of one filter shape, base and scope, as an errors log reports them.

    The access log may report the same searches: the two must not be added.
    """

    shape: str
    base: str
    scope: str
    internal: bool
    """Sent by the server itself."""
    count: int


def unindexed_notices(segment: Segment) -> tuple[UnindexedNotice, ...]:
    """Return the unindexed searches in an errors log, the most frequent first."""
    shapes, bases = SpellingCounts(caseless), SpellingCounts(folded_dn)
    counts: dict[tuple[ShapeKey, bool], int] = {}
    for ((shape, base, scope), internal), count in segment.noticed.items():
        key = ((shapes.add(shape, count), bases.add(base, count), scope), internal)
        counts[key] = counts.get(key, 0) + count
    notices = []
    for (search, internal), count in counts.items():
        shape_name, base_name, scope_name = names_of(search, shapes, bases)
        notices.append(
            UnindexedNotice(shape=shape_name, base=base_name, scope=scope_name, internal=internal, count=count)
        )
    return tuple(sorted(notices, key=lambda each: (-each.count, each.shape, each.base, each.scope, each.internal)))


def names_of(key: ShapeKey, shapes: SpellingCounts, bases: SpellingCounts) -> tuple[str, str, str]:
    """Return shape, base and scope of a folded key in words."""
    if key == UNSEEN_SEARCH:
        return (UNKNOWN_NAME,) * 3
    if key == (OTHER, OTHER, -1):
        return (text(OTHER),) * 3
    shape, base, scope = key
    return text(shapes.commonest(shape)), text(bases.commonest(base)), SCOPES.get(scope, UNKNOWN_NAME)


def _place(members: set[ShapeKey], shapes: SpellingCounts, bases: SpellingCounts) -> tuple[str, str, str, int]:
    """Return shape, base, scope and number of bases of the searches that are one group."""
    names = sorted(names_of(member, shapes, bases) for member in members)
    distinct = sorted({base for _, base, _ in names})
    scopes = ", ".join(sorted({scope for _, _, scope in names}))
    return names[0][0], distinct[0] if len(distinct) == 1 else "", scopes, len(distinct)


def _search_group(
    row: ShapeRow,
    segment: Segment,
    total: int,
    trends: Trends | None,
    place: tuple[str, str, str, int],
    requesters: Mapping[tuple[str, str], list[int]],
) -> SearchGroup:
    shape, base, scope, bases = place
    return SearchGroup(
        shape=shape,
        base=base,
        scope=scope,
        bases=bases,
        count=row.requests,
        answered=row.answered,
        abandoned=row.abandoned,
        unanswered=row.unanswered,
        etime=row.etime,
        wait=row.wait,
        entries=row.entries,
        most_entries=row.most_entries,
        most_limited=row.most_limited,
        by_piece_lengths={
            lengths.decode(): (counts[0], counts[1], counts[2], counts[3])
            for lengths, counts in row.substring_lengths.items()
        },
        notes=ranked_by_text(row.noted.items()),
        errors=dict(sorted(row.errors.items())),
        stops=stop_counts(row.stopped),
        sorts=sort_counts(row.sorts),
        reported=visits_by_index(row.reported),
        share=row.etime / total if total else 0.0,
        etimes=quantiles(row.etimes, row.worst[0], row.etime) or NO_TIMES,
        waits=quantiles(row.waits, segment.longest_wait[0], row.wait),
        optimes=quantiles(row.optimes, row.worst[0]),
        trend=trends.of(row) if trends else None,
        slowest=slowest_of(row),
        requesters=ranked_requesters(requesters),
    )


def slowest_of(row: OperationRow) -> SlowestOperation | None:
    """Return the slowest operation of a row; None if no operation has a result."""
    if not row.answered:
        return None
    etime, earlier, number, op, subject = row.worst
    return SlowestOperation(
        etime=etime,
        time=-earlier,
        connection=-number if number <= 0 else None,
        operation=-op if op <= 0 else None,
        subject=text(subject),
    )


def ranked_requesters(counts: Mapping[tuple[str, str], list[int]]) -> tuple[Requester, ...]:
    """Return (count, etime, noted, refused) by client and account as requesters, the most expensive first."""
    requesters = (
        Requester(client=client, account=account, count=count, etime=etime, noted=noted, refused=refused)
        for (client, account), (count, etime, noted, refused) in counts.items()
    )
    return tuple(sorted(requesters, key=lambda each: (-each.etime, -each.count, each.account, each.client)))


@dataclass(slots=True, kw_only=True)
class SortCount:
    """The results that were to be sorted by the same keys. Times in nanoseconds."""

    count: int = 0
    etime: int = 0
    unindexed: int = 0
    """Noted as wholly or partly unindexed; every virtual list view without an index is."""
    candidates: int = 0
    """Entries sorted in memory."""
    most_candidates: int = 0
    """Of one search."""
    unsorted: int = 0
    """Every entry was a candidate, so the server did not sort."""
    vlv: int = 0
    """Virtual list views."""
    by_index: int = 0
    """Virtual list views that a VLV index answered."""
    by_index_etime: int = 0
    vlv_errors: dict[int, int]
    """Virtual list views by their own result code, without success; a limit shows only here (11), not in the result."""

    def add(self, sorting: Sorting, cell: list[int]) -> None:
        """Add results of one way of sorting."""
        count, etime, unindexed, candidates, most = cell
        self.count += count
        self.etime += etime
        self.unindexed += unindexed
        self.candidates += candidates
        self.most_candidates = max(self.most_candidates, most)
        self.unsorted += count if sorting.candidates == ALL else 0
        if sorting.vlv == NO_VLV:
            return
        self.vlv += count
        if sorting.vlv:
            self.vlv_errors[sorting.vlv] = self.vlv_errors.get(sorting.vlv, 0) + count
        elif sorting.candidates == UNLISTED:
            self.by_index += count - unindexed
            self.by_index_etime += 0 if unindexed else etime


def sort_counts(sorts: Mapping[Sorting, list[int]]) -> dict[str, SortCount]:
    """Return the sorts of a row by their keys, the most expensive first; keys empty: a view without result."""
    spellings = SpellingCounts(caseless)
    counts: dict[bytes, SortCount] = {}
    for sorting, cell in sorts.items():
        keys = spellings.add(sorting.keys, cell[0])
        counts.setdefault(keys, SortCount(vlv_errors={})).add(sorting, cell)
    ranked = sorted(counts.items(), key=lambda one: (-one[1].etime, -one[1].count, one[0]))
    return {text(spellings.commonest(keys)): count for keys, count in ranked}


class Visits(NamedTuple):
    """Results for which a server used the same indexes. Times in nanoseconds."""

    results: int
    etime: int
    entries: int
    """Returned."""
    visited: int
    """Entries that the server examined."""
    most_visited: int
    """For one result."""
    pages: int
    """Database pages looked at, and those read from the disk."""
    from_disk: int
    expected: int
    """Entries that the server expected of the used indexes before it looked."""


class ReportedIndexes(NamedTuple):
    """The indexes that a server used, and the attributes of the filter for which it could use none (lower case)."""

    indexes: tuple[str, ...]
    preventing: tuple[str, ...]


def visits_by_index(reported: Mapping[ReportedUse, list[int]]) -> dict[ReportedIndexes, Visits]:
    """Return the counts of a row by the reported indexes, the one with the most visited entries first."""
    ranked = sorted(reported.items(), key=lambda one: (-one[1][3], one[0]))
    return {
        ReportedIndexes(tuple(text(use.indexes).split()), tuple(text(use.preventing).split())): Visits(*cell)
        for use, cell in ranked
    }


class StopCount(NamedTuple):
    """Stopped results. Times in nanoseconds."""

    results: int
    etime: int
    wait: int
    entries: int
    most_entries: int
    """In one result: at least so many match."""


def stop_counts(stopped: Mapping[tuple[int, bytes], list[int]]) -> dict[tuple[int, str], StopCount]:
    """Return the stopped results of a row by code and notes."""
    return {(err, text(notes)): StopCount(*cell) for (err, notes), cell in sorted(stopped.items())}
