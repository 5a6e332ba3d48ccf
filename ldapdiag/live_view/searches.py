"""The searches of a live view: what a followed log has counted over its last minute, as rows; and who sends them.

A log is counted since the view began, and a minute is the difference of two counts. Its seconds are those of the
records: a server may write them in bursts (389-ds buffers up to 30 s), and the clock here may differ.
"""

from __future__ import annotations

import time
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING

from ldapdiag.evidence.log import tables
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.live_view.rates import MINUTE, SHORTEST
from ldapdiag.servers.traits import traits_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.analysis.log.workload import Workload
    from ldapdiag.sources.logs.log_watch import LogLook

    Counts = Mapping[tuple[str, str, str], tuple[int, ...]]

SECOND = 1e9
"""Nanoseconds."""
APART = 20.0
"""Seconds between the counts that are kept: the last minute has 60 to 80 s."""
OTHER = tables.OTHER.decode()
"""What a full table calls all others."""
SILENT_SECONDS = 90.0
"""Without a record; every log has those of this view's own searches, buffered for 30 s at most."""


class SearchKey(NamedTuple):
    """The searches of one filter shape, base and scope."""

    shape: str
    base: str
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRow:
    """The searches of one kind that ended in the last minute of the log."""

    key: SearchKey
    count: int
    per_second: float
    load: float
    """Seconds of search time in each second."""
    mean_seconds: float
    entries: float
    """Of each result, on average."""
    unindexed: int | None
    """Noted as wholly or partly unindexed; None: this product notes nothing."""

    has_grown = False

    @property
    def wrong(self) -> int:
        """Return how many are known to be unindexed."""
        return self.unindexed or 0

    @property
    def name(self) -> str:
        """Return the filter shape."""
        return self.key.shape

    @property
    def others(self) -> tuple[str, ...]:
        """Return base and scope, as far as they are known."""
        return (f"{self.key.base or 'the root'} ({self.key.scope})",)


class Asked(NamedTuple):
    """The searches of one filter shape, whatever its base, from one client and account."""

    shape: str
    client: str
    account: str
    searches: int
    seconds: float
    noted: int
    """Results with a note."""


@dataclass(frozen=True)
class LastMinute:
    """The last minute of a log: from `before`, or from its first counted record, to its last one."""

    now: Workload
    before: Workload | None
    left_out: int = 0
    """Bytes of it that were not counted, because too many came at once: all numbers are lower bounds."""

    @cached_property
    def seconds(self) -> float:
        """Return how long it is, by the records."""
        begin = self.now.segment.first_time if self.before is None else self.before.segment.last_time
        return ((self.now.segment.last_time or 0) - (begin or 0)) / SECOND

    @cached_property
    def rows(self) -> tuple[SearchRow, ...]:
        """Return the searches, the costliest first; none where the time is too short to tell."""
        if self.seconds < SHORTEST:
            return ()
        notes = bool(traits_of(self.now.family).unindexed_note)
        found = []
        for key, (count, etime, entries, unindexed) in _difference(_searches(self.now), _searches(self.before)).items():
            if count:
                found.append(
                    SearchRow(
                        key=SearchKey(*key),
                        count=count,
                        per_second=count / self.seconds,
                        load=etime / SECOND / self.seconds,
                        mean_seconds=etime / SECOND / count,
                        entries=entries / count,
                        unindexed=unindexed if notes or unindexed else None,
                    )
                )
        return tuple(sorted(found, key=lambda row: (-row.load, -row.count, row.key)))

    @property
    def operations(self) -> float | None:
        """Return the operations of each second, those of the view included."""
        before = sum(self.before.segment.operations) if self.before else 0
        return (sum(self.now.segment.operations) - before) / self.seconds if self.seconds >= SHORTEST else None

    @cached_property
    def load(self) -> float | None:
        """Return the seconds of search time in each second."""
        return sum(row.load for row in self.rows) if self.seconds >= SHORTEST else None

    @cached_property
    def unindexed(self) -> int | None:
        """Return how many searches were noted as unindexed; None: not known."""
        noted = [row.unindexed for row in self.rows if row.unindexed is not None]
        return sum(noted) if noted else None

    @cached_property
    def asked(self) -> tuple[Asked, ...]:
        """Return who sent them, the costliest first."""
        found = _difference(_requesters(self.now), _requesters(self.before))
        asked = (Asked(*key, count, etime / SECOND, noted) for key, (count, etime, noted) in found.items() if count)
        return tuple(sorted(asked, key=lambda one: (-one.seconds, -one.searches, one)))


class LogModel:
    """What is known of one server's log. Read and updated by the thread of the screen alone."""

    def __init__(self) -> None:
        self.minute: LastMinute | None = None
        self._looks: deque[LogLook] = deque()

    def take(self, look: LogLook) -> None:
        """Take the latest counts."""
        if self._looks and self._looks[-1].beginning != look.beginning:
            self._looks.clear()
        now = look.workload
        since = _last(look) - MINUTE
        while len(self._looks) > 1 and _last(self._looks[1]) <= since:
            self._looks.popleft()
        before = self._looks[0] if self._looks and _last(self._looks[0]) <= since else None
        left_out = look.left_out - (before or self._looks[0] if self._looks else look).left_out
        self.minute = LastMinute(now, before.workload if before else None, left_out)
        if not self._looks or _last(look) - _last(self._looks[-1]) >= APART:
            self._looks.append(look)

    def silent_seconds(self) -> float | None:
        """Return how long ago the last record was written; None: there is none."""
        last = self.minute and self.minute.now.segment.last_time
        return None if not last else time.time() - last / SECOND

    @property
    def is_silent(self) -> bool:
        """Return whether its last minute is not the present one."""
        silent = self.silent_seconds()
        return silent is None or not -SILENT_SECONDS < silent < SILENT_SECONDS


def _last(look: LogLook) -> float:
    return (look.workload.segment.last_time or 0) / SECOND


def _searches(workload: Workload | None) -> Counts:
    return {
        (one.shape, one.base, one.scope): (one.answered, one.etime, one.entries, one.unindexed)
        for one in (workload.plain_searches if workload else ())
    }


def _requesters(workload: Workload | None) -> Counts:
    return {
        (search.shape, one.client, one.account): (one.count, one.etime, one.noted)
        for search in (workload.searches if workload else ())
        for one in search.requesters  # the same at each base of a shape
    }


def _difference(now: Counts, before: Counts) -> Counts:
    """Return what has been added. A full table moves rows to those of all others, where that is no addition."""
    every = {**before, **now}
    none = (0,) * len(next(iter(every.values()), ()))
    added = {
        key: [one - other for one, other in zip(now.get(key, none), before.get(key, none), strict=True)]
        for key in sorted(every, key=lambda key: key.count(OTHER))
    }
    for key, counts in added.items():
        if min(counts) < 0 and (wider := next((one for one in _wider(key) if one in added), None)):
            for place, count in enumerate(counts):
                added[wider][place] += min(0, count)
    return {key: tuple(max(0, count) for count in counts) for key, counts in added.items()}


def _wider(key: tuple[str, str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the rows to which a table may have moved this one, the first one first."""
    _, second, third = key
    wider = (OTHER, second, third), (OTHER, second, OTHER), (OTHER, OTHER, OTHER)
    yield from (one for one in wider if one.count(OTHER) > key.count(OTHER))
