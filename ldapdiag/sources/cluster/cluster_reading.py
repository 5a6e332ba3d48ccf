"""Reading of access logs on a cluster: the tasks of all streams under way together, and one Segment of each stream.

A stream is a chain of folds over its tasks in their order (folding), so that the result does not depend on the cluster.
What only this machine can open is read here, by threads.

Cluster meter: the interface of a progress display for logs that a cluster reads.

Folding: the results of a stream's tasks become one Segment, in the order of the tasks, on the workers.

Each fold takes the state before it, so that a stream is a chain of folds in its own order, whatever ends first: tables
that are full keep the same rows for any number of workers. The counts of one batch are hundreds of times as large as
those of a whole stream (what is open at its ends, by connection), and to carry them costs as much as to scan them. So a
stream that is no more than a worker's share is read in series: each task continues the state of the one before it, and
other streams are read meanwhile. So are all streams of the reference, which reads records one after the other.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field
from itertools import islice, takewhile
from threading import Event
from typing import TYPE_CHECKING, Protocol, cast

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.cluster_work import ClusterWork
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.cluster.discovery import discovered
from ldapdiag.sources.cluster.executor import SAME, ClusterError, TaskError, UndeliveredError
from ldapdiag.sources.cluster.planning import Plan, is_remotely_readable, location_of
from ldapdiag.sources.cluster.scan_tasks import (
    AnotherInstallationError,
    ScanResult,
    ScanTask,
    check_installation,
    scan,
)
from ldapdiag.sources.cluster.scan_tasks import read as read_records
from ldapdiag.sources.cluster.worker_check import check_workers
from ldapdiag.sources.files.compressed import packed, unpacked
from ldapdiag.sources.logs import native
from ldapdiag.sources.logs.access_log import (
    Meter,
    NoMeter,
    ScannedLogs,
    ScannedStream,
    crash_gap,
    logs_among,
    no_cycles,
    period_within,
    read_result,
    total_bytes,
)
from ldapdiag.sources.logs.access_log import read_streams as read_here
from ldapdiag.sources.logs.log_files import LogFile
from ldapdiag.sources.logs.merging import Merging, Remarks
from ldapdiag.sources.logs.period import Period
from ldapdiag.sources.logs.scanning import ChunkError, Scanned, explained
from ldapdiag.sources.logs.stream_counts import counts_by
from ldapdiag.sources.logs.streams import streams_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

    from ldapdiag.sources.cluster.executor import Executor, Task
    from ldapdiag.sources.logs.asked_period import AskedPeriod
    from ldapdiag.sources.logs.streams import Stream

WINDOW = 4
"""Scans under way for each worker: enough to keep it busy, few for the scheduler."""
FOLDED = 8
"""Scans whose results one fold takes."""


def read(
    named: Sequence[str],
    executor: Executor,
    *,
    meter: ClusterMeter | None = None,
    period: AskedPeriod | None = None,
    zone: tzinfo | None = None,
    stop: Event | None = None,
    scanner: Scanner | None = None,
) -> ScannedLogs:
    """Read the access logs that the operator named, as access_log.read does. Raise ClusterError."""
    stop = stop or Event()
    found = discovered(named, executor, zone, stop)
    streams = streams_of(logs_among(found))
    within = None if period is None else period_within(period, streams, stop)
    done, work = read_streams(streams, executor, meter, within, stop, scanner)
    return ScannedLogs(
        streams=done,
        period=within or Period(),
        not_logs=tuple(one for one in found if not isinstance(one, LogFile)),
        stopped=stop.is_set(),
        cluster=work,
    )


def read_streams(
    streams: Sequence[Stream],
    executor: Executor,
    meter: ClusterMeter | None,
    period: Period | None,
    stop: Event,
    scanner: Scanner | None,
) -> tuple[tuple[ScannedStream, ...], ClusterWork]:
    """Scan the streams on the cluster, and return them in their order. Raise ClusterError."""
    meter = meter or NoClusterMeter()
    asked = native.chosen(scanner)
    remote = [stream for stream in streams if all(map(is_remotely_readable, stream.files))]
    here = [stream for stream in streams if not all(map(is_remotely_readable, stream.files))]
    check_workers(executor, asked, [location_of(file) for stream in remote for file in stream.files])
    meter.begin(total_bytes([file for stream in remote for file in stream.files]))
    with no_cycles():
        plans = [Plan(stream, period, asked) for stream in remote]
        most = sum(plan.bytes for plan in plans) // (2 * max(1, executor.workers) - 1)
        run = _Run(executor, meter, stop, [_Stream(plan, is_in_series=plan.bytes <= most) for plan in plans])
        run.work()
        for stream in run.streams:
            stream.deliver(executor)
        done = {id(stream.plan.stream): stream.read() for stream in run.streams}
    if here:
        done |= {id(one.stream): one for one in read_here(here, None, meter, period, stop, scanner)}
    return tuple(done[id(stream)] for stream in streams), run.done(here)


@dataclass(slots=True)
class _Scan:
    """A scan that was submitted."""

    planned: ScanTask
    task: Task[bytes]


@dataclass(slots=True)
class _Fold:
    """A fold that was submitted, and its scans, which are kept until it is done: one of them may have failed."""

    task: Task[bytes]
    scans: list[_Scan]


@dataclass(slots=True)
class _Stream:
    """The tasks of a stream under way."""

    plan: Plan
    is_in_series: bool
    """True if each task continues the state of the one before it."""
    state: Task[bytes] | None = None
    """The last fold that is done."""
    folds: deque[_Fold] = field(default_factory=deque)
    """Those that are not."""
    scans: list[_Scan] = field(default_factory=list)
    """Those of no fold yet."""
    failed: TaskError | None = None
    is_submitted: bool = False
    """True if its last task was submitted."""
    is_whole: bool = False
    """True if all of it is delivered."""

    def __post_init__(self) -> None:
        self.is_in_series |= self.plan.scanner is Scanner.PYTHON

    def fold(self, executor: Executor, scans: list[_Scan]) -> _Fold:
        """Submit the fold of scans that follow all others."""
        before = self.folds[-1].task if self.folds else self.state
        name = self.plan.stream.name
        arguments = [one.task for one in scans]
        plan = self.plan
        task = executor.submit(fold, name, plan.scanner, plan.period, before, *arguments, label=f"{name}: adding up")
        return _Fold(task, scans)

    def continued(self, executor: Executor, planned: ScanTask) -> _Fold:
        """Submit a task that reads the records that follow all others."""
        before = self.folds[-1].task if self.folds else self.state
        name = self.plan.stream.name
        return _Fold(executor.submit(scan_on, planned, name, before, label=planned.label, size=planned.effort), [])

    def settle(self) -> None:
        """Let go of the folds that are done, and of what they took."""
        while self.folds and self.folds[0].task.succeeded:
            done = self.folds.popleft()
            for one in done.scans:
                one.task.release()
            if self.state is not None:
                self.state.release()
            self.state = done.task
        if self.state is not None and self.is_submitted and not self.folds:
            self.state.fetch()

    def deliver(self, executor: Executor) -> None:
        """Begin to bring here what is whole: the records before the first task that failed or did not end."""
        self.settle()
        left = [*(one for folded in self.folds for one in folded.scans), *self.scans]
        whole = list(takewhile(lambda one: one.task.succeeded, left))
        self.is_whole = self.is_submitted and len(whole) == len(left) and all(folded.scans for folded in self.folds)
        self.folds.clear()
        if whole:
            self.folds.append(self.fold(executor, whole))
        for task in self._states():
            task.fetch()

    def _states(self) -> list[Task[bytes]]:
        """Return the last states of the stream, the one with most records first."""
        return [*(folded.task for folded in self.folds), *([self.state] if self.state else [])]

    def read(self) -> ScannedStream:
        """Return the stream as it was delivered."""
        folded = None
        for task in self._states():
            try:
                folded = FoldedStream.unpacked(task.result())
                break
            except TaskError as error:
                self.failed = self.failed or error
        reading = self._result(folded)
        reading.is_whole = self.is_whole and self.failed is None
        return reading

    def _result(self, folded: FoldedStream | None) -> ScannedStream:
        planned = [(number, 0, one) for number, one in self.plan.remarks]
        of_tasks = [(number, 1, one) for number, one in folded.remarks] if folded else []
        remarks = Remarks()
        for _, _, one in sorted([*planned, *of_tasks], key=lambda one: one[:2]):
            remarks.add(one)
        stream, scanner = self.plan.stream, self.plan.scanner
        if folded is None:
            counts = counts_by(scanner)
        else:
            folded.merging.finish()
            remarks.add(folded.merging.remarks)
            counts = folded.merging.counts
        if folded and folded.crash:
            remarks.gaps.append(crash_gap(stream.name, folded.crash, scanner))
        elif isinstance(self.failed, UndeliveredError):
            how = "run it again without an interruption; what was delivered before is counted"
            remarks.gaps.append(Gap(target=stream.name, reason=str(self.failed), how=how))
        elif self.failed:
            remarks.gaps.append(crash_gap(stream.name, f"{self.failed.label}: {self.failed}", scanner))
        return read_result(stream, scanner, counts, remarks)


class _Run:
    """All streams."""

    def __init__(self, executor: Executor, meter: ClusterMeter, stop: Event, streams: Sequence[_Stream]) -> None:
        self.streams = streams
        self._executor = executor
        self._meter = meter
        self._stop = stop
        self._scans: dict[int, tuple[_Stream, _Scan]] = {}
        """Scans under way, by the identity of their tasks."""
        self._folds: dict[int, tuple[_Stream, Task[bytes]]] = {}
        self._tasks = self._task_bytes = self._workers = 0

    def done(self, here: Sequence[Stream] = ()) -> ClusterWork:
        """Return what the cluster has done, and which streams were read here."""
        return ClusterWork(
            workers=self._workers,
            tasks=self._tasks,
            retried=self._executor.retried,
            task_bytes=self._task_bytes,
            read_here=tuple(stream.name for stream in here),
        )

    def work(self) -> None:
        """Submit all tasks in a window, and return when they have ended, or when reading is stopped."""
        waiting = self._submitted()
        is_left = True
        while not self._stop.is_set():
            now = self._executor.workers
            self._workers = max(self._workers, now)
            while is_left and len(self._scans) < WINDOW * max(1, now):
                is_left = next(waiting, False)
            if not self._scans and not self._folds:
                return
            for task in self._executor.finished():
                self._take(task)
            self._meter.work(self.done())
        for task in (*(one.task for _, one in self._scans.values()), *(task for _, task in self._folds.values())):
            task.cancel()

    def _submitted(self) -> Iterator[bool]:
        """Submit the tasks of all streams; yield True after each. Those in series come one of each in turn."""
        for stream in self.streams:
            if not stream.is_in_series:
                yield from self._submitted_of(stream)
        waiting = (self._submitted_of(stream) for stream in self.streams if stream.is_in_series)
        in_turn: deque[Iterator[bool]] = deque()
        while True:
            in_turn += islice(waiting, max(0, WINDOW * max(1, self._workers) - len(in_turn)))
            if not in_turn:
                return
            one = in_turn.popleft()
            if next(one, False):
                in_turn.append(one)
                yield True

    def _submitted_of(self, stream: _Stream) -> Iterator[bool]:
        for planned in stream.plan.tasks():
            if stream.is_in_series:
                stream.folds.append(stream.continued(self._executor, planned))
                one = _Scan(planned, stream.folds[-1].task)
            else:
                one = _Scan(planned, self._executor.submit(scan, planned, label=planned.label, size=planned.effort))
                stream.scans.append(one)
            self._scans[id(one.task)] = stream, one
            if len(stream.scans) == FOLDED:
                self._fold(stream)
            yield True
            if stream.failed:
                break
        if stream.scans:
            self._fold(stream)
        stream.is_submitted = True

    def _fold(self, stream: _Stream) -> None:
        one = stream.fold(self._executor, stream.scans)
        stream.folds.append(one)
        stream.scans = []
        self._folds[id(one.task)] = stream, one.task

    def _take(self, task: Task[object]) -> None:
        """Take a task that has ended."""
        self._tasks += 1
        if (fold := self._folds.pop(id(task), None)) is not None:
            fold[0].settle()
            return
        stream, one = self._scans.pop(id(task))
        self._meter.advance(one.planned.cost)
        self._task_bytes = max(self._task_bytes, one.planned.cost)
        if not one.task.succeeded and stream.failed is None:
            stream.failed = _error_of(one.task)
        stream.settle()


def _error_of(task: Task[bytes]) -> TaskError | None:
    """Return why a task failed. Raise ClusterError if its worker has another installation."""
    try:
        task.result()
    except AnotherInstallationError as error:
        raise ClusterError(f"a worker that joined later: {error}; {SAME}") from None
    except TaskError as error:
        return error
    return None


class ClusterMeter(Meter, Protocol):
    """Receives the bytes read, as for logs read here, and the state of the cluster."""

    def work(self, work: ClusterWork) -> None:
        """Show the tasks that have ended, those begun again, and the workers."""


class NoClusterMeter(NoMeter):
    """A progress display that shows nothing."""

    def work(self, work: ClusterWork) -> None:
        """Do nothing."""


@dataclass(slots=True)
class FoldedStream:
    """A stream, as far as it is folded."""

    merging: Merging
    taken: int = 0
    """Tasks."""
    remarks: list[tuple[int, Remarks]] = field(default_factory=list)
    """About the files of tasks, each with the number of the task."""
    crash: str = ""
    """Why the last task did not come to its end."""

    def packed(self) -> bytes:
        """Return it as bytes, whose size Dask knows."""
        return packed(self)

    @staticmethod
    def unpacked(data: bytes) -> FoldedStream:
        """Return the state that was packed. It comes from our own task."""
        return cast("FoldedStream", unpacked(data))

    def take(self, result: ScanResult) -> None:
        """Add the result of the next task."""
        number, self.taken = self.taken, self.taken + 1
        if self.merging.ended or self.crash:
            return
        lost = {gap.target for _, remarks in self.remarks for gap in remarks.gaps}
        result.remarks.gaps = [gap for gap in result.remarks.gaps if gap.target not in lost]
        self.remarks.append((number, result.remarks))
        for scanned in result.parts:
            if scanned.chunk.label in lost:
                continue  # another part of an object: its records do not adjoin those before the gap
            if self._ends_with(scanned):
                return
        self.crash = result.crash

    def scan(self, task: ScanTask) -> None:
        """Read the records of the next task."""
        number, self.taken = self.taken, self.taken + 1
        if self.merging.ended or self.crash:
            return
        lost = {gap.target for _, remarks in self.remarks for gap in remarks.gaps}
        result = ScanResult()
        self.remarks.append((number, result.remarks))
        try:
            for scanned in read_records(task, result):
                with explained(scanned.chunk):
                    if scanned.chunk.label not in lost and self._ends_with(scanned):
                        break
        except ChunkError as error:
            self.crash = str(error)
        result.remarks.gaps = [gap for gap in result.remarks.gaps if gap.target not in lost]

    def _ends_with(self, scanned: Scanned) -> bool:
        self.merging.take(scanned)
        return self.merging.ended


def scan_on(task: ScanTask, stream: str, state: bytes | None, /) -> bytes:
    """Return the state of a stream after the records of a task, on a worker.

    Raise AnotherInstallationError.
    """
    check_installation(task)
    with no_cycles():
        folded = _continued(stream, task.scanner, task.period, state)
        folded.scan(task)
        return folded.packed()


def _continued(stream: str, scanner: Scanner, period: Period | None, state: bytes | None) -> FoldedStream:
    if state is None:
        return FoldedStream(Merging(stream, counts_by(scanner), period))
    return FoldedStream.unpacked(state)


def fold(stream: str, scanner: Scanner, period: Period | None, state: bytes | None, /, *results: bytes) -> bytes:
    """Return the state of a stream after further results of scan tasks; `stream` is its name, for remarks."""
    with no_cycles():
        folded = _continued(stream, scanner, period, state)
        for result in results:
            folded.take(ScanResult.unpacked(result))
        return folded.packed()
