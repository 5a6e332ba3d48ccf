"""The example of a published check: another package's entry point adds its checks to ours."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from command import INCIDENT, ldapdiag

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
