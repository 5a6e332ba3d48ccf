"""Tasks in two processes of this machine: results, errors, workers that die."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

import cluster_tasks
from ldapdiag.errors import UsageError
from ldapdiag.sources.cluster.addresses import ClusterAddress
from ldapdiag.sources.cluster.dask_executor import DaskExecutor, dask_executor
from ldapdiag.sources.cluster.executor import CancelledTaskError, ClusterError, Task, TaskError, WorkersDiedError

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 60.0


@pytest.fixture(scope="module")
def executor() -> Iterator[DaskExecutor]:
    with dask_executor(ClusterAddress(processes=2)) as running:
        yield running


def ended(executor: DaskExecutor, number: int) -> list[Task[Any]]:
    """Return the next tasks that end."""
    several: list[Task[Any]] = []
    until = time.monotonic() + PATIENCE
    while len(several) < number:
        assert time.monotonic() < until
        several.extend(executor.finished())
    return several


def two_workers(executor: DaskExecutor) -> dict[str, int]:
    """Return the process of each worker, when both are there."""
    until = time.monotonic() + PATIENCE
    while len(processes := executor.ask_each(cluster_tasks.process)) < 2:
        assert time.monotonic() < until
        time.sleep(0.1)
    return {name: pid for name, pid in processes.items() if isinstance(pid, int)}


def test_a_task_takes_the_results_of_others(executor: DaskExecutor) -> None:
    tasks = [executor.submit(cluster_tasks.total, number, 1, label=f"{number}") for number in range(20)]
    total = executor.submit(cluster_tasks.total, *tasks, 1000, label="total")
    seen = ended(executor, 21)
    assert sorted(task.label for task in seen) == sorted([*(f"{number}" for number in range(20)), "total"])
    assert all(task.done for task in seen)
    assert (total.result(), [task.result() for task in tasks]) == (1210, list(range(1, 21)))
    for task in seen:
        task.release()
    assert executor.finished() == ()


def test_two_processes_work_beside_this_one(executor: DaskExecutor) -> None:
    assert executor.workers == 2
    assert len({*two_workers(executor).values(), os.getpid()}) == 3


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (cluster_tasks.fails, "ValueError: broken"),
        (cluster_tasks.fails_oddly, "UnpicklableError: one and another"),
    ],
)
def test_an_error_names_the_task_that_failed(executor: DaskExecutor, function: Any, reason: str) -> None:
    failing = executor.submit(function, label="access, bytes 0 to 10")
    taking = executor.submit(cluster_tasks.total, failing, 1, label="another")
    for task in (failing, taking):
        with pytest.raises(TaskError) as failed:
            task.result()
        assert (failed.value.label, str(failed.value)) == ("access, bytes 0 to 10", reason)
    ended(executor, 2)


def test_the_error_of_a_worker_is_in_its_answer(executor: DaskExecutor) -> None:
    answers = executor.ask_each(cluster_tasks.fails)
    assert [repr(answer) for answer in answers.values()] == ["ValueError('broken')"] * 2


@pytest.mark.long
def test_a_task_whose_worker_is_killed_is_begun_again(executor: DaskExecutor) -> None:
    before = executor.retried
    tasks = [executor.submit(cluster_tasks.after_a_while, number, label=f"{number}") for number in range(8)]
    first = ended(executor, 1)
    os.kill(next(iter(two_workers(executor).values())), signal.SIGKILL)
    assert [task.result() for task in tasks] == list(range(8))
    assert executor.retried > before
    assert len(two_workers(executor)) == 2
    ended(executor, 8 - len(first))


@pytest.mark.long
def test_a_task_that_kills_every_worker_is_named_and_the_others_go_on(executor: DaskExecutor) -> None:
    killing = executor.submit(cluster_tasks.kills_its_worker, label="access, bytes 10 to 20")
    taking = executor.submit(cluster_tasks.total, killing, label="another")
    for task in (killing, taking):
        with pytest.raises(WorkersDiedError, match="each worker that was given this task died or got stuck") as failed:
            task.result()
        assert failed.value.label == "access, bytes 10 to 20"
    two_workers(executor)
    assert executor.submit(cluster_tasks.total, 1, 2, label="after").result() == 3
    ended(executor, 3)


def test_a_cancelled_task_does_not_run(executor: DaskExecutor) -> None:
    two_workers(executor)
    busy = [executor.submit(cluster_tasks.after_a_while, number, label=f"{number}") for number in range(4)]
    waiting = executor.submit(cluster_tasks.kills_its_worker, label="waiting")
    taking = executor.submit(cluster_tasks.total, waiting, label="taking")
    waiting.cancel()
    for task in (waiting, taking):
        with pytest.raises(CancelledTaskError):
            task.result()
    before = executor.retried
    assert [task.result() for task in busy] == [0, 1, 2, 3]
    assert executor.retried == before
    ended(executor, 6)


def test_errors_of_tasks_travel() -> None:
    for error in (TaskError("label", "reason"), WorkersDiedError("label", "reason")):
        again = pickle.loads(pickle.dumps(error))  # noqa: S301  our own
        assert (type(again), again.label, str(again)) == (type(error), "label", "reason")


def test_no_process_and_no_file_remains(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with dask_executor(ClusterAddress(processes=1)) as running:
        (pid,) = running.ask_each(cluster_tasks.process).values()
        assert isinstance(pid, int)
        assert list(tmp_path.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not list(tmp_path.iterdir())


def test_where_no_scheduler_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldapdiag.sources.cluster.dask_executor.CONNECTS_WITHIN", 0.5)
    for address in ("tcp://127.0.0.1:1", "tls://127.0.0.1:1"):
        with (
            pytest.raises(ClusterError, match=f"{address}: no connection to a scheduler .*; check"),
            ExitStack() as all_,
        ):
            all_.enter_context(dask_executor(ClusterAddress(address)))


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"-m pip install .*\[dask\]'"), dask_executor(ClusterAddress(processes=1)):
        pass
