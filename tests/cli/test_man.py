"""The manual page: every command and option of the help is in it, and mandoc and groff read it without a warning."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import LOGIN, ldapdiag
from ldapdiag import __version__
from ldapdiag.cli.commands import EXAMPLES, Panel
from ldapdiag.cli.exit_codes import EXIT_STATUS
from ldapdiag.cli.man import DATE, SPECIAL, escaped

CHANGELOG = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()

OF_TWO_KINDS = {"--fail-on", "--format", "-o, --output", "--table", "--since", "-v, --verbose"}
"""Options that have other values, or another effect, in each of several commands."""


@cache
def page() -> str:
    """Return the source of the page."""
    ran = ldapdiag("man")
    assert (ran.code, ran.err) == (0, b"")
    return ran.text


def section(text: str, title: str) -> str:
    """Return a part of the page, with its escapes undone."""
    part = re.split(r"^\.S[HS] ", text.partition(f"{title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    return plain(part)


def plain(text: str) -> str:
    """Return text with its escapes undone."""
    for char, escape in SPECIAL.items():
        if char != "\\":
            text = text.replace(escape, char)
    text = re.sub(r"\\\[u([0-9A-F]+)\]", lambda code: chr(int(code[1], 16)), text)
    return re.sub(r"\\f[BIR]|\\&", "", text).replace(r"\e", "\\")


def options(text: str) -> set[str]:
    """Return the options that a help or a page lists."""
    return set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", text))


def commands() -> list[str]:
    """Return the names of the commands, from the help."""
    return re.findall(r"^  ([a-z-]+)  ", ldapdiag("--help").text.partition("Commands:")[2], re.MULTILINE)


@pytest.mark.parametrize("command", commands())
def test_every_option_and_word_of_the_help_is_in_it(command: str) -> None:
    text = ldapdiag(command, "--help").text.partition("\n\n")[2]
    groups = "".join(one for one in text.split("\n\n") if one.partition(":")[0] in {*Panel})
    names = {one.split(", ")[-1].split()[0] for one in re.findall(r"^  (-.*?)(?:  |$)", groups, re.MULTILINE)}
    assert names
    assert names <= options(section(page(), f".SS ldapdiag {escaped(command)}"))
    words = set(re.findall(r"\w+", re.sub(r"-\n\s+", "-", text))) - {*" ".join(Panel).split(), "Exit", "code", EXAMPLES}
    assert [one for one in words if one not in plain(page())] == []


def test_options_of_several_commands_are_described_once() -> None:
    described = re.findall(r"^\.TP\n\\fB(.*?)\\fR", page(), re.MULTILINE)
    assert {plain(one) for one in described if described.count(one) > 1} <= OF_TWO_KINDS


def test_exit_codes_and_examples_of_the_help_have_sections() -> None:
    assert list(map(int, re.findall(r"^\.B (\d+)$", section(page(), ".SH EXIT STATUS"), re.MULTILINE))) == [
        *EXIT_STATUS
    ]
    for command in commands():
        shown = ldapdiag(command, "--help").text.partition("Examples:\n")[2]
        examples = page().partition(".SH EXAMPLES\n")[2]
        assert all(line.strip() in plain(examples) for line in shown.splitlines() if line.startswith("    "))


def test_options_of_the_program_are_in_it() -> None:
    assert {"--help", "-h", "--version", "-V"} <= options(section(page(), ".SH OPTIONS"))


def test_its_date_is_that_of_the_version() -> None:
    assert page().startswith(f'.TH LDAPDIAG 1 "{DATE}" "ldapdiag {__version__}"')
    assert re.findall(rf"^## \[{re.escape(__version__)}\] - (.*)$", CHANGELOG, re.MULTILINE) in ([], [DATE])


def test_it_is_the_same_wherever_it_is_made() -> None:
    other = ldapdiag("man", environment=LOGIN | {"COLUMNS": "40", "LC_ALL": "C", "TZ": "Asia/Tokyo", "NO_COLOR": "1"})
    assert other.text == page()


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"))))
def test_escaped_text_is_ascii_on_one_line_without_requests(text: str) -> None:
    line = escaped(text)
    assert line.isascii()
    assert not line.startswith((".", "'"))
    assert "-" not in line.replace(r"\-", "")
    assert plain(line) == text


@pytest.mark.long
def test_mandoc_has_no_warning(tmp_path: Path) -> None:
    (tmp_path / "ldapdiag.1").write_text(page())
    ran = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", tmp_path / "ldapdiag.1"], capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)
    shown = subprocess.run(
        ["mandoc", "-T", "ascii", tmp_path / "ldapdiag.1"], capture_output=True, text=True, check=True
    )
    assert "--probe-answers" in re.sub(".\b", "", shown.stdout)
