"""A Dask cluster as an operator starts it: a scheduler and workers, here all on the loopback interface."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STARTS_WITHIN = 60.0
TESTS = Path(__file__).parent.parent
PATHS = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
SCHEDULER = (sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0")
WORKER = (sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-dashboard")
ANOTHER_GRAMMAR = "import ldapdiag.evidence.log.dialects as dialects\ndialects.GRAMMAR_VERSION = 1\n"
"""What a worker runs first that reads logs as an older release does."""
NO_LDAPDIAG = """
import sys
for name in [name for name in sys.modules if name.startswith("ldapdiag")]:
    del sys.modules[name]
sys.modules["ldapdiag"] = None
"""
"""What a process runs first in which ldapdiag is not installed."""


@dataclass
class DaskCluster:
    """A running scheduler, and its workers."""

    folder: Path
    environment: Mapping[str, str]
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def file(self) -> Path:
        """Return the scheduler file."""
        return self.folder / "scheduler.json"

    @property
    def address(self) -> str:
        """Return the address of the scheduler."""
        address: str = json.loads(self.file.read_text())["address"]
        return address

    def start_scheduler(self, *options: str, preload: str = "") -> None:
        """Start the scheduler, and wait until it listens."""
        command = [*SCHEDULER, "--scheduler-file", str(self.file), *options]
        self.scheduler = self._start([*command, *self._preload(preload)])
        until = time.monotonic() + STARTS_WITHIN
        while not (self.file.exists() and self.file.read_text().rstrip().endswith("}")):  # it is written in steps
            assert time.monotonic() < until, self.log
            assert self.scheduler.poll() is None, self.log
            time.sleep(0.05)

    def start_worker(self, *options: str, preload: str = "", before: tuple[str, ...] = ()) -> None:
        """Start a worker, by a program `before` it; it connects later. Its nanny starts it again when it is killed."""
        places = ("--scheduler-file", str(self.file), "--local-directory", str(self.folder))
        self.workers.append(self._start([*before, *WORKER, *places, *options, *self._preload(preload)]))

    def _preload(self, code: str) -> list[str]:
        if not code:
            return []
        path = self.folder / f"preload{len(list(self.folder.iterdir()))}.py"
        path.write_text(code)
        return ["--preload", str(path)]

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": PATHS, **self.environment}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)

    @property
    def log(self) -> str:
        """Return what all processes have written."""
        return (self.folder / "log").read_text(errors="replace")

    def end(self) -> None:
        """End all processes: each has a process group of its own, with the nanny's child."""
        processes = [*self.workers, *([self.scheduler] if self.scheduler else [])]
        for process in processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def dask_cluster(
    folder: Path, *options: str, workers: int = 2, environment: Mapping[str, str] | None = None
) -> Iterator[DaskCluster]:
    """Run a scheduler, with more options of its own, and workers; 0: the caller starts them."""
    cluster = DaskCluster(folder, environment or {})
    try:
        cluster.start_scheduler("--no-dashboard", *options)
        for _ in range(workers):
            cluster.start_worker()
        yield cluster
    finally:
        cluster.end()
