"""Where the report goes: a terminal, a pipe, a file, or nowhere."""

from __future__ import annotations

import contextlib
import functools
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

import examples
from command import INCIDENT, LDAPDIAG, LOGIN, PATIENCE, diagnose, ldapdiag

TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
"""Of the report itself, among others."""

ACCESS_LOG = Path(__file__).parents[1] / "captures" / "access-logs" / "389-pools.head500.access"


class TestOutput:
    def test_goes_to_a_file_when_asked(self, tmp_path: Path) -> None:
        ran = diagnose(INCIDENT, "--output", tmp_path / "report.txt")
        assert (ran.code, ran.out, ran.err) == (1, b"", b"")
        assert (tmp_path / "report.txt").read_text() == diagnose(INCIDENT).text

    def test_that_cannot_be_written_is_one_line(self, tmp_path: Path) -> None:
        ran = diagnose(INCIDENT, "--output", tmp_path / "no" / "report.txt")
        assert (ran.code, len(ran.complaints)) == (2, 1)
        assert "cannot write the report" in ran.complaints[0]

    def test_to_a_full_disk_is_one_line(self) -> None:
        with Path("/dev/full").open("w") as full:
            ran = subprocess.run(
                [*LDAPDIAG, "diagnose", INCIDENT], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert ran.returncode == 2
        assert ran.stderr.splitlines() == [
            "ldapdiag: cannot write the report to standard output: no space left on device; use --output FILE"
        ]

    def test_to_a_closed_stdout_is_one_line(self) -> None:
        ran = ldapdiag("diagnose", INCIDENT, preexec_fn=lambda: os.close(1))
        assert (ran.code, len(ran.complaints)) == (2, 1)

    @pytest.mark.parametrize(
        "arguments", examples.some([("diagnose", INCIDENT), ("checks",), ("diagnose", INCIDENT, "--format", "json")], 2)
    )
    def test_a_reader_that_leaves_early_is_no_error(self, arguments: tuple[str, ...]) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        ran = subprocess.run([*LDAPDIAG, *arguments], stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)
        assert (ran.returncode, ran.stderr) == (int("diagnose" in arguments), b"")

    @pytest.mark.parametrize(
        "arguments", examples.some([(), ("--format", "json"), ("--follow",), ("--follow", "--format", "json")], 2)
    )
    def test_a_reader_that_leaves_a_log_early_ends_it(self, arguments: tuple[str, ...]) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        command = [*LDAPDIAG, "log", *arguments, ACCESS_LOG]
        ran = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False, timeout=PATIENCE)
        os.close(writer)
        assert (ran.returncode, ran.stderr) == (0, b"")

    @pytest.mark.parametrize(
        "environment",
        [  # without Python's own variables a command runs in the tests' process, and costs little
            *examples.some(
                [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}], 2
            ),
            {"NO_COLOR": "1"},
            {"COLUMNS": "40"},
            {"COLUMNS": "wide"},
            {"COLUMNS": "²"},
            {"LINES": "²"},
            {"TERM": "dumb"},
        ],
        ids=str,
    )
    def test_survives_every_environment(self, environment: dict[str, str]) -> None:
        ran = diagnose(INCIDENT, environment=environment)
        assert (ran.code, ran.err) == (1, b"")
        assert b"CRITICAL" in ran.out

    def test_without_bars_in_the_character_set_has_plain_ones(self) -> None:
        text = diagnose(INCIDENT, environment={"PYTHONIOENCODING": "ascii"}).out.decode("ascii")
        assert "at ldap  270 =####" in text
        assert "\\u" not in text

    @pytest.mark.parametrize("form", examples.some(["csv", "json", "markdown", "html"], 4))
    def test_is_utf_8_for_a_program_whatever_the_locale(self, form: str) -> None:
        texts = {
            TIME.sub(b"", diagnose(INCIDENT, "--format", form, environment={"PYTHONIOENCODING": name}).out)
            for name in ("utf-8", "ascii")
        }
        assert len(texts) == 1


class TestTerminal:
    def test_shows_colours_unless_disabled(self) -> None:
        assert b"\x1b[1;31mCRITICAL" in on_a_terminal(INCIDENT)
        assert re.search(rb"\x1b\[[0-9;]*3[0-7]m", on_a_terminal(INCIDENT, NO_COLOR="1")) is None

    @pytest.mark.parametrize("size", examples.some(["²", "0", "1", "-1", "9" * 5000], 5))
    def test_may_have_any_size_in_the_environment(self, size: str) -> None:
        screen = on_a_terminal(INCIDENT, COLUMNS=size, LINES=size)
        assert b"bug in ldapdiag" not in screen
        assert b"CRITICAL" in screen

    def test_gets_nothing_twice(self) -> None:
        assert on_a_terminal(INCIDENT, Path("/nowhere")).count(b"/nowhere: there is no such file") == 1

    def test_is_cleared_of_the_progress(self) -> None:
        assert on_a_terminal(INCIDENT).rpartition(b"reading")[2].count(b"\x1b[2K") == 1

    @pytest.mark.parametrize(("rows", "times"), [("24", 2), ("500", 1)])
    def test_that_is_shorter_than_the_report_has_its_head_at_the_end_as_well(self, rows: str, times: int) -> None:
        screen = on_a_terminal(INCIDENT, NO_COLOR="1", LINES=rows).decode()
        assert screen.count("268 of the 270 connections from app1 no longer exist") == times
        assert screen.count("1 critical · 1 high") == times

    @pytest.mark.parametrize("columns", examples.some(["40", "80", "200"], 3))
    def test_decides_how_wide_the_report_is(self, columns: str) -> None:
        screen = on_a_terminal(INCIDENT, NO_COLOR="1", COLUMNS=columns).decode()
        report = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen[screen.index("CRITICAL") :])
        prose = [line for line in report.splitlines() if line.startswith(" " * 12)]
        assert max(map(len, prose)) <= min(int(columns), 120)


@functools.cache  # several tests look at the same screen
def on_a_terminal(*evidence: Path, **environment: str) -> bytes:
    """Return what a person sees, both streams on one screen."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"no pseudo-terminals here: {error}")
    with subprocess.Popen(
        [*LDAPDIAG, "diagnose", *evidence],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=LOGIN | {"TERM": "xterm", "COLUMNS": "100"} | environment,
    ):
        os.close(theirs)
        screen = b""
        with contextlib.suppress(OSError):  # Linux says so when the last one has closed the terminal
            while part := os.read(ours, 1 << 16):
                screen += part
    os.close(ours)
    return screen
