"""Logs read by a cluster: the same bytes as read here, whatever dies meanwhile, and no report of a mixture."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

import cluster_tasks
from command import LDAPDIAG, LOGIN, Ran, ldapdiag
from conftest import CAPTURES
from fleet_logs import LoggedServer
from lab.dask_cluster import ANOTHER_GRAMMAR, DaskCluster, dask_cluster
from lab.object_store import s3_server
from ldapdiag.sources.cluster.addresses import cluster_address
from ldapdiag.sources.cluster.dask_executor import dask_executor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE = 300.0
SERVERS = 20
CONNECTIONS = 62_000
"""Of each server: 50 MB of log."""


@pytest.fixture(scope="module")
def fleet(laboratory, tmp_path_factory) -> Path:
    """Return a folder with the logs of 20 servers, 1 GB; some are compressed, one lacks an index, one is silent."""
    folder: Path = tmp_path_factory.mktemp("fleet")
    for number in range(SERVERS):
        server = LoggedServer(
            name=f"ds{number:02}",
            connections=CONNECTIONS,
            lacks_index=number == 3,
            silent=(1.0, 2.5) if number == 5 else None,
            clients=tuple(f"10.{number}.{client // 200}.{client % 200}" for client in range(300)),
        )
        server.write(folder)
        if number % 7 == 6:
            path = folder / server.name / "access"
            (folder / server.name / "access.gz").write_bytes(gzip.compress(path.read_bytes(), 1, mtime=0))
            path.unlink()
    return folder


@pytest.fixture(scope="module")
def read_here(fleet: Path) -> dict[str, Any]:
    """Return the report without a cluster."""
    report = ldapdiag("log", fleet, "--format", "json", timeout=PATIENCE).report
    assert report["lines"] > SERVERS * CONNECTIONS * 5
    return report


@pytest.fixture
def cluster(laboratory, tmp_path: Path) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path) as running:
        ready(running, 2)
        yield running


def ready(cluster: DaskCluster, workers: int) -> None:
    """Wait until so many workers are there."""
    until = time.monotonic() + PATIENCE
    while cluster.log.count("Register worker addr") < workers:
        assert time.monotonic() < until, cluster.log
        time.sleep(0.1)


def on_cluster(cluster: DaskCluster | str, *arguments: Any, command: str = "log", **settings: Any) -> Ran:
    address = cluster if isinstance(cluster, str) else str(cluster.file)
    settings = {"timeout": PATIENCE, **settings}
    return ldapdiag(command, *arguments, "--format", "json", "--quiet", "--cluster", address, **settings)


def same(on_cluster: dict[str, Any], here: dict[str, Any]) -> None:
    """Compare reports whose only difference is who has read the logs."""
    work = on_cluster["cluster"]
    assert work["engine"] == "dask"
    assert work["tasks"] > 0
    assert here["cluster"] is None
    assert json.dumps({**on_cluster, "cluster": None}) == json.dumps(here)


def test_twenty_servers(cluster: DaskCluster, fleet: Path, read_here: dict[str, Any]) -> None:
    ran = on_cluster(cluster, fleet)
    assert (ran.code, ran.complaints) == (0, [])
    same(ran.report, read_here)
    assert ran.report["cluster"]["workers"] == 2


def test_processes_of_this_machine(fleet: Path, read_here: dict[str, Any]) -> None:
    ran = on_cluster("local:2", fleet)
    assert (ran.code, ran.complaints) == (0, [])
    same(ran.report, read_here)


def test_every_capture(laboratory: object) -> None:
    ran = on_cluster("local:2", CAPTURES)
    here = ldapdiag("log", CAPTURES, "--format", "json", "--quiet", timeout=PATIENCE)
    assert ran.code == here.code
    same(ran.report, here.report)
    assert len(ran.report["streams"]) > 10


def started(cluster: DaskCluster, *arguments: Any) -> subprocess.Popen[bytes]:
    """Start a run on the cluster, and return it when the workers have begun."""
    command = [*LDAPDIAG, "log", *map(str, arguments), "--format", "json", "--quiet", "--cluster", str(cluster.file)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=LOGIN)
    with dask_executor(cluster_address(str(cluster.file))) as watching:
        until = time.monotonic() + PATIENCE
        while True not in watching.ask_each(cluster_tasks.begun).values():
            assert time.monotonic() < until
            assert running.poll() is None, running.communicate()
            time.sleep(0.01)
    return running


def ended(running: subprocess.Popen[bytes]) -> Ran:
    out, err = running.communicate(timeout=PATIENCE)
    assert b"Traceback" not in err, err.decode()
    return Ran(running.returncode, out, err)


def test_a_worker_that_is_killed_changes_nothing(cluster: DaskCluster, fleet: Path, read_here: dict[str, Any]) -> None:
    running = started(cluster, fleet)
    with dask_executor(cluster_address(str(cluster.file))) as watching:
        os.kill(int(next(iter(watching.ask_each(os.getpid).values()))), signal.SIGKILL)  # type: ignore[call-overload]
    ran = ended(running)
    assert (ran.code, ran.complaints) == (0, [])
    same(ran.report, read_here)
    assert ran.report["cluster"]["retried"] > 0


def frozen(cluster: DaskCluster) -> None:
    """Freeze a worker."""
    with dask_executor(cluster_address(str(cluster.file))) as watching:
        os.kill(int(next(iter(watching.ask_each(os.getpid).values()))), signal.SIGSTOP)  # type: ignore[call-overload]


def test_a_frozen_worker_changes_nothing(cluster: DaskCluster, fleet: Path, read_here: dict[str, Any]) -> None:
    running = started(cluster, fleet)
    frozen(cluster)
    began = time.monotonic()
    ran = ended(running)
    assert (ran.code, ran.complaints) == (0, [])
    same(ran.report, read_here)
    assert time.monotonic() - began < 120


def test_ctrl_c_ends_a_run_with_a_frozen_worker(cluster: DaskCluster, fleet: Path, read_here: dict[str, Any]) -> None:
    running = started(cluster, fleet)
    frozen(cluster)
    running.send_signal(signal.SIGINT)
    began = time.monotonic()
    ran = ended(running)
    assert ran.code == 130
    assert time.monotonic() - began < 30
    report = ran.report
    assert report["stopped"]
    assert report["lines"] < read_here["lines"]
    assert all("run it again without an interruption" in gap["how"] for gap in report["gaps"])


def test_a_lost_scheduler_is_an_error_without_a_report(cluster: DaskCluster, fleet: Path) -> None:
    running = started(cluster, fleet)
    assert cluster.scheduler is not None
    os.kill(cluster.scheduler.pid, signal.SIGKILL)
    ran = ended(running)
    assert (ran.code, ran.out) == (2, b"")
    (complaint,) = ran.complaints
    assert "the connection to the scheduler was lost" in complaint


def test_ctrl_c_reports_what_is_whole(cluster: DaskCluster, fleet: Path, read_here: dict[str, Any]) -> None:
    running = started(cluster, fleet)
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    began = time.monotonic()
    ran = ended(running)
    assert ran.code == 130
    assert time.monotonic() - began < 60
    if ran.out:
        assert ran.report["stopped"]
        assert ran.report["lines"] < read_here["lines"]
        for kind, count in ran.report["operations"].items():
            assert count <= read_here["operations"][kind]


def test_one_worker_with_another_grammar_is_refused(cluster: DaskCluster, fleet: Path) -> None:
    cluster.start_worker(preload=ANOTHER_GRAMMAR)
    ready(cluster, 3)
    ran = on_cluster(cluster, fleet)
    assert (ran.code, ran.out) == (2, b"")
    (complaint,) = ran.complaints
    assert "1 worker (tcp://127.0.0.1:" in complaint
    assert "grammar 1 (here " in complaint


def test_a_worker_that_does_not_see_the_logs_is_refused(cluster: DaskCluster, fleet: Path) -> None:
    hidden = f"mount -t tmpfs none {fleet} && exec "
    cluster.start_worker(before=("unshare", "-m", "sh", "-c", f'{hidden} "$0" "$@"'))
    ready(cluster, 3)
    ran = on_cluster(cluster, fleet)
    assert (ran.code, ran.out) == (2, b"")
    (complaint,) = ran.complaints
    assert "1 worker (tcp://127.0.0.1:" in complaint
    assert f"{fleet}/ds" in complaint
    assert "No such file or directory; mount the folder there under the same path (NFS)" in complaint


def test_objects_are_read_by_workers_with_credentials_of_their_own(laboratory, fleet: Path, tmp_path: Path) -> None:
    few = tmp_path / "few"
    for name in ("ds03", "ds06", "ds07"):
        shutil.copytree(fleet / name, few / name)
    for name in ("s3", "with", "without"):
        (tmp_path / name).mkdir()
    with ExitStack() as stack:
        store = stack.enter_context(s3_server(tmp_path / "s3"))
        store.put_folder(few, "few")
        allowed = stack.enter_context(dask_cluster(tmp_path / "with", environment=store.environment()))
        ready(allowed, 2)
        ran = on_cluster(allowed, "s3://logs/few/", environment=store.environment())
        assert (ran.code, ran.complaints) == (0, [])
        here = ldapdiag("log", "s3://logs/few/", "--format", "json", environment=store.environment(), timeout=PATIENCE)
        same(ran.report, here.report)
        assert "testsecret" not in allowed.log
        address = {key: value for key, value in store.environment().items() if not key.startswith("AWS_ACCESS")}
        other = stack.enter_context(
            dask_cluster(
                tmp_path / "without", environment=address | {"AWS_SECRET_ACCESS_KEY": "x", "AWS_ACCESS_KEY_ID": "y"}
            )
        )
        ready(other, 2)
        refused = on_cluster(other, "s3://logs/few/", environment=store.environment())
        assert (refused.code, refused.out) == (2, b"")
        (complaint,) = refused.complaints
        assert "give the workers credentials that may read it" in complaint
        assert "testsecret" not in complaint


def test_indexes_of_logs_on_a_cluster(cluster: DaskCluster, fleet: Path) -> None:
    few = [fleet / name for name in ("ds02", "ds03")]
    ran = on_cluster(cluster, *few, command="indexes")
    here = ldapdiag("indexes", *few, "--format", "json", timeout=PATIENCE)
    assert ran.code == here.code
    report, other = ran.report, here.report
    assert report["cluster"]["tasks"] > 0
    for one in (report, other):
        del one["cluster"], one["taken_at"], one["tool"]["arguments"]  # which name the cluster
    assert report == other
