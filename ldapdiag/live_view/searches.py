"""The searches of a live view: what a followed log has counted over its last minute, as rows; and who sends them.

A log is counted since the view began, and a minute is the difference of two counts. Its seconds are those of the
records: a server may write them in bursts (389-ds buffers up to 30 s), and the clock here may differ.
"""

from __future__ import annotations

import time
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.search_counts import changed, restored
from ldapdiag.evidence.log import tables
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.live_view.rates import MINUTE, SHORTEST
from ldapdiag.servers.traits import traits_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.log.search_counts import Changed, Counts
    from ldapdiag.analysis.log.workload import Workload
    from ldapdiag.sources.logs.log_watch import LogLook

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


class Kept(NamedTuple):
    """What an earlier look had counted: the last one kept whole, those before it as what changed after them."""

    beginning: int
    last_time: int
    operations: int
    left_out: int
    searches: Changed
    requesters: Changed


@dataclass(frozen=True)
class LastMinute:
    """The last minute of a log: from the first of the kept looks, or from the first counted record, to its last one."""

    look: LogLook
    kept: tuple[Kept, ...] = ()
    left_out: int = 0
    """Bytes of it that were not counted, at least: all numbers are lower bounds."""

    @property
    def now(self) -> Workload:
        """Return what has been counted since the log is followed."""
        return self.look.workload

    @cached_property
    def seconds(self) -> float:
        """Return how long it is, by the records."""
        begin = self.kept[0].last_time if self.kept else self.now.segment.first_time
        return ((self.now.segment.last_time or 0) - (begin or 0)) / SECOND

    @cached_property
    def rows(self) -> tuple[SearchRow, ...]:
        """Return the searches, the costliest first; none where the time is too short to tell."""
        if self.seconds < SHORTEST:
            return ()
        notes = bool(traits_of(self.now.family).unindexed_note)
        found = []
        for key, (count, etime, entries, unindexed) in self._added("searches").items():
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
        before = self.kept[0].operations if self.kept else 0
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
        found = self._added("requesters")
        asked = (Asked(*key, count, etime / SECOND, noted) for key, (count, etime, noted) in found.items() if count)
        return tuple(sorted(asked, key=lambda one: (-one.seconds, -one.searches, one)))

    def _added(self, what: str) -> Counts:
        """Return what was added to the searches, or to the requesters."""
        whole, *steps = [getattr(one, what) for one in reversed(self.kept)] or [{}]
        return _difference(getattr(self.look.searches, what), restored(whole, *steps))


class LogModel:
    """What is known of one server's log. Read and updated by the thread of the screen alone."""

    def __init__(self) -> None:
        self.minute: LastMinute | None = None
        self._kept: deque[Kept] = deque()

    def take(self, look: LogLook) -> None:
        """Take the latest counts."""
        if self._kept and self._kept[-1].beginning != look.beginning:
            self._kept.clear()
        kept, segment = self._kept, look.workload.segment
        last = segment.last_time or 0
        since = last - MINUTE * SECOND
        while len(kept) > 1 and kept[1].last_time <= since:
            kept.popleft()
        is_long = bool(kept) and kept[0].last_time <= since
        left_out = look.left_out - kept[0].left_out if kept else 0
        self.minute = LastMinute(look, tuple(kept) if is_long else (), left_out)
        if not kept or last - kept[-1].last_time >= APART * SECOND:
            self._keep(Kept(look.beginning, last, sum(segment.operations), look.left_out, *look.searches))

    def _keep(self, one: Kept) -> None:
        """Keep a look whole, and of the one before it what has changed since."""
        if self._kept:
            before = self._kept[-1]
            searches, requesters = (
                changed(getattr(one, what), getattr(before, what)) for what in ("searches", "requesters")
            )
            self._kept[-1] = before._replace(searches=searches, requesters=requesters)
        self._kept.append(one)

    def silent_seconds(self) -> float | None:
        """Return how long ago the last record was written; None: there is none."""
        last = self.minute and self.minute.now.segment.last_time
        return None if not last or not self.minute else time.time() + self.minute.look.ahead_seconds - last / SECOND

    @property
    def is_silent(self) -> bool:
        """Return whether its last minute is not the present one."""
        silent = self.silent_seconds()
        return silent is None or not -SILENT_SECONDS < silent < SILENT_SECONDS


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
