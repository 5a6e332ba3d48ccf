"""Tasks on a Dask cluster: the only importer of distributed (extra `ldapdiag[dask]`), which is imported late.

The scheduler gives the tasks of a worker that died to others. This module adds which task has killed its workers,
which workers are stuck, whether the scheduler is still there, and that no line of Dask's own logs is printed. A lost
connection ends the run: the scheduler forgets the tasks of a client that is gone. What waits for an answer of a worker
waits in a thread of its own, so that Ctrl-C ends it.
"""

from __future__ import annotations

import gc
import logging
import sys
import time
import warnings
from concurrent import futures
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Generic
from uuid import uuid4

from ldapdiag.errors import UsageError
from ldapdiag.extras import install_command
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.cluster.executor import (
    MOMENT,
    SAME,
    CancelledTaskError,
    ClusterError,
    ExecutorLostError,
    T,
    TaskError,
    UndeliveredError,
    WorkersDiedError,
    difference,
    installation,
    labelled,
)
from ldapdiag.sources.cluster.stuck_workers import LOOKS_EVERY, TaskClock, give_up, states

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from distributed import Client, Future

    from ldapdiag.sources.cluster.addresses import ClusterAddress

CONNECTS_WITHIN = 20.0
"""Seconds in which a scheduler answers."""
CLOSES_WITHIN = 5.0
WORKERS_WITHIN = 60.0
"""Seconds without any worker after which none is expected any more."""
ENDS_WITHIN = 10.0
"""Seconds after Ctrl-C in which workers deliver what they have."""
SILENT = logging.CRITICAL + 1


@dataclass(slots=True)
class DaskTask(Generic[T]):
    """A task that a Dask scheduler knows."""

    label: str
    future: Future[T]
    executor: DaskExecutor
    _answer: futures.Future[T] | None = None
    """Its result, once it was asked for."""

    @property
    def done(self) -> bool:
        """Return whether it has ended."""
        return bool(self.future.done())

    @property
    def succeeded(self) -> bool:
        """Return whether it has ended with a result."""
        return bool(self.future.status == "finished")

    def fetch(self) -> futures.Future[T]:
        """Begin to get the result."""
        if self._answer is None:
            self._answer = _asked(self.future.result)
        return self._answer

    def result(self) -> T:
        """Return the result, and wait for it. Raise TaskError, or ExecutorLostError."""
        from distributed.client import FutureCancelledError  # noqa: PLC0415  an extra
        from distributed.scheduler import KilledWorker  # noqa: PLC0415

        try:
            return self.executor.waited(self.fetch(), ENDS_WITHIN)
        except _StoppedError:
            reason = f"reading was interrupted, and no worker delivered these counts within {ENDS_WITHIN:.0f} s"
            raise UndeliveredError(self.label, reason) from None
        except KilledWorker as error:
            label = self.executor.labels.get(str(error.task), self.label)
            reason = f"each worker that was given this task died or got stuck ({error.allowed_failures + 1} workers)"
            raise WorkersDiedError(label, reason) from None
        except (TaskError, ExecutorLostError):
            raise
        except FutureCancelledError:
            self.executor.check()
            raise CancelledTaskError(self.label, "the task was cancelled") from None
        except Exception as error:  # noqa: BLE001  a worker that lacks the function, or Dask itself
            self.executor.check()
            raise TaskError(self.label, f"{type(error).__name__}: {error}") from None

    def cancel(self) -> None:
        """Do not run it if it has not begun."""
        if not self.executor.is_lost:
            with suppress(OSError, TimeoutError):
                self.future.cancel()

    def release(self) -> None:
        """Forget the result."""
        self.executor.labels.pop(str(self.future.key), None)
        self.future.release()


@dataclass(slots=True)
class DaskExecutor:
    """Runs tasks on the workers of a Dask scheduler."""

    client: Client
    address: str
    """How the operator names the cluster."""
    stop: Event
    """Set by Ctrl-C."""
    retried: int = 0
    dashboard: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    """Labels of the tasks by Dask's keys."""
    _ended: SimpleQueue[DaskTask[Any]] = field(default_factory=SimpleQueue)
    _prefix: str = field(default_factory=lambda: uuid4().hex[:12])
    _submitted: int = 0
    _workers: int | None = None
    """None: to be asked for; -1: being asked for."""
    _without_workers: float | None = None
    """Since when there has been no worker (monotonic time)."""
    _stopped: float | None = None
    """When Ctrl-C was seen (monotonic time)."""
    _given_up: int = 0
    """Stuck workers until now: what was asked of them has no answer."""
    _clock: TaskClock = field(default_factory=TaskClock)
    _over: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self.client.subscribe_topic("all", self._take_event)
        Thread(target=self._watch, daemon=True, name="stuck workers").start()

    def close(self) -> None:
        """Look after no worker any more."""
        self._over.set()

    @property
    def is_lost(self) -> bool:
        """Return whether the scheduler has been lost."""
        return self.client.status != "running"

    def check(self) -> None:
        """Raise ExecutorLostError if the scheduler has been lost."""
        if self.is_lost:
            reason = "the connection to the scheduler was lost, and with it the results"
            raise ExecutorLostError(f"{self.address}: {reason}; run it again when the scheduler is back")

    @property
    def workers(self) -> int:
        """Return how many tasks can run at the same time; 0 while there is no worker."""
        known = self._workers
        if known is None or known < 0:
            self.check()
            self._workers = -1  # an event that comes meanwhile makes it None again
            with self._lost_on_error():
                known = sum(self.client.nthreads().values())
            if self._workers == -1:
                self._workers = known
        return known

    def submit(self, function: Callable[..., T], /, *arguments: object, label: str, size: int = 0) -> DaskTask[T]:
        """Begin a task. An argument that is a Task itself is replaced by its result, on the worker."""
        self.check()
        self._submitted += 1
        key = f"{function.__name__}-{self._prefix}{self._submitted:08x}"
        self.labels[key] = label
        given = [argument.future if isinstance(argument, DaskTask) else argument for argument in arguments]
        self._clock.begin(key, function.__name__, size, time.monotonic())
        with self._lost_on_error():
            future = self.client.submit(labelled, label, function, *given, key=key, pure=False)
        task: DaskTask[T] = DaskTask(label, future, self)
        future.add_done_callback(lambda _: self._end(task))
        return task

    def _end(self, task: DaskTask[Any]) -> None:
        self._clock.end(str(task.future.key), time.monotonic())
        self._ended.put(task)

    def finished(self) -> tuple[DaskTask[Any], ...]:
        """Return the tasks that have ended since the last call; wait for one for MOMENT seconds at most."""
        self.check_workers()
        several = []
        with suppress(Empty):
            several.append(self._ended.get(timeout=MOMENT))
            while True:
                several.append(self._ended.get_nowait())
        self.check()  # what was lost with the scheduler has ended, too
        return tuple(several)

    def ask_each(self, function: Callable[..., T], /, *arguments: object) -> Mapping[str, T | Exception]:
        """Call a function once in each worker, now; return the results, or the errors, by the address of the worker."""
        self.check()
        while not self.stop.is_set():
            given_up = self._given_up
            answer = _asked(lambda: self.client.run(function, *arguments, on_error="return"))
            with suppress(_StoppedError), self._lost_on_error():
                answers = self.waited(answer, is_over=lambda: self._given_up > given_up)  # noqa: B023  used here
                there = self.client.nthreads()
                return {name: one for name, one in answers.items() if name in there or not isinstance(one, OSError)}
        return {}

    def waited(self, answer: futures.Future[T], seconds: float = 0.0, is_over: Callable[[], bool] = lambda: False) -> T:
        """Return what was requested, however long it takes. Raise its errors, or ExecutorLostError.

        Raise _StoppedError so many seconds after Ctrl-C, or if the request `is_over`.
        """
        while not futures.wait([answer], MOMENT).done:
            self.check_workers()
            if self.stop.is_set():
                self._stopped = self._stopped or time.monotonic()
            if is_over() or (self._stopped and time.monotonic() - self._stopped >= seconds):
                raise _StoppedError
        return answer.result()

    def _watch(self) -> None:
        """Let stuck workers start again, or be forgotten: the scheduler then gives their tasks to others."""
        while not self._over.wait(LOOKS_EVERY) and not self.is_lost:
            with suppress(Exception):  # a scheduler that is lost is noticed where results are waited for
                workers = self.client.run_on_scheduler(states, self._prefix)
                if stuck := self._clock.stuck(workers, time.monotonic()):
                    self.client.run_on_scheduler(give_up, stuck)
                    self._given_up += len(stuck)

    def check_workers(self) -> None:
        """Raise ExecutorLostError if the scheduler is lost, or has had no worker for long: no task would ever end."""
        self.check()
        now = time.monotonic()
        if self.workers:
            self._without_workers = None
        elif self._without_workers is None:
            self._without_workers = now
        elif now - self._without_workers > WORKERS_WITHIN:
            reason = f"the cluster has had no worker for {WORKERS_WITHIN:.0f} s"
            raise ExecutorLostError(f"{self.address}: {reason}; start workers, and run it again")

    def _take_event(self, event: tuple[float, dict[str, Any]]) -> None:
        """Take an event of the scheduler: workers that come and go, with the tasks that have to be begun again."""
        match event[1]:
            case {"action": "remove-worker", "processing-tasks": running, "lost-computed-tasks": lost}:
                self.retried += sum(key in self.labels for key in (*running, *lost))
                self._workers = None
            case {"action": "add-worker"}:
                self._workers = None
            case _:
                pass

    @contextmanager
    def _lost_on_error(self) -> Iterator[None]:
        """Raise ExecutorLostError where a request fails because the scheduler is gone."""
        try:
            yield
        except OSError as error:  # CommClosedError, TimeoutError
            reason = f"the scheduler does not answer any more ({type(error).__name__})"
            raise ExecutorLostError(f"{self.address}: {reason}; run it again when the scheduler is back") from None


class _StoppedError(Exception):
    """What was requested is not waited for any more."""


def _asked(request: Callable[[], T]) -> futures.Future[T]:
    """Begin a request, however long it takes."""
    answer: futures.Future[T] = futures.Future()

    def ask() -> None:
        try:
            answer.set_result(request())
        except BaseException as error:  # noqa: BLE001  raised where the answer is waited for
            answer.set_exception(error)

    Thread(target=ask, daemon=True, name="request").start()
    return answer


@contextmanager
def dask_executor(address: ClusterAddress, stop: Event | None = None) -> Iterator[DaskExecutor]:
    """Connect to a cluster, or start processes, for as long as it is used. Raise UsageError without Dask.

    Raise ClusterError where no scheduler answers, or has no worker.
    """
    try:
        import distributed  # noqa: F401, PLC0415  an extra, and slow to import
    except ImportError:
        reason = "needs the library distributed, which is not installed"
        raise UsageError(f"--cluster {address}: {reason}; {install_command('dask')}") from None
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        options: dict[str, Any] = {"address": address.scheduler}
        if address.processes:
            cluster = stack.enter_context(_processes(address.processes))
            options = {"address": cluster, "security": cluster.security}
        client = _client(address, options)
        stack.callback(_close, client)
        if address.scheduler:
            _check_scheduler(client, address)
        executor = DaskExecutor(client, str(address), stop or Event(), dashboard=_dashboard(client, address))
        stack.callback(executor.close)
        if not executor.workers:
            raise ClusterError(f"{address}: the scheduler has no worker; start some: dask worker {address}")
        yield executor


def _client(address: ClusterAddress, options: dict[str, Any]) -> Client:
    """Return a connection. Raise ClusterError if there is none."""
    from distributed import Client  # noqa: PLC0415  an extra

    try:
        return Client(**options, set_as_default=False, timeout=CONNECTS_WITHIN)
    except (OSError, TypeError, ValueError) as error:  # TypeError: TLS without a certificate
        reason = _unreachable(address, error)
    gc.collect()  # ends the thread of the client that could not be made; later, the next one would wait for that
    raise ClusterError(reason)


@contextmanager
def _processes(number: int) -> Iterator[Any]:
    """Start a scheduler and worker processes on the loopback interface.

    They accept only the certificate that is made for this run: other users of the machine can reach the port.
    """
    import dask  # noqa: PLC0415  an extra
    from distributed import LocalCluster  # noqa: PLC0415
    from distributed.security import Security  # noqa: PLC0415

    try:
        security = Security.temporary()
    except ImportError:
        reason = "needs the library cryptography, which is not installed"
        raise UsageError(f"--cluster local:{number}: {reason}; {install_command('dask')}") from None
    with (
        TemporaryDirectory(prefix="ldapdiag-", ignore_cleanup_errors=True) as folder,
        dask.config.set({"temporary-directory": folder}),
        LocalCluster(
            n_workers=number,
            threads_per_worker=1,
            host="127.0.0.1",
            protocol="tls",
            security=security,
            dashboard_address=None,
            worker_dashboard_address=None,
            memory_limit=0,
            silence_logs=SILENT,
        ) as cluster,
    ):
        yield cluster


@contextmanager
def _quiet() -> Iterator[None]:
    """Write none of Dask's log lines and warnings to the terminal: what matters is an error, a gap or a count."""
    before = logging.root.manager.disable
    logging.disable(SILENT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable(before)


def _check_scheduler(client: Client, address: ClusterAddress) -> None:
    """Raise ClusterError if the scheduler has other versions: it unpickles each task before a worker does."""
    try:
        there: object = client.run_on_scheduler(installation)
    except Exception as error:  # noqa: BLE001  any error of the other side, as it was raised there
        there = error
    if found := difference(installation(), there):
        raise ClusterError(f"{address}: the scheduler: {found}; {SAME}")


def _dashboard(client: Client, address: ClusterAddress) -> str:
    """Return the address of the dashboard; a scheduler may have none, or serve it without the library that draws it."""
    with suppress(Exception):  # a scheduler without one, a template of the site that is wrong
        services = client.scheduler_info(n_workers=0)["services"]
        is_there = not address.processes and "dashboard" in services and client.run_on_scheduler(_draws)
        return str(client.dashboard_link or "") if is_there else ""
    return ""


def _draws() -> bool:
    """Return whether the scheduler, in whose process this is called, has the pages of its dashboard."""
    return "distributed.dashboard.scheduler" in sys.modules and "bokeh" in sys.modules


def _close(client: Client) -> None:
    with suppress(Exception):  # a scheduler that is gone
        client.close(timeout=CLOSES_WITHIN)


def _unreachable(address: ClusterAddress, error: Exception) -> str:
    if address.scheduler.startswith("tls:"):
        how = "check the address, and the certificates of distributed.comm.tls in Dask's settings"
    else:
        how = "check the address, whether the scheduler runs, and whether it wants tls://"
    kind = "no answer" if isinstance(error, OSError) else type(error).__name__
    return f"{address}: no connection to a scheduler ({kind}); {how}"
