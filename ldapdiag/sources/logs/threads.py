"""Threads: parts scanned side by side by the native scanner, which lets go of the interpreter's lock while it works.

A scan goes on from part to part, for making a Segment of it costs as much as reading some megabytes. So parts go into
lanes: neighbouring stretches of plain files, or all that is decompressed one after the other.

    feeder     reads (and decompresses) the parts, and opens one lane after the other
    threads    each takes the next lane, scans its parts, and says what they add up to
    we         hear what the lanes say, in their order
"""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import replace
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Self, TypeVar

from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.logs import native
from ldapdiag.sources.logs.batches import MOST_FILES, Lane
from ldapdiag.sources.logs.parts import Sizes
from ldapdiag.sources.logs.records import whole_lines
from ldapdiag.sources.logs.scanning import MOMENT, PATIENCE, PartError, Scanned, explained

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from ldapdiag.sources.logs.border import Period
    from ldapdiag.sources.logs.native import Scan
    from ldapdiag.sources.logs.parts import Part, Stretch

One = TypeVar("One")

LEAST_BYTES = 16 << 20
"""Of plain files that are worth a lane of their own."""
MOST_BYTES = 1 << 30
"""Of plain files in one lane. Where Ctrl-C comes, only the first lane under way is of use."""
PARTS = 4
"""Of a full lane, so that the lanes become equally full from files of any size."""
SLACK = 1 << 20
"""Bytes by which parts may be larger than they should be."""

CARRIED_BYTES = 1 << 19
"""Of a part that is carried: it is still in the processor's cache when it is scanned."""


class Threads:
    """Scans parts in threads, with the native scanner."""

    scanner = Scanner.NATIVE

    def __init__(self, count: int, meanwhile: Callable[[], object] | None = None) -> None:
        """`meanwhile`: what else there is to do, once, in the thread that waits for the others."""
        self._count = count
        self._meanwhile = meanwhile
        self._lane_bytes = LEAST_BYTES
        self.held = (count + 2) * MOST_FILES

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End nothing: threads end with what they scan."""

    def sizes(self, total: int) -> Sizes:
        """Return how large the parts should be of a stream of so many bytes: each thread has as many lanes."""
        each = max(total // self._count, LEAST_BYTES)
        self._lane_bytes = each // -(-each // MOST_BYTES) + SLACK
        return Sizes(stretch=self._lane_bytes // PARTS, carried=CARRIED_BYTES)

    def scanned(self, parts: Generator[Part], period: Period | None, stop: Event) -> Generator[Scanned]:
        """Yield what the parts say, in order; PartError where one cannot be scanned."""
        run = _Run(self._count, self._lane_bytes, period, stop)
        threads = [Thread(target=run.work, name="scanning logs", daemon=True) for _ in range(self._count)]
        threads.append(Thread(target=run.feed, args=(parts,), name="parts of logs", daemon=True))
        for thread in threads:
            thread.start()
        try:
            if self._meanwhile is not None:
                self._meanwhile()
                self._meanwhile = None
            yield from run.told()
        finally:
            run.end()
            for thread in threads:
                thread.join(PATIENCE * MOMENT)


class _Run:
    """The parts of one stream, being scanned."""

    def __init__(self, count: int, lane_bytes: int, period: Period | None, stop: Event) -> None:
        self._count = count
        self._lane_bytes = lane_bytes
        self._period = period
        self._stop = stop
        self._over = Event()
        """Nobody listens any more."""
        self._watch = native.watch()
        self._lanes: Queue[Lane | BaseException | None] = Queue(count)
        """In order; None: there are no more."""
        self._waiting: Queue[Lane | None] = Queue()
        """Those that no thread has taken yet; None: a thread is to end."""
        self._given = self._carried = self._done = self._told = 0
        """Bytes of files: of all in lanes; of what was carried; of all we have heard of; of what we have told."""

    def end(self) -> None:
        """End all threads soon."""
        self._over.set()
        self._watch.stop()
        for _ in range(self._count):
            self._waiting.put(None)

    # -- the feeder

    def feed(self, parts: Generator[Part]) -> None:
        """Put the parts into lanes."""
        last: BaseException | None = None
        lane: Lane | None = None
        try:
            with closing(parts):
                for part in parts:
                    if self._over.is_set() or self._stop.is_set():
                        break
                    if lane is None or not lane.takes(part, self._lane_bytes):
                        lane = self._opened(part, lane)
                    lane.count(part)
                    self._given += part.cost
                    self._put(lane.parts, part)
        except BaseException as error:  # noqa: BLE001  it is raised where the parts are used
            last = error
        if lane is not None:
            self._put(lane.parts, None)
        self._put(self._lanes, last)

    def _opened(self, first: Part, before: Lane | None) -> Lane:
        if before is not None:
            self._put(before.parts, None)
        lane = Lane(first.bare)
        self._put(self._lanes, lane)
        self._waiting.put(lane)
        return lane

    # -- a thread

    def work(self) -> None:
        """Scan the next lane, and the next."""
        while (lane := self._get(self._waiting)) is not None:
            try:
                with explained(lane.first), native.guarded():
                    for scanned in self._scanned(lane):
                        self._put(lane.said, scanned)
                self._put(lane.said, None)
            except BaseException as error:  # noqa: BLE001  it is raised where the parts are used
                self._put(lane.said, error)

    def _scanned(self, lane: Lane) -> Iterator[Scanned]:
        scan = native.scan(lane.first.dialect, lane.first.hints, self._period, self._count)
        part = lane.first
        shrunk: set[str] = set()
        untold = 0  # of stretches that ended well: their lane is not to wait until it is its turn to tell of them
        while (following := self._get(lane.parts, or_stop=True)) is not None:
            part = following
            if part.told in shrunk:
                untold += part.cost
                continue
            try:
                with explained(part), native.guarded():
                    if part.stretch is None:
                        scan.feed(whole_lines(part.data))
                        said = Scanned(part=part.bare, cost=part.cost)
                    else:
                        said = yield from self._stretch(scan, part, part.stretch)
            except PartError as error:
                if isinstance(error.__cause__, OSError):
                    yield _taken(scan, Scanned(part=lane.first))  # what came before is of use
                raise
            if said.ended or said.replaced or scan.is_over:
                yield _taken(scan, Scanned(part=lane.first))
                yield replace(said, ended=True)
                return
            if said.shrunk_at is not None:
                shrunk.add(part.told)
            if part.stretch is None or said.shrunk_at is not None or said.too_long:
                yield said
            else:
                untold += said.cost
            if scan.is_heavy:
                yield _taken(scan, Scanned(part=lane.first))
        yield _taken(scan, Scanned(part=lane.first, cost=untold, ended=self._stop.is_set()))

    def _stretch(self, scan: Scan, part: Part, stretch: Stretch) -> Generator[Scanned, None, Scanned]:
        """Scan a stretch of a file, and return how that ended."""
        at, end = stretch.start, stretch.start + stretch.length
        long: list[int] = []
        while True:
            begun = at
            read = scan.read(stretch.location, stretch.inode, at, end, self._watch)
            if read.to is None:
                return Scanned(part=part, replaced=True)
            at = read.to
            long += read.too_long
            stopped = self._stop.is_set() or self._over.is_set()
            if at >= end or read.shrunk or scan.is_over or stopped:
                break
            if at == begun and not scan.is_heavy:
                raise RuntimeError("the native scanner comes no further")
            yield _taken(scan, Scanned(part=part))
        from_log = part.at - stretch.start
        return Scanned(
            part=part,
            cost=part.cost,
            ended=stopped and at < end,
            shrunk_at=at + from_log if read.shrunk or stretch.shrunk else None,
            too_long=tuple(place + from_log for place in long),
        )

    # -- we

    def told(self) -> Generator[Scanned]:
        """Yield what the lanes say, in order, and in between how far they have come."""
        while (lane := self._get(self._lanes, or_stop=True)) is not None:
            if isinstance(lane, BaseException):
                raise lane
            yield from self._lane_told(lane)

    def _lane_told(self, lane: Lane) -> Generator[Scanned]:
        while True:
            try:
                scanned = lane.said.get(timeout=MOMENT)
            except Empty:
                if self._stop.is_set():
                    self._watch.stop()
                yield Scanned(part=lane.first, cost=self._came_on())
                continue
            if scanned is None:
                return
            if isinstance(scanned, BaseException):
                raise scanned
            self._done += scanned.cost
            if scanned.part.stretch is None:
                self._carried += scanned.cost
            yield replace(scanned, cost=self._came_on())

    def _came_on(self) -> int:
        """Return how many bytes have been read since this was asked last."""
        came = max(self._done, min(self._carried + self._watch.read, self._given), self._told)
        before, self._told = self._told, came
        return came - before

    # -- all

    def _put(self, queue: Queue[One], one: One) -> None:
        """Put something where it is waited for, unless nobody listens any more."""
        while not self._over.is_set():
            with suppress(Full):
                queue.put(one, timeout=MOMENT)
                return

    def _get(self, queue: Queue[One], *, or_stop: bool = False) -> One | None:
        """Return what comes next; nothing where there is no more, or nobody listens any more (or the reading stops)."""
        while not self._over.is_set():
            with suppress(Empty):
                return queue.get(timeout=MOMENT)
            if or_stop and self._stop.is_set():
                break
        return None


def _taken(scan: Scan, said: Scanned) -> Scanned:
    """Return what a scan has added up, with how it came to be told."""
    before, within = native.taken(scan)
    return replace(said, before=before, within=within)
