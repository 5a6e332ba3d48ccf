"""A Dask cluster as an operator starts it: a scheduler that is lost, one that differs, and one that wants TLS."""

from __future__ import annotations

import os
import signal
import time
from importlib.util import find_spec
from threading import Event
from typing import TYPE_CHECKING

import dask.config
import pytest
from distributed import Client

import cluster_tasks
from lab.certificates import Authority
from lab.dask_cluster import ANOTHER_GRAMMAR, NO_LDAPDIAG, DaskCluster, dask_cluster
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.cluster.addresses import cluster_address
from ldapdiag.sources.cluster.dask_executor import DaskExecutor, dask_executor
from ldapdiag.sources.cluster.executor import ClusterError, ExecutorLostError, UndeliveredError
from ldapdiag.sources.cluster.worker_check import WorkersDifferError, check_workers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE = 60.0
DIFFERENT = [
    pytest.param(NO_LDAPDIAG, "cannot call ldapdiag", id="without ldapdiag"),
    pytest.param(ANOTHER_GRAMMAR, "grammar 1 ", id="another grammar"),
]


@pytest.fixture
def cluster(laboratory, tmp_path: Path) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path) as running:
        yield running


def wait_for_workers(executor: DaskExecutor, number: int) -> None:
    until = time.monotonic() + PATIENCE
    while executor.workers < number:
        assert time.monotonic() < until
        time.sleep(0.1)


def connected(cluster: DaskCluster) -> None:
    """Wait until the first worker is there."""
    until = time.monotonic() + PATIENCE
    while "Register worker addr" not in cluster.log:
        assert time.monotonic() < until, cluster.log
        time.sleep(0.1)


def refusal(cluster: DaskCluster, address: str = "") -> str:
    """Return why a cluster is refused."""
    with pytest.raises(ClusterError) as refused, dask_executor(cluster_address(address or cluster.address)):
        pass
    return str(refused.value)


def test_a_lost_scheduler_ends_the_run(cluster: DaskCluster) -> None:
    connected(cluster)
    with dask_executor(cluster_address(str(cluster.file))) as executor:
        wait_for_workers(executor, 2)
        assert executor.submit(cluster_tasks.total, 1, 2, label="first").result() == 3
        slow = executor.submit(cluster_tasks.after_a_while, 1, 60.0, label="slow")
        assert cluster.scheduler is not None
        os.kill(cluster.scheduler.pid, signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(ExecutorLostError, match="the connection to the scheduler was lost"):
            slow.result()
        for attempt in (executor.finished, lambda: executor.submit(cluster_tasks.total, label="more"), slow.result):
            with pytest.raises(ExecutorLostError):
                attempt()
        slow.cancel()
        slow.release()
    assert time.monotonic() - began < 20


def test_without_any_worker_left_the_run_ends(cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldapdiag.sources.cluster.dask_executor.WORKERS_WITHIN", 1.0)
    connected(cluster)
    with dask_executor(cluster_address(cluster.address)) as executor:
        wait_for_workers(executor, 2)
        slow = executor.submit(cluster_tasks.after_a_while, 1, 60.0, label="slow")
        for worker in cluster.workers:
            os.killpg(worker.pid, signal.SIGKILL)
        with pytest.raises(ExecutorLostError, match="no worker for 1 s; start workers"):
            slow.result()


@pytest.mark.parametrize("options", [(), ("--no-nanny",)], ids=["nanny", "no nanny"])
def test_the_tasks_and_results_of_a_frozen_worker_come_from_another(
    laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setattr("ldapdiag.sources.cluster.stuck_workers.SILENT_WITHIN", 3.0)
    with dask_cluster(tmp_path, workers=0) as cluster:
        for _ in range(2):
            cluster.start_worker(*options)
        connected(cluster)
        with dask_executor(cluster_address(cluster.address)) as executor:
            wait_for_workers(executor, 2)
            tasks = [executor.submit(cluster_tasks.after_a_while, number, label=f"{number}") for number in range(8)]
            total = executor.submit(cluster_tasks.total, *tasks, label="total")
            name, pid = next(iter(executor.ask_each(cluster_tasks.process).items()))
            assert isinstance(pid, int)
            os.kill(pid, signal.SIGSTOP)
            assert name not in executor.ask_each(cluster_tasks.process)
            assert total.result() == sum(range(8))
            if options:
                os.kill(pid, signal.SIGCONT)  # it delivers what it had, which no one takes
                time.sleep(2.0)
            assert [task.result() for task in (*tasks, total)] == [*range(8), sum(range(8))]
            assert executor.retried > 0


def test_a_task_that_hangs_on_one_worker_ends_on_another(
    cluster: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ldapdiag.sources.cluster.stuck_workers.UNKNOWN", 3.0)
    connected(cluster)
    with dask_executor(cluster_address(cluster.address)) as executor:
        wait_for_workers(executor, 2)
        began = time.monotonic()
        assert executor.submit(cluster_tasks.hangs_once, str(tmp_path / "mark"), label="hangs").result() > 0
        assert 3.0 < time.monotonic() - began < PATIENCE
        assert executor.retried == 1


def test_a_worker_with_tasks_or_results_of_another_client_is_never_given_up(
    cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ldapdiag.sources.cluster.stuck_workers.SILENT_WITHIN", -1.0)  # all are silent
    connected(cluster)
    with Client(cluster.address, set_as_default=False) as other:
        other.wait_for_workers(2)
        kept = other.map(cluster_tasks.after_a_while, range(2), seconds=5.0)
        with dask_executor(cluster_address(cluster.address)) as executor:
            tasks = [executor.submit(cluster_tasks.after_a_while, number, 2.0, label="") for number in range(4)]
            assert [task.result() for task in tasks] == list(range(4))
            assert executor.retried == 0
        assert other.gather(kept) == [0, 1]


def test_ctrl_c_waits_for_no_worker(cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldapdiag.sources.cluster.dask_executor.ENDS_WITHIN", 1.0)
    connected(cluster)
    stop = Event()
    with dask_executor(cluster_address(cluster.address), stop) as executor:
        wait_for_workers(executor, 2)
        tasks = [executor.submit(cluster_tasks.after_a_while, 1, 60.0, label="slow") for _ in range(2)]
        stop.set()
        began = time.monotonic()
        for task in tasks:
            with pytest.raises(UndeliveredError, match="no worker delivered these counts within 1 s"):
                task.result()
        assert executor.ask_each(cluster_tasks.after_a_while, 1, 60.0) == {}
    assert time.monotonic() - began < 10


def certificates_of(folder: Path, name: str) -> dict[str, str]:
    """Return the settings of Dask for certificates that an authority of this name has signed."""
    folder.mkdir()
    signed = Authority(folder, name).sign("localhost", "127.0.0.1", usage="serverAuth,clientAuth")
    settings = {"ca-file": signed.authority}
    for role in ("scheduler", "worker", "client"):
        settings |= {f"{role}.cert": signed.certificate, f"{role}.key": signed.key}
    return {f"distributed.comm.tls.{setting}": str(path) for setting, path in settings.items()}


def as_environment(settings: dict[str, str]) -> dict[str, str]:
    """Return settings of Dask as its environment variables."""
    return {f"DASK_{name.upper().replace('.', '__').replace('-', '_')}": value for name, value in settings.items()}


def test_tls_with_the_settings_of_dask(laboratory, tmp_path: Path) -> None:
    ours, others = (certificates_of(tmp_path / name, name) for name in ("ours", "others"))
    (place := tmp_path / "cluster").mkdir()
    with dask_cluster(place, "--protocol", "tls", workers=1, environment=as_environment(ours)) as cluster:
        connected(cluster)
        assert cluster.address.startswith("tls://")
        with dask.config.set(ours):
            with dask_executor(cluster_address(cluster.address)) as executor:
                assert executor.submit(cluster_tasks.total, 1, 2, label="total").result() == 3
            assert "whether it wants tls://" in refusal(cluster, cluster.address.replace("tls:", "tcp:"))
        for settings in ({}, others):
            with dask.config.set(settings):
                assert "check the address, and the certificates of distributed.comm.tls" in refusal(cluster)


def test_a_dashboard_is_announced_where_the_scheduler_draws_it(laboratory, tmp_path: Path) -> None:
    cluster = DaskCluster(tmp_path, {})
    try:
        cluster.start_scheduler("--dashboard-address", ":0")
        cluster.start_worker()
        connected(cluster)
        with dask_executor(cluster_address(cluster.address)) as executor:
            is_drawn = find_spec("bokeh") is not None
            assert bool(executor.dashboard) is is_drawn  # it serves a page in any case
            executor.client.run_on_scheduler(cluster_tasks.pretends_to_draw)
        with dask_executor(cluster_address(cluster.address)) as executor:
            assert executor.dashboard.endswith("/status")
    finally:
        cluster.end()


def test_a_scheduler_without_workers_is_refused(laboratory, tmp_path: Path) -> None:
    with dask_cluster(tmp_path, workers=0) as cluster:
        assert "no worker; start some: dask worker tcp://127.0.0.1:" in refusal(cluster)


@pytest.mark.parametrize(
    ("preload", "reason"), [(NO_LDAPDIAG, "cannot call ldapdiag"), (ANOTHER_GRAMMAR, "grammar 1 ")]
)
def test_a_scheduler_that_differs_is_refused(laboratory, tmp_path: Path, preload: str, reason: str) -> None:
    cluster = DaskCluster(tmp_path, {})
    try:
        cluster.start_scheduler("--no-dashboard", preload=preload)
        assert f"the scheduler: {reason}" in refusal(cluster)
    finally:
        cluster.end()


@pytest.mark.parametrize(
    ("preload", "reason"), [(NO_LDAPDIAG, "cannot call ldapdiag"), (ANOTHER_GRAMMAR, "grammar 1 ")]
)
def test_one_worker_that_differs_is_refused(cluster: DaskCluster, preload: str, reason: str) -> None:
    cluster.start_worker(preload=preload)
    connected(cluster)
    with dask_executor(cluster_address(cluster.address)) as executor:
        wait_for_workers(executor, 3)
        with pytest.raises(WorkersDifferError, match=rf"^1 worker \(tcp://127\.0\.0\.1:\d+\): {reason}"):
            check_workers(executor, Scanner.PYTHON, [])
