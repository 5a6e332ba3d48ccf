"""A Dask cluster as an operator starts it: a scheduler that is lost, one that differs, and one that wants TLS."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import dask.config
import distributed  # noqa: F401  its defaults are settings, too
import pytest

import cluster_tasks
from lab.certificates import Authority
from lab.dask_cluster import ANOTHER_GRAMMAR, NO_LDAPDIAG, DaskCluster, dask_cluster
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.cluster.addresses import cluster_address
from ldapdiag.sources.cluster.dask_executor import DaskExecutor, dask_executor
from ldapdiag.sources.cluster.executor import ClusterError, ExecutorLostError
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
