"""What tests ask for: our captures, the shared corpus where it lies beside the checkout, and the laboratory."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

import examples
from lab.laboratory import Laboratory, need, required
from lab.topology import Topology
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.logs.native import VARIABLE
from log.scanners import need_native

TESTS = Path(__file__).parent
CAPTURES = TESTS / "captures"
CORPUS = TESTS.parent.parent / "shared" / "corpus"
PATIENCE = 600
"""Seconds that a test may take with what it is the first to ask for; the longest took 356 s at a load of 15."""
LONGEST_FIRST = (
    "test_experiments.py",
    "test_many_clients.py",
    "test_forecast.py",
    "test_two_databases.py",
    "test_top.py",
    "test_index_script_ds389.py",
    "test_index_closed_loop.py",
    "test_cluster_logs.py",
    "test_unresponsive.py",
    "test_severed.py",
    "test_client_gone.py",
    "test_styles.py",
    "test_storage_probe.py",
    "test_client_settings.py",
    "test_haproxy_legs.py",
    "test_incident.py",
    "test_predicted_times.py",
    "test_closed_loop.py",
    "test_idle_limits.py",
    "test_instances.py",
    "test_index_life.py",
    "test_dask_executor.py",
    "test_nightly_example.py",
    "test_house.py",
    "test_nights.py",
    "test_incidents.py",
    "test_output.py",
    "test_log.py",
    "test_separating.py",
    "test_anonymise.py",
    "test_index_answers.py",
    "test_comparison.py",
    "test_cluster_reading.py",
)
"""Files that take minutes, and of the desk those that take 10 s: begun last, one of them would run while the other
workers have nothing left to do."""
ONE_BY_ONE = frozenset({
    "test_experiments.py", "test_many_clients.py", "test_nightly_example.py", "test_house.py",
})  # fmt: skip
"""Files whose tests share nothing that is dear to make, and together take minutes: any worker takes the next test."""


class ByFile(LoadFileScheduling):
    """Give a worker all tests of a file, which share what is dear to make; of ONE_BY_ONE, single tests."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return nodeid if file.rpartition("/")[2] in ONE_BY_ONE else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Give tests to workers by file, whatever --dist says."""
    return ByFile(config, log)


@pytest.hookimpl(tryfirst=True)  # before the plugin of hypothesis, so that --hypothesis-profile wins
def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples property tests draw, and let the commands under test receive SIGINT.

    A shell without job control starts background jobs with SIGINT ignored, which every child process inherits.
    The width of the terminal, which pytest-xdist hands to its workers, is not that of the reports.
    """
    os.environ.pop("COLUMNS", None)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail(f"takes longer than {PATIENCE} s"))
    examples.load("ci" if required() else "desk", config.getoption("--hypothesis-seed"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort what takes long to the front; without --no-loadscope-reorder, pytest-xdist sorts by number of tests."""
    items.sort(key=lambda item: LONGEST_FIRST.index(item.path.name) if item.path.name in LONGEST_FIRST else PATIENCE)


def pytest_collection_finish() -> None:
    """Leave 16,000 tests and what they import out of every later collection of garbage, and collect seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """End a test that hangs, where it hangs."""
    signal.alarm(PATIENCE)
    try:
        return (yield)
    finally:
        signal.alarm(0)


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str) -> None:
    """End the run where a worker died: another one would begin with the same test, again and again."""
    pytest.exit(f"a worker died in {crashitem}", returncode=2)


def pytest_runtest_setup(item: pytest.Function) -> None:
    """Leave out the laboratory tier unless required: what asks for the fixture `laboratory`, or is marked `long`."""
    if not required() and ("laboratory" in item.fixturenames or item.get_closest_marker("long")):
        pytest.skip("left out, the laboratory tier: `make lab` (LDAPDIAG_REQUIRE_LAB=1)")


@pytest.fixture
def captures() -> Path:
    """Return the folder of our own captures."""
    return CAPTURES


@pytest.fixture
def corpus() -> Path:
    """Return the shared corpus; a test that asks for it is skipped, with the reason, where it does not exist."""
    if not CORPUS.is_dir():
        pytest.skip("the shared corpus is not beside this checkout (it is in CI)")
    return CORPUS


@pytest.fixture(params=[Scanner.PYTHON, pytest.param(Scanner.NATIVE, marks=pytest.mark.long)])
def scanner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Scanner:
    """Let this scanner read logs, here and in commands that are run: a test that asks for it runs with each.

    At the desk with the one in Python: tests/native compares what they say of every log we have.
    """
    used = Scanner(request.param)
    if used is Scanner.NATIVE:
        need_native()
    monkeypatch.setenv(VARIABLE, used)
    return used


@pytest.fixture(scope="session")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    """Return what the laboratory makes once in a run; a test that asks for it fails where there can be none."""
    need()
    return Laboratory(tmp_path_factory.mktemp("laboratory"))


@pytest.fixture
def topology(laboratory: Laboratory) -> Iterator[Topology]:
    """Return a running network of its own: ldap, app1 and app2 behind fw, and desk."""
    with Topology() as running:
        yield running
