"""Nights of a site judged by the nightly example: it fails when something becomes worse, and at no other night."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nightly_site import Site
from nights import DEPLOYMENT, POOL, of_november

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.mark.parametrize("days", [range(8, 24), pytest.param(range(1, 31), marks=pytest.mark.long)])
def test_nights_of_a_month_have_two_alarms(site: Site, days: range) -> None:
    for day in days:
        site.judge(day, of_november(day))
    assert list(site.alarms) == [DEPLOYMENT, POOL]
    assert "search time per 1,000 operations (" in lines_on_changes(site.alarms[DEPLOYMENT])
    assert " s now, +" in lines_on_changes(site.alarms[DEPLOYMENT])
    assert "30 of the " in lines_on_changes(site.alarms[POOL])
    assert "(from a Saturday), and in the baseline" in site.printed[14]
    kept, latest = ((site.folder / "nightly" / f"{name}.json").read_bytes() for name in ("baseline", "latest"))
    assert kept == latest


def lines_on_changes(printed: str) -> str:
    """Return what is new or worse, from the end of what was printed, as one line."""
    last = [line for line in printed.splitlines()[:-1] if not line.startswith("nightly.sh:")]
    (begin,) = [place for place, line in enumerate(last) if line.startswith(("new ", "worse "))]
    return " ".join(line.strip() for line in last[begin:])
