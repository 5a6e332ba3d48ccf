"""--quiet: no progress, no warning, no notice; errors, the report and the exit code stay."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from command import INCIDENT, diagnose, ldapdiag
from terminal import on_terminal

LOGS = Path(__file__).parents[1] / "captures" / "access-logs"
ACCESS_LOG = LOGS / "389-pools.head500.access"
AUDIT = Path(__file__).parents[2] / "examples" / "audit"


class TestQuiet:
    @pytest.mark.parametrize("arguments", [("diagnose", INCIDENT), ("indexes", AUDIT), ("log", ACCESS_LOG)])
    @pytest.mark.parametrize("form", ["text", "json"])
    def test_writes_nothing_beside_the_report(self, arguments: tuple[str | Path, ...], form: str) -> None:
        command, evidence = arguments
        loud = ldapdiag(command, evidence, "/nowhere.log", "--format", form)
        quiet = ldapdiag(command, evidence, "/nowhere.log", "--format", form, "-q")
        assert (len(loud.complaints), quiet.err) == (1, b"")
        assert quiet.code == loud.code
        assert b"/nowhere.log" in quiet.out

    @pytest.mark.parametrize("command", ["diagnose", "log"])
    def test_on_a_terminal_shows_no_progress(self, command: str) -> None:
        evidence = ACCESS_LOG if command == "log" else INCIDENT
        _, loud = on_terminal(command, evidence)
        _, quiet = on_terminal(command, evidence, "--quiet", "--color", "never")
        assert "reading" in loud
        assert "reading" not in quiet
        assert quiet.lstrip().splitlines()[-1] in loud

    @pytest.mark.parametrize(
        "arguments",
        [
            ("diagnose", "/nowhere"),
            ("indexes", "/nowhere"),
            ("log", "/nowhere"),
            ("collect", "ldap://127.0.0.1:1", "--output", "x.tar.gz"),
            ("diagnose", INCIDENT, "-D", "cn=x", "-y", "/nowhere"),
            ("diagnose", INCIDENT, "--output", "/nowhere/report.txt"),
        ],
    )
    def test_keeps_errors(
        self, arguments: tuple[str | Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        loud, quiet = (ldapdiag(*arguments, *more) for more in ((), ("-q",)))
        assert quiet.code == loud.code == 2
        assert quiet.complaints == loud.complaints != []

    def test_keeps_the_reason_of_exit_code_2_with_a_report(self, tmp_path: Path) -> None:
        table = tmp_path / "evidence" / "hosts"
        table.mkdir(parents=True)
        (table / "limits").write_text("Limit                     Soft Limit           Hard Limit           Units\n")
        loud, quiet = (diagnose(tmp_path, "--format", "json", *more) for more in ((), ("-q",)))
        assert quiet.code == loud.code == 2
        assert quiet.complaints

    @pytest.mark.parametrize("form", ["--ldif", "--script"])
    def test_keeps_what_the_remedies_alone_do_not_contain(self, form: str) -> None:
        loud, quiet = (ldapdiag("indexes", AUDIT, "/nowhere.log", form, *more) for more in ((), ("-q",)))
        assert quiet.complaints == loud.complaints != []

    @pytest.mark.parametrize("arguments", [("diagnose", INCIDENT), ("indexes", AUDIT), ("log", ACCESS_LOG)])
    def test_keeps_what_a_table_of_csv_does_not_contain(self, arguments: tuple[str | Path, ...]) -> None:
        quiet = ldapdiag(*arguments, "/nowhere.log", "--format", "csv", "-q")
        assert [line.partition(": ")[2].partition(":")[0] for line in quiet.complaints] == ["/nowhere.log"]

    def test_keeps_why_an_empty_table_of_csv_is_no_all_clear(self) -> None:
        thin = ("diagnose", INCIDENT / "ldap" / "ss-tiepmnaO.txt", "--check", "descriptor-headroom")
        quiet = ldapdiag(*thin, "--format", "csv", "-q")
        assert len(quiet.out.splitlines()) == 1
        assert "not an all-clear" in quiet.complaints[-1]
        assert ldapdiag(*thin, "--format", "json", "-q").complaints == []

    def test_warns_of_no_password_file(self, tmp_path: Path) -> None:
        (tmp_path / "password").write_text("secret")
        (tmp_path / "password").chmod(0o644)
        bind = ("--check", "conntrack-table-full", "-D", "cn=x", "-y", tmp_path / "password")
        assert b"warning" in diagnose(INCIDENT, *bind).err
        assert diagnose(INCIDENT, *bind, "-q").err == b""

    @pytest.mark.long
    def test_collects_without_a_word(self, tmp_path: Path) -> None:
        ran = ldapdiag("collect", "local:", "-q", "--apart", "0", "--output", tmp_path / "x.tar.gz")
        assert (ran.code, ran.out, ran.err) == (0, b"", b"")
        with tarfile.open(tmp_path / "x.tar.gz") as capture:
            manifest = capture.extractfile(capture.getmembers()[0])
            assert manifest is not None
            assert "gaps" in json.load(manifest)


def test_no_color_holds_for_the_progress() -> None:
    _, screen = on_terminal("diagnose", INCIDENT, "--color", "never", raw=True)
    assert "\x1b[3" not in screen
    assert "reading" in screen
