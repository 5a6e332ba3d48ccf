"""Growth of 1 % a night: each night is within the limit of a change, and it is reported all the same."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from ldapdiag.baseline.reading import report_of
from ldapdiag.catalogue import installed_checks
from ldapdiag.cli.judging import Baseline, compared
from ldapdiag.diagnosis import Diagnosis, diagnose
from ldapdiag.finding import Finding
from ldapdiag.report import as_json
from ldapdiag.report.changes import change_word
from ldapdiag.sources.gathering import gather
from nights import FIRST, Night

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

CHECK = "costly-search"
MANY = 400
"""Searches for each one that was drawn, so that chance hides nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    """Return the diagnosis of a night."""
    folder = tmp_path_factory.mktemp("growth")
    return diagnose(gather([str(Night(seed=1).write(folder))]), installed_checks())


@pytest.fixture(params=[30, pytest.param(90, marks=pytest.mark.long)])
def count(request: pytest.FixtureRequest) -> int:
    """Return the number of nights: enough for two changes, and in the laboratory for seven."""
    number: int = request.param
    return number


def slower(site: Diagnosis, factor: float) -> Diagnosis:
    """Return the diagnosis of a night of which the slow searches take so much longer."""

    def grown(observed: Mapping[str, Any]) -> dict[str, Any]:
        times = {key: factor * observed[key] for key in ("mean_seconds", "spread_seconds", "worst_seconds")}
        count = MANY * observed["searches"]
        return {**observed, **times, "searches": count, "etime_seconds": count * times["mean_seconds"]}

    judged = [
        replace(one, verdict=replace(one.verdict, observed=grown(one.verdict.observed)))
        if one.check == CHECK and isinstance(one.verdict, Finding)
        else one
        for one in site.judged
    ]
    return replace(site, judged=tuple(judged))


def nights(
    site: Diagnosis, folder: Path, count: int, *, growth: float = 1.01, accepts: bool
) -> Iterator[tuple[int, str, str]]:
    """Yield each night what became of the finding, by the report that the nightly script compares with."""
    kept = as_json.document(slower(site, 1.0), FIRST)
    for night in range(1, count + 1):
        before = Baseline(folder / "baseline.json", report_of(json.loads(as_json.render(kept))))
        now = compared(slower(site, growth**night), before)
        report = as_json.document(now, FIRST.astimezone(UTC) + timedelta(days=night))
        (finding,) = [one for one in report["findings"] if one["check"] == CHECK]
        yield night, finding["change"], change_word(finding)
        if report["baseline"]["covers_baseline"] and (accepts or finding["change"] != "worse"):
            kept = report


def test_it_is_reported_when_it_exceeds_the_limit_and_until_it_is_accepted(site, count, tmp_path) -> None:
    worse = {night: word for night, change, word in nights(site, tmp_path, count, accepts=False) if change == "worse"}
    first = min(worse)
    assert first in range(10, 14)
    assert list(worse) == list(range(first, count + 1))
    assert "on 2026-11-01" in worse[first]


def test_once_accepted_it_is_reported_again_only_after_as_much_growth(site, count, tmp_path) -> None:
    worse = [night for night, change, _ in nights(site, tmp_path, count, accepts=True) if change == "worse"]
    assert len(worse) >= 2
    assert all(later - earlier >= 10 for earlier, later in pairwise(worse))


def test_what_becomes_better_slowly_is_better_and_then_the_new_measure(site, count, tmp_path) -> None:
    changes = [change for _, change, _ in nights(site, tmp_path, count, growth=1 / 1.01, accepts=False)]
    assert set(changes) == {"same", "better"}
    assert changes.count("better") in range(count // 18, count // 9)
