"""Options of every command: short names, the width of the help, and what was probably meant."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from command import INCIDENT, diagnose, ldapdiag
from ldapdiag import __version__
from ldapdiag.cli.app import app
from ldapdiag.cli.commands import COMMANDS, EXAMPLES, Panel
from terminal import on_terminal

NOWHERE = "/nowhere.log"


def commands() -> list[str]:
    """Return the names of the commands, from the help."""
    return re.findall(r"^  ([a-z-]+)  ", ldapdiag("--help").text.partition("Commands:")[2], re.MULTILINE)


@pytest.mark.parametrize("command", ["", *commands()])
def test_h_is_short_for_help(command: str) -> None:
    arguments = [command] if command else []
    short, long = (ldapdiag(*arguments, name) for name in ("-h", "--help"))
    assert (short.code, short.err) == (0, b"")
    assert short.text == long.text
    assert "-h, --help" in short.text or not command


def test_the_list_of_commands_has_the_first_lines_of_their_help() -> None:
    of_commands = get_command(app).commands  # type: ignore[attr-defined]
    assert {name: one.help.partition("\n")[0] for name, one in of_commands.items()} == COMMANDS


def test_the_help_of_all_fits_into_a_terminal_of_24_rows() -> None:
    assert len(ldapdiag("help").text.splitlines()) < 24


@pytest.mark.parametrize("command", commands())
class TestHelp:
    def test_a_command_shows_it(self, command: str) -> None:
        assert ldapdiag("help", command).text == ldapdiag(command, "--help").text

    def test_its_options_begin_on_the_first_screen(self, command: str) -> None:
        code, screen = on_terminal(command, "--help", columns=80)
        lines = screen.splitlines()
        assert code == 0
        assert min(number for number, line in enumerate(lines, 1) if re.match(r"  -.* ", line)) <= 24

    def test_every_option_is_in_a_group_and_the_last_section_has_examples(self, command: str) -> None:
        sections = re.findall(r"^(\S.*):$", ldapdiag(command, "--help").text, re.MULTILINE)
        groups = [one for one in Panel if one in sections]
        assert sections[: len(groups)] == groups
        assert Panel.OTHER in groups
        assert sections[-1] == EXAMPLES

    def test_its_examples_are_commands_that_exist(self, command: str) -> None:
        shown = ldapdiag(command, "--help").text.partition(f"{EXAMPLES}:\n")[2]
        examples = [
            shlex.split(one.partition(" > ")[0].partition(" | ")[0]) for one in re.findall("    (ldapdiag .*)", shown)
        ]
        group = get_command(app)
        for _, name, *arguments in examples:
            group.commands[name].make_context(name, list(arguments))  # type: ignore[attr-defined]
        assert command in {name for _, name, *_ in examples}


@pytest.mark.parametrize("arguments", [(), ("help",)])
def test_help_alone_lists_the_commands(arguments: tuple[str, ...]) -> None:
    assert ldapdiag("help", *arguments).text == ldapdiag("--help").text


def test_help_of_a_misspelt_command_names_the_nearest_one() -> None:
    ran = ldapdiag("help", "diagnos")
    assert (ran.code, ran.complaints[-1].endswith("Did you mean 'diagnose'?")) == (2, True)


def test_big_v_is_short_for_version() -> None:
    assert ldapdiag("-V").text == ldapdiag("--version").text == f"ldapdiag {__version__}\n"


@pytest.mark.parametrize(("columns", "widest"), [(60, 60), (80, 80), (110, 110), (200, 120)])
@pytest.mark.parametrize("command", ["diagnose", "log"])
def test_help_is_as_wide_as_the_terminal(command: str, columns: int, widest: int) -> None:
    code, screen = on_terminal(command, "--help", columns=columns)
    assert code == 0
    prose = [line for line in screen.splitlines() if not line.startswith(("    ldapdiag ", "  -"))]
    assert widest - 12 < max(map(len, prose)) <= widest


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("diagnos",), "diagnose"),
        (("--versoin",), "--version"),
        (("diagnose", "--chek", "x"), "--check"),
        (("diagnose", "--sevrity", "x"), "--severity"),
        (("log", "--folow"), "--follow"),
        (("collect", "--hlep"), "--help"),
        (("checks", "ghost-connection"), "ghost-connections"),
        (("diagnose", "--check", "idle-timeuot"), "idle-timeout"),
    ],
)
def test_a_misspelt_name_gets_the_nearest_one(arguments: tuple[str, ...], meant: str) -> None:
    ran = ldapdiag(*arguments)
    assert (ran.code, ran.out) == (2, b"")
    assert ran.complaints[-1].endswith(f"Did you mean {meant!r}?")


@pytest.mark.parametrize("arguments", [("xyzzy",), ("diagnose", "--xyzzy"), ("checks", "xyzzy")])
def test_a_name_like_no_other_gets_none(arguments: tuple[str, ...]) -> None:
    ran = ldapdiag(*arguments)
    assert (ran.code, ran.out, "mean" in ran.complaints[-1]) == (2, b"", False)


class TestHostWithoutScheme:
    def test_gets_the_targets_it_may_stand_for(self) -> None:
        ran = diagnose("ds1.example.com")
        assert (ran.code, len(ran.complaints)) == (2, 1)
        assert ran.complaints[0].endswith("if a target is meant: ldap://ds1.example.com or ssh://ds1.example.com")

    def test_is_a_gap_beside_other_evidence(self) -> None:
        gaps = diagnose(INCIDENT, "ds1", "--format", "json").report["gaps"]
        assert [gap["how"] for gap in gaps if gap["target"] == "ds1"] == [
            "check the spelling; if a target is meant: ldap://ds1 or ssh://ds1"
        ]

    def test_is_no_capture_of_collect(self, tmp_path: Path) -> None:
        ran = ldapdiag("collect", "ds1", "--output", tmp_path / "x.tar.gz")
        assert (ran.code, len(ran.complaints)) == (2, 1)
        assert ran.complaints[0].endswith("name one, as in ldap://ds1 or ssh://ds1")

    def test_is_a_file_where_there_is_one(self, tmp_path: Path) -> None:
        (tmp_path / "ds1").write_bytes(b"nothing\n")
        assert "ldap://" not in diagnose("ds1", cwd=tmp_path).err.decode()

    def test_a_file_name_gets_none(self) -> None:
        assert "ldap://" not in diagnose(NOWHERE).err.decode()
