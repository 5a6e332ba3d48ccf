"""What a report does not depend on: the locale, the time zone, the clock, the names of files."""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path
from random import Random

import pytest

import examples
from command import diagnose
from incidents import GHOSTS, INCIDENTS

CASE = INCIDENTS / GHOSTS
TAKEN_AT = re.compile(rb'"taken_at": "[^"]*Z",\n "tool"')
PURE = ("ldapdiag/analysis", "ldapdiag/evidence", "ldapdiag/servers", "checks/ldapdiag_checks")
CLOCK_OR_PLACE = re.compile(
    r"(?<!def )\b(?:now|today|utcnow|localtime|strftime|strptime|fromtimestamp|ctime|getlocale|setlocale)\("
    r"|\bimport locale\b"
)
KNOWN_BY_NAME = ("captured", "fd")
"""Files of bare times and numbers keep what they are known by."""


def report(folder: Path, **environment: str) -> bytes:
    """Return the whole report, but for the moment it was made."""
    ran = diagnose(folder, "--format", "json", environment=environment)
    assert ran.code == 1
    shown, count = TAKEN_AT.subn(b'"tool"', ran.out)
    assert count == 1
    return shown


@cache
def usual() -> bytes:
    """Return the report as anybody gets it."""
    shown = report(CASE)
    assert b'"ghosts": 268' in shown
    return shown


@pytest.mark.parametrize("locale", examples.some(["tr_TR.UTF-8", "C", "ja_JP.eucJP"], 3))
def test_the_locale_changes_no_byte(locale: str) -> None:
    """Where a locale is not installed, Python falls back as it does for anybody who names it."""
    assert report(CASE, LC_ALL=locale, LANG=locale, LANGUAGE=locale) == usual()


@pytest.mark.parametrize("zone", examples.some(["America/St_Johns", "XYZ+11:30"], 2))
def test_the_time_zone_changes_no_byte(zone: str) -> None:
    assert report(CASE, TZ=zone) == usual()


@pytest.mark.parametrize("seed", examples.some(["0", "268"], 2))
def test_the_order_of_sets_changes_no_byte(seed: str) -> None:
    assert report(CASE, PYTHONHASHSEED=seed) == usual()


@pytest.mark.parametrize("root", PURE)
def test_no_module_that_judges_asks_for_the_clock_or_the_place(root: str) -> None:
    """So the year in which evidence is judged cannot matter; import-linter forbids `time` there."""
    modules = sorted((Path(__file__).parents[2] / root).rglob("*.py"))
    assert modules
    assert [str(path) for path in modules if CLOCK_OR_PLACE.search(path.read_text())] == []


def renamed(folder: Path, seed: int) -> dict[str, str]:
    """Copy the incident with every file named at random, and return the old names by the new ones."""
    chance = Random(seed)  # noqa: S311  names of files, no secret
    names = {}
    for path in sorted(path for path in CASE.rglob("*") if path.is_file()):
        kept = next((name for name in KNOWN_BY_NAME if name in path.name), "")
        name = f"{chance.randrange(16**8):08x}{chance.choice(['', '.log', '.DAT', '.ldif', '.csv'])}"
        new = folder / path.parent.name / (f"{kept}-{name}" if kept else name.replace("fd", "00"))
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, new)
        names[f"{path.parent.name}/{new.name}"] = f"{path.parent.name}/{path.name}"
    return names


def verdicts(folder: Path) -> list[tuple[object, ...]]:
    """Return every finding and verdict, but for where each was read."""
    told = diagnose(folder, "--format", "json").report
    found = [
        (one["id"], one["severity"], one["confidence"], one["hosts"], one["observed"], one["title"], one["remedies"])
        for one in told["findings"]
    ]
    return [*found, *((one["check"], one["subject"], one["outcome"]) for one in told["verdicts"])]


@pytest.mark.parametrize("seed", examples.some([3, 389], 2))
def test_the_names_of_files_change_no_verdict(tmp_path: Path, seed: int) -> None:
    names = renamed(tmp_path, seed)
    assert len(names) > 40
    old = diagnose(CASE, "--format", "json").report
    new = diagnose(tmp_path, "--format", "json").report
    for one in new["evidence"]:
        assert names[one["origin"]]
    assert sorted(names[one["origin"]] for one in new["evidence"]) == sorted(one["origin"] for one in old["evidence"])
    assert repr(verdicts(tmp_path)) == repr(verdicts(CASE))
