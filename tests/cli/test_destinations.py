"""Where reports go: one or several outputs, their formats, and contradictions."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from command import INCIDENT, LDAPDIAG, LOGIN, PATIENCE, diagnose, ldapdiag
from ldapdiag.cli.destinations import DOCUMENTS, ENDINGS, Output, ReportFormat
from ldapdiag.errors import UsageError

ACCESS_LOG = Path(__file__).parents[1] / "captures" / "access-logs" / "389-pools.head500.access"


def forms(form: ReportFormat | None, *outputs: Path | str) -> list[ReportFormat]:
    return [one.form for one in Output(form, [Path(one) for one in outputs]).destinations()]


def refusal(form: ReportFormat | None, *outputs: Path | str) -> str:
    with pytest.raises(UsageError) as refused:
        forms(form, *outputs)
    return str(refused.value)


class TestTheFormat:
    def test_is_text_on_standard_output(self) -> None:
        assert (
            Output(None, None).destinations()
            == Output(ReportFormat.TEXT, []).destinations()
            == Output(None, [Path("-")]).destinations()
        )
        assert forms(None) == [ReportFormat.TEXT]

    def test_is_that_of_the_option_on_standard_output(self) -> None:
        assert forms(ReportFormat.JSON) == forms(ReportFormat.JSON, "-") == [ReportFormat.JSON]

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_is_that_of_the_ending(self, ending: str, tmp_path: Path) -> None:
        for name in (f"a{ending}", f"a{ending.upper()}"):
            (one,) = Output(None, [tmp_path / name]).destinations(tuple(ReportFormat))
            assert one.form == ENDINGS[ending]

    @pytest.mark.parametrize("form", sorted(set(ReportFormat) - set(DOCUMENTS)))
    def test_of_few_commands_is_refused_by_the_others(self, form: ReportFormat) -> None:
        assert f"--format {form}: this command has none" in refusal(form)

    def test_of_one_file_is_that_of_the_option(self, tmp_path: Path) -> None:
        assert forms(ReportFormat.JSON, tmp_path / "a.txt") == [ReportFormat.JSON]
        assert forms(ReportFormat.JSON, tmp_path / "a.of-today") == [ReportFormat.JSON]

    def test_of_a_name_without_an_ending_is_text(self, tmp_path: Path) -> None:
        assert forms(None, tmp_path / "report", tmp_path / ".hidden") == [ReportFormat.TEXT] * 2

    def test_of_several_is_that_of_each_ending_and_the_option_for_the_others(self, tmp_path: Path) -> None:
        assert forms(ReportFormat.JSON, tmp_path / "a.txt", "-") == [ReportFormat.TEXT, ReportFormat.JSON]

    def test_of_a_pipe_is_text_whatever_its_name(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.in")
        assert forms(None, tmp_path / "pipe.in", "/dev/null") == [ReportFormat.TEXT] * 2


class TestARefusal:
    def test_names_the_endings_that_there_are(self, tmp_path: Path) -> None:
        told = refusal(None, tmp_path / "report.pdf")
        assert "report.pdf: no format has the ending .pdf; use one of .txt, .json" in told
        assert told.endswith("or add --format")

    def test_is_given_for_a_format_that_no_file_would_have(self, tmp_path: Path) -> None:
        told = refusal(ReportFormat.JSON, tmp_path / "a.txt", tmp_path / "b.json")
        assert told == "--format json contradicts the endings of several files; omit it, or give one --output"

    @pytest.mark.parametrize("again", ["a.txt", "./a.txt"])
    def test_is_given_for_a_file_named_twice(self, again: str) -> None:
        assert "given twice" in refusal(None, "a.txt", again)

    def test_is_given_for_a_file_and_a_link_to_it(self, tmp_path: Path) -> None:
        (tmp_path / "link.txt").symlink_to("a.txt")
        assert "given twice" in refusal(None, tmp_path / "a.txt", tmp_path / "link.txt")

    def test_of_one_file_writes_none(self, tmp_path: Path) -> None:
        ran = diagnose(INCIDENT, "-o", tmp_path / "a.json", "-o", tmp_path / "no" / "b.json")
        assert (ran.code, len(ran.complaints)) == (2, 1)
        assert list(tmp_path.iterdir()) == []

    def test_of_another_command_names_what_it_writes(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"this command writes no json; use one of \.txt$"):
            Output(None, [tmp_path / "a.json"]).destinations(offered=(ReportFormat.TEXT,))


@pytest.mark.parametrize(
    "command", [("diagnose", INCIDENT), ("indexes", INCIDENT), ("log", ACCESS_LOG)], ids=lambda command: command[0]
)
class TestSeveralOutputs:
    def test_are_the_same_reports_as_each_alone(self, command: tuple[str | Path, ...], tmp_path: Path) -> None:
        ran = ldapdiag(*command, "-o", tmp_path / "a.json", "-o", tmp_path / "a.txt", "-o", "-")
        assert ran.text == (tmp_path / "a.txt").read_text() == ldapdiag(*command).text
        read = json.loads((tmp_path / "a.json").read_text())
        alone = ldapdiag(*command, "--format", "json").report
        assert read | {"taken_at": None} == alone | {"taken_at": None}

    def test_leave_standard_output_empty(self, command: tuple[str | Path, ...], tmp_path: Path) -> None:
        assert ldapdiag(*command, "-o", tmp_path / "a.json", "-o", tmp_path / "a.txt").out == b""


def test_one_that_fails_does_not_keep_the_others_from_being_written(tmp_path: Path) -> None:
    ran = diagnose(INCIDENT, "-o", "/dev/full", "-o", tmp_path / "a.json")
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert "cannot write the report to /dev/full: no space left on device" in ran.complaints[0]
    assert json.loads((tmp_path / "a.json").read_text())["findings"]


def test_a_followed_log_is_written_to_each(tmp_path: Path) -> None:
    command = [*LDAPDIAG, "log", ACCESS_LOG, "--follow", "-o", "-", "-o", tmp_path / "a.json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=LOGIN) as followed:
        assert followed.stdout is not None
        assert followed.stdout.readline() == b"-" * 40 + b"\n"
        assert followed.stdout.readline().startswith(b"389 Directory Server")
        followed.stdout.close()
        followed.terminate()
        followed.wait(PATIENCE)


@pytest.mark.parametrize(
    "arguments", [("--ldif", "--script"), ("--ldif", "--format", "json"), ("--script", "--format", "json")]
)
def test_remedies_alone_have_no_format(arguments: tuple[str, ...]) -> None:
    ran = ldapdiag("indexes", INCIDENT, *arguments)
    assert ran.complaints == ["ldapdiag: --ldif, --script and --format exclude each other: use one of them"]
