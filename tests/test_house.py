"""The promises of the house: what holds for every file, whoever wrote it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ldapdiag.catalogue import installed_checks

HOUSE = Path(__file__).parent.parent
TOOLS = Path(sys.executable).parent
ROOTS = ("ldapdiag", "checks", "tests", "bench", "examples")
SOURCES = sorted(path for root in ROOTS for path in (HOUSE / root).rglob("*.py"))
README = (HOUSE / "README.md").read_text()

LONGEST_MODULE = 400
EMPTY_NAMES = ("utils", "helpers", "manager")
SUPPRESSION = re.compile(r"#\s*noqa(?P<rules>:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)?(?P<reason>.*)")


def named(path: Path) -> str:
    return str(path.relative_to(HOUSE))


@pytest.mark.parametrize("source", SOURCES, ids=named)
class TestEverySource:
    def test_fits_in_one_sitting(self, source: Path) -> None:
        assert len(source.read_text().splitlines()) <= LONGEST_MODULE

    def test_has_a_name_that_says_something(self, source: Path) -> None:
        assert not any(word in source.stem.split("_") for word in EMPTY_NAMES)

    def test_suppresses_no_rule_without_a_reason(self, source: Path) -> None:
        for line in source.read_text().splitlines():
            for found in SUPPRESSION.finditer(line):
                assert found["rules"], f"a bare noqa: {line.strip()}"
                assert re.search(r"\w+ \w+", found["reason"]), f"a noqa without its reason: {line.strip()}"


def test_the_imports_keep_to_their_layers() -> None:
    linted = subprocess.run([TOOLS / "lint-imports"], cwd=HOUSE, capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout + linted.stderr


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_the_readme_names_the_two_commands(command: str) -> None:
    assert command in README


def test_the_readme_shows_each_command_of_the_program() -> None:
    shown = subprocess.run([TOOLS / "ldapdiag", "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^\W*([a-z][a-z-]*)  ", shown.partition("Commands")[2], re.MULTILINE)
    assert "diagnose" in commands
    assert [name for name in commands if f"ldapdiag {name}" not in README] == []


def test_the_contract_has_a_row_for_each_check() -> None:
    contract = (HOUSE / "docs" / "contract.md").read_text()
    assert [check.id for check in installed_checks() if f"`{check.id}`" not in contract] == []


def test_the_example_is_small_enough_to_read() -> None:
    assert sum(path.stat().st_size for path in (HOUSE / "examples").rglob("*") if path.is_file()) < 400_000
