"""Real captures compared with themselves: whatever they are called and however they lie, nothing has changed.

With one file or one host less, nothing is gone or better: what is wrong there has not been repaired by hiding it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import examples
from command import INCIDENT, Ran, diagnose

CAPTURES = Path(__file__).parent.parent / "captures"
PLACES = [
    INCIDENT,
    CAPTURES / "incidents" / "6b-symmetric-leak",
    CAPTURES / "openldap" / "fd-exhaustion",
    CAPTURES / "openldap" / "storage-unsynced",
    CAPTURES / "389ds" / "hostile-filters",
    CAPTURES / "access-logs",
]


@pytest.fixture(params=PLACES, ids=lambda place: place.name)
def capture(request, tmp_path: Path) -> Path:
    """Return a copy of a capture that has findings."""
    place = tmp_path / request.param.name
    shutil.copytree(request.param, place)
    return place


def saved(place: Path) -> Path:
    """Diagnose a capture, and return the file of its report."""
    file = place.parent / "before.json"
    file.write_bytes(diagnose(place, "--format", "json").out)
    assert json.loads(file.read_bytes())["findings"]
    return file


def since(before: Path, *places: Path) -> Ran:
    """Compare a capture with an earlier report."""
    return diagnose(*places, "--baseline", before, "--fail-on-new", "--format", "json")


def has_changed(ran: Ran) -> set[str]:
    """Return the kinds of changes that there are."""
    return {change for change, count in ran.report["baseline"]["counts"].items() if count} - {"same"}


def test_nothing_has_changed_in_another_place(capture) -> None:
    before = saved(capture)
    for elsewhere in (capture, capture.parent / "another place" / f"x-{capture.name}"):
        elsewhere.parent.mkdir(exist_ok=True)
        capture.rename(elsewhere)
        ran = since(before, elsewhere)
        assert (ran.code, has_changed(ran)) == (0, set())
        elsewhere.rename(capture)


def test_nothing_has_changed_where_the_hosts_have_other_names(tmp_path) -> None:
    place = tmp_path / "incident"
    shutil.copytree(INCIDENT, place)
    before = saved(place)
    for old, new in (("ldap", "app1.new"), ("app1", "ldap2"), ("fw", "a-firewall"), ("app2", "zz")):
        (place / old).rename(place / new)
    ran = since(before, place)
    assert (ran.code, has_changed(ran)) == (0, set())


def test_nothing_has_changed_in_another_order(tmp_path) -> None:
    place = tmp_path / "incident"
    shutil.copytree(INCIDENT, place)
    ran = since(saved(place), *sorted((one for one in place.iterdir() if one.is_dir()), reverse=True))
    assert (ran.code, has_changed(ran)) == (0, set())


def test_without_any_one_file_or_host_nothing_is_gone_or_better(capture, tmp_path) -> None:
    before, hidden = saved(capture), tmp_path / "hidden"
    for one in examples.some(sorted(capture.rglob("*")), 3):
        one.rename(hidden)
        ran = since(before, capture)
        hidden.rename(one)
        if ran.out:
            assert not ran.report["baseline"]["gone"], one
            assert not ran.report["baseline"]["counts"]["better"], one
