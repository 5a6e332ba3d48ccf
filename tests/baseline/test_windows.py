"""Windows of one traffic: what is cut longer or shorter is neither worse nor better, and a doubled rate is worse."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from ldapdiag.baseline.changes import FindingChange
from ldapdiag.baseline.comparison import compare
from ldapdiag.baseline.reading import report_of
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import diagnose
from ldapdiag.report import as_json
from ldapdiag.sources.gathering import gather
from nights import Night

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.baseline.changes import Changes
    from ldapdiag.baseline.reported import Reported

NUMBERS = {check.id: check.number for check in installed_checks() if check.number is not None}
CONNECTIONS_A_SECOND = 0.1


def window(seed: int, minutes: float, folder: Path, **rates: float) -> Reported:
    """Return the report on a window of the traffic."""
    seconds = 60 * minutes
    night = Night(seed=seed, seconds=seconds, connections=CONNECTIONS_A_SECOND * seconds, **rates)
    return reported(night.write(folder / f"{seed}-{minutes}-{rates}"))


def reported(evidence: Path) -> Reported:
    """Return the report on evidence, as the command writes it."""
    diagnosis = diagnose(gather([str(evidence)]), installed_checks())
    return report_of(as_json.document(diagnosis, datetime.now(UTC)))


def since(before: Reported, now: Reported) -> Changes:
    """Compare two reports."""
    return compare(before, now, NUMBERS, "before.json")


def changes(before: Reported, now: Reported, check: str) -> set[FindingChange]:
    """Return what became of the findings of a check."""
    return {one.change for key, one in since(before, now).findings.items() if key.startswith(f"{check}|")}


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> list[Reported]:
    """Return reports on windows of 17 to 200 minutes."""
    folder = tmp_path_factory.mktemp("windows")
    return [window(seed, 17 * 1.28**seed, folder) for seed in range(11)]


def test_the_same_traffic_is_neither_worse_nor_better(windows: list[Reported]) -> None:
    pairs = [since(*pair) for pair in permutations(windows, 2)]
    assert min(len(changed.findings) for changed in pairs) >= 3
    moved = [
        one
        for one in pairs
        if {FindingChange.WORSE, FindingChange.BETTER} & {each.change for each in one.findings.values()}
    ]
    assert len(moved) <= len(pairs) / 100


@pytest.fixture(scope="module", params=[(250, 200), (200, 400)])
def first_and_minutes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Reported, int]:
    """Return the report on a window, and of how many minutes the next one is."""
    minutes, later = request.param
    return window(1, minutes, tmp_path_factory.mktemp("first")), later


@pytest.mark.parametrize(
    ("check", "rates"),
    [
        ("costly-search", {"slow_share": 0.2}),
        ("costly-search", {"slow_seconds": 0.5}),
        ("failed-binds", {"refused_share": 0.2}),
        ("unclean-closes", {"unclean_share": 0.6}),
    ],
)
def test_a_doubled_rate_is_worse_whatever_the_window(check, rates, first_and_minutes, tmp_path) -> None:
    before, later = first_and_minutes
    now = window(2, later, tmp_path, **rates)
    assert changes(before, now, check) == {FindingChange.WORSE}
    assert changes(now, before, check) == {FindingChange.BETTER}
