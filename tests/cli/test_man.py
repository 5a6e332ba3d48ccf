"""The manual page: every command and option of the help is in it, and mandoc and groff read it without a warning."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import LOGIN, ldapdiag
from ldapdiag import __version__
from ldapdiag.cli.man import DATE, SPECIAL, escaped

CHANGELOG = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()


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
    shown = section(page(), f".SS ldapdiag {escaped(command)}")
    text = ldapdiag(command, "--help").text.partition("\n\n")[2]
    assert options(text) <= options(shown)
    words = set(re.findall(r"\w+", re.sub(r"-\n\s+", "-", text))) - {"Arguments", "Options"}
    assert [one for one in words if one not in shown] == []


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
