"""The command line: what scripts rely on (docs/contract.md), and that a traceback is never an answer."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import examples
from command import INCIDENT, LDAPDIAG, LOGIN, diagnose, ldapdiag
from ldapdiag.catalogue import installed_checks
from ldapdiag.check import GROUPS
from ldapdiag.cli.interruptible import interruptible

if TYPE_CHECKING:
    from collections.abc import Iterator

HEALTHY = INCIDENT / "app2"
CONTRACT = (Path(__file__).parents[2] / "docs" / "contract.md").read_text()
SERVER_TABLE = INCIDENT / "ldap" / "ss-tiepmnaO.txt"
UNREACHABLE = ["ldap://127.0.0.1:1", "ldaps://127.0.0.1:1", "ldapi://%2Fnowhere", "ssh://nobody", "netns:nowhere"]


class TestExitCodes:
    def test_0_when_nothing_is_found(self) -> None:
        assert diagnose(INCIDENT, "--check", "conntrack-table-full").code == 0

    def test_1_when_something_is_as_bad_as_high(self) -> None:
        assert diagnose(INCIDENT).code == 1

    @pytest.mark.parametrize(
        ("fail_on", "check", "code"),
        [
            ("critical", "ghost-connections", 1),
            ("critical", "idle-timeout", 0),
            ("high", "idle-timeout", 1),
            ("high", "keepalive-too-slow", 0),
            ("medium", "keepalive-too-slow", 1),
            ("low", "connection-share", 0),
            ("never", "ghost-connections", 0),
        ],
    )
    def test_fail_on_is_the_lowest_severity(self, fail_on: str, check: str, code: int) -> None:
        assert diagnose(INCIDENT, "--fail-on", fail_on, "--check", check).code == code

    def test_strict_counts_what_could_not_be_judged(self) -> None:
        assert diagnose(HEALTHY, "--check", "ghost-connections").code == 0
        assert diagnose(HEALTHY, "--check", "ghost-connections", "--strict").code == 1
        assert diagnose(INCIDENT, "--check", "conntrack-table-full", "--strict").code == 0

    @pytest.mark.parametrize("target", UNREACHABLE)
    def test_2_when_nothing_answers(self, target: str) -> None:
        ran = diagnose(target, "--timeout", "2", environment=LOGIN | {"LDAPDIAG_SSH": "false"})
        assert (ran.code, ran.out) == (2, b"")
        assert ran.complaints
        assert ran.complaints[0].startswith(f"ldapdiag: {target}: ")

    @pytest.mark.parametrize("target", examples.some(UNREACHABLE, 3))
    def test_what_does_not_answer_is_a_gap_beside_what_does(self, target: str) -> None:
        environment = LOGIN | {"LDAPDIAG_SSH": "false"}
        ran = diagnose(INCIDENT, target, "--timeout", "2", "--format", "json", environment=environment)
        assert ran.code == 1
        (gap,) = [gap for gap in ran.report["gaps"] if gap["target"] == target]
        assert gap["reason"]
        assert gap["how"]

    @pytest.mark.parametrize(
        ("options", "complaint"),
        [
            (["-D", "cn=x"], "no password given"),
            (["-W"], "add -D DN"),
            (["-Y", "DIGEST-MD5"], "EXTERNAL or GSSAPI"),
            (["-Y", "EXTERNAL", "-D", "cn=x", "-W"], "omit one of them"),
            (["-D", "cn=x", "-y", "/nowhere"], "no such file"),
            (["--ca-file", "/nowhere"], "no such file"),
        ],
        ids=str,
    )
    def test_2_when_options_of_binding_do_not_go_together(self, options: list[str], complaint: str) -> None:
        ran = diagnose("ldap://127.0.0.1:1", *options)
        assert (ran.code, ran.out, len(ran.complaints)) == (2, b"", 1)
        assert complaint in ran.complaints[0]

    @pytest.mark.parametrize("target", ["ssh://-oProxyCommand=touch", "ldap://", "netns:../x", "ssh://a b"])
    def test_2_when_a_target_is_none(self, target: str) -> None:
        ran = diagnose(target)
        assert (ran.code, ran.out, len(ran.complaints)) == (2, b"", 1)

    def test_2_when_collect_is_given_files_or_no_output(self, tmp_path: Path) -> None:
        assert ldapdiag("collect", "local:").code == 2
        ran = ldapdiag("collect", "ssh://ds1/etc/dirsrv/slapd-x/dse.ldif", "--output", str(tmp_path / "x.tar.gz"))
        assert ran.code == 2
        assert "collect accepts hosts" in ran.complaints[0]
        assert "copy the file with scp" in ran.complaints[0]
        assert not list(tmp_path.iterdir())
        ran = ldapdiag("collect", str(INCIDENT), "--output", str(tmp_path / "x.tar.gz"))
        assert (ran.code, ran.out) == (2, b"")
        assert "only live targets" in ran.complaints[0]

    @pytest.mark.parametrize("command", [("diagnose", "--check", "nope", str(INCIDENT)), ("checks", "nope")])
    def test_2_when_a_check_does_not_exist(self, command: tuple[str, ...]) -> None:
        ran = ldapdiag(*command)
        assert (ran.code, ran.out) == (2, b"")
        assert ran.complaints == [
            f"ldapdiag: unknown check 'nope'; 'ldapdiag checks' lists the {len(installed_checks())} checks"
        ]

    @pytest.mark.parametrize(
        "wrong", [("--nope",), ("--format", "pdf"), ("--fail-on", "sometimes"), ("--ldap-port", "0")]
    )
    def test_2_when_an_option_is_wrong(self, wrong: tuple[str, ...]) -> None:
        ran = diagnose(INCIDENT, *wrong)
        assert (ran.code, ran.out) == (2, b"")
        assert wrong[0] in ran.complaints[-1]
        assert "diagnose --help" in ran.err.decode()


class TestHelp:
    @pytest.mark.parametrize("command", [(), ("diagnose",), ("checks",)])
    def test_every_command_explains_itself(self, command: tuple[str, ...]) -> None:
        ran = ldapdiag(*command, "--help")
        assert (ran.code, ran.err) == (0, b"")
        assert "Usage:" in ran.text

    def test_of_diagnose_lists_the_exit_codes(self) -> None:
        assert "Exit code:\n  0 " in ldapdiag("diagnose", "--help").text

    def test_version_prints_the_version(self) -> None:
        assert re.fullmatch(r"ldapdiag \d+\.\d+\.\d+\S*\n", ldapdiag("--version").text)

    def test_an_unknown_command_is_named(self) -> None:
        ran = ldapdiag("repair")
        assert ran.code == 2
        assert "repair" in ran.complaints[-1]


class TestChecks:
    def test_lists_each_check(self) -> None:
        *parts, hint = ldapdiag("checks").text.split("\n\n")
        assert hint.endswith("ldapdiag checks NAME\n")
        groups = {part.partition("\n")[0]: part for part in parts}
        assert list(groups) == [one for one in GROUPS if one != "other"]
        for check in installed_checks():
            assert f"\n  {check.id} " in groups[check.group]

    def test_lists_them_for_programs_with_the_settings_in_force(self, tmp_path: Path) -> None:
        (tmp_path / "site.toml").write_text('schema = "ldapdiag.config/1"\n[checks.slow-binds]\nhigh_seconds = 90\n')
        report = ldapdiag("checks", "--format", "json", "--config", tmp_path / "site.toml").report
        assert [one["id"] for one in report["checks"]] == [check.id for check in installed_checks()]
        (slow,) = (one for one in report["checks"] if one["id"] == "slow-binds")
        assert (slow["group"], slow["settings"][0]["value"], slow["settings"][0]["default"]) == ("access log", 90, 60)

    @pytest.mark.parametrize("check", [check.id for check in installed_checks()])
    def test_explains_each_check(self, check: str) -> None:
        page = ldapdiag("checks", check).text
        assert page.startswith(f"{check}\n    ")
        assert "EVIDENCE\n" in page


class TestJson:
    def test_has_every_key_of_the_contract(self) -> None:
        example = re.search(r"## JSON report\n```json\n(.*?)```", CONTRACT, re.DOTALL)
        assert example is not None
        assert keys(diagnose(INCIDENT, "--format", "json").report, json.loads(example[1])) == []

    def test_is_the_same_every_time_but_for_when_it_was_taken(self) -> None:
        first, second = (diagnose(INCIDENT, "--format", "json").out for _ in range(2))
        when = re.compile(rb'"taken_at": "2[^"]*Z",\n "tool"')
        assert len(when.findall(first)) == 1
        assert when.sub(b"", first) == when.sub(b"", second)

    def test_keeps_complaints_out_of_the_report(self, tmp_path: Path) -> None:
        ran = diagnose(INCIDENT, tmp_path / "nowhere", "--format", "json")
        assert len(ran.complaints) == 1
        assert [gap["target"] for gap in ran.report["gaps"]] == [str(tmp_path / "nowhere")]


def keys(given: object, wanted: object, where: str = "") -> list[str]:
    """Return the keys of the contract's example that a report lacks; one item of a list stands for all."""
    if isinstance(wanted, dict):
        assert isinstance(given, dict), where
        missing = [f"{where}.{key}" for key in wanted if key not in given]
        return missing + [
            lacking
            for key, value in wanted.items()
            if key in given
            for lacking in keys(given[key], value, f"{where}.{key}")
        ]
    if isinstance(wanted, list) and wanted:
        assert isinstance(given, list), where
        return [lacking for one in given for lacking in keys(one, wanted[0], f"{where}[]")]
    return []


class TestStandardInput:
    def test_is_a_dash(self) -> None:
        ran = diagnose("-", "--format", "json", stdin=SERVER_TABLE.read_bytes())
        assert [one["origin"] for one in ran.report["evidence"]] == ["standard input"]

    def test_named_twice_counts_once(self) -> None:
        ran = diagnose("-", "-", "--format", "json", stdin=SERVER_TABLE.read_bytes())
        assert len(ran.report["evidence"]) == 1

    @pytest.mark.parametrize("stdin", [b"", b"\xff\xd8\xff\xe0photo"])
    def test_that_holds_nothing_is_one_line(self, stdin: bytes) -> None:
        ran = diagnose("-", stdin=stdin)
        assert (ran.code, len(ran.complaints)) == (2, 1)
        assert ran.complaints[0].startswith("ldapdiag: standard input: ")

    def test_that_is_closed_is_one_line(self) -> None:
        ran = diagnose("-", preexec_fn=lambda: os.close(0))
        assert (ran.code, len(ran.complaints)) == (2, 1)

    def test_may_come_in_small_pieces(self) -> None:
        reader, writer = os.pipe()
        with subprocess.Popen([*LDAPDIAG, "diagnose", "-"], stdin=reader, stdout=subprocess.PIPE) as running:
            os.close(reader)
            table = SERVER_TABLE.read_bytes()
            for at in range(0, len(table), 10_000):
                os.write(writer, table[at : at + 10_000])
            os.close(writer)
            assert running.stdout is not None
            assert b"310 connections" in running.stdout.read()

    def test_a_pipe_can_be_named_by_its_path(self) -> None:
        reader, writer = os.pipe()
        os.write(writer, (INCIDENT / "fw" / "sysctl-nf_conntrack.txt").read_bytes()[:4096])
        os.close(writer)
        ran = diagnose(f"/dev/fd/{reader}", "--format", "json", pass_fds=(reader,))
        os.close(reader)
        assert [one["fact"] for one in ran.report["evidence"]] == ["kernel-settings"]


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Let a child be interrupted even when these tests run in the background, where Ctrl-C is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class TestInterruption:
    @pytest.mark.usefixtures("ctrl_c")
    def test_while_targets_are_asked_the_first_one_sets_the_event_and_the_second_one_is_as_before(
        self, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "stderr", None)  # it may be in the middle of a write
        with interruptible(["ssh://app1"]) as stop:
            assert not stop.is_set()
            signal.raise_signal(signal.SIGINT)
            assert stop.is_set()
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert capfd.readouterr().err.splitlines() == [
            "ldapdiag: interrupted; the results so far are kept. Press Ctrl-C again to end at once"
        ]

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
    def test_the_end_by_a_supervisor_or_a_lost_terminal_keeps_the_results_too(self, number: signal.Signals) -> None:
        before = signal.signal(number, signal.SIG_DFL)  # below nohup SIGHUP is ignored, and stays so
        try:
            with interruptible(["ssh://app1"]) as stop:
                signal.raise_signal(number)
                assert stop.is_set()
                assert signal.getsignal(number) == signal.SIG_DFL, "the next one ends the run"
        finally:
            signal.signal(number, before)

    @pytest.mark.usefixtures("ctrl_c")
    def test_while_files_are_read_it_just_ends(self) -> None:
        with pytest.raises(KeyboardInterrupt), interruptible([str(INCIDENT)]):
            signal.raise_signal(signal.SIGINT)

    @pytest.mark.usefixtures("ctrl_c")
    def test_is_one_line_and_130(self) -> None:
        reader, writer = os.pipe()
        with subprocess.Popen(
            [*LDAPDIAG, "diagnose", "-"], stdin=reader, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=LOGIN
        ) as running:
            os.write(writer, b"State Recv-Q Send-Q Local Address:Port Peer Address:Port\n")
            with pytest.raises(subprocess.TimeoutExpired):
                running.wait(1)  # it has started, and waits for the rest of its input
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=10)
        os.close(reader)
        os.close(writer)
        assert (running.returncode, out, err) == (130, b"", b"ldapdiag: interrupted\n")
