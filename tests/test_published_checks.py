"""The example of a published check: another package's entry point adds its checks to ours."""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING

import pytest

from command import INCIDENT, ldapdiag

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EXAMPLE = INCIDENT.parent / "acme_checks"
CHECK = "anonymous-connections"


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which the example is installed, as pip would record it."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    record = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    (name, target), *_ = project["entry-points"]["ldapdiag.checks"].items()
    (record / "entry_points.txt").write_text(f"[ldapdiag.checks]\n{name} = {target}\n")
    return {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(EXAMPLE)])}


def test_an_installed_package_adds_its_checks_after_ours(installed: dict[str, str]) -> None:
    ours, hint, _ = ldapdiag("checks").text.partition("\nWhat one ")

    before, heading, last = ldapdiag("checks", environment=installed).text.partition("\nother\n")

    assert (before, heading) == (ours, "\nother\n")
    assert hint
    assert last.startswith(f"  {CHECK} ")


def test_its_manual_page_and_its_verdicts_are_shown_like_ours(installed: dict[str, str]) -> None:
    page = ldapdiag("checks", CHECK, environment=installed).text
    report = ldapdiag(
        "diagnose", INCIDENT, "--check", CHECK, "--format", "json", "--fail-on", "never", environment=installed
    ).report

    assert "WHEN IT IS HARMLESS\n    Address books." in page
    assert [(one["check"], one["outcome"]) for one in report["verdicts"]] == [(CHECK, "clear")]


CHECK_THAT = '''
import sys
from collections.abc import Iterator
from ldapdiag.check import check
from ldapdiag.finding import Verdict

@check(group="other")
def judge() -> Iterator[Verdict]:
    """A check."""
    {}
    yield

CATALOGUE = (judge,)
'''


@pytest.fixture
def broken(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Return what makes an environment with a package whose only module is this text."""

    def made(text: str) -> dict[str, str]:
        record = tmp_path / "broken_checks-1.0.dist-info"
        record.mkdir()
        (record / "METADATA").write_text("Name: broken-checks\nVersion: 1.0\n")
        (record / "entry_points.txt").write_text("[ldapdiag.checks]\nbroken = broken_checks.lazy_check:CATALOGUE\n")
        (tmp_path / "broken_checks").mkdir()
        (tmp_path / "broken_checks" / "__init__.py").touch()
        (tmp_path / "broken_checks" / "lazy_check.py").write_text(text)
        return {"PYTHONPATH": str(tmp_path)}

    return made


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (CHECK_THAT.format("sys.exit(0)"), "SystemExit: 0 (package broken_checks)"),
        (CHECK_THAT.format("raise SystemExit"), "SystemExit: "),
        (CHECK_THAT.format("1 / 0"), "ZeroDivisionError: "),
        ("import no_such_module", "package broken-checks cannot be imported: ModuleNotFoundError"),
        ("import sys; sys.exit(0)", "package broken-checks cannot be imported: SystemExit"),
        ("CATALOGUE = 7", "package broken-checks cannot be imported: TypeError"),
    ],
)
def test_a_broken_package_is_a_crashed_check_and_never_an_all_clear(
    broken: Callable[[str], dict[str, str]], text: str, reason: str
) -> None:
    ran = ldapdiag("diagnose", INCIDENT, "--format", "json", "--fail-on", "never", environment=broken(text))
    crashed = [one["reason"] for one in ran.report["verdicts"] if one["outcome"] == "crashed"]
    assert (ran.code, len(crashed)) == (1, 1)
    assert reason in crashed[0]
    assert any(one["check"] == "ghost-connections" for one in ran.report["findings"])
