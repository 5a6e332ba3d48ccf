"""Hosts of Windows behind ssh: a stand-in answers as one would by documentation, because none is at hand."""

from __future__ import annotations

import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import writers
from command import LOGIN, ldapdiag
from incidents import GHOSTS, INCIDENTS, ghost_ports
from ldapdiag.sources.gathering import gather
from ldapdiag.sources.live.ssh import remote
from ldapdiag.sources.live.ssh.remote import ScriptSession
from ldapdiag.sources.live.ssh.windows import POWERSHELL, WITHIN_POWERSHELL, powershell_command
from log.windows_events import Event, as_xml, event

CMD = "'sh' is not recognized as an internal or external command,\r\noperable program or batch file."
GERMAN = 'Der Befehl "sh" ist entweder falsch geschrieben oder\r\nkonnte nicht gefunden werden.'
POWERSHELL_5 = 'sh : Die Benennung "sh" wurde nicht erkannt.\r\n    + FullyQualifiedErrorId : CommandNotFoundException'
POWERSHELL_7 = (
    "sh: The term 'sh' is not recognized as a name of a cmdlet, function, script file, or executable program."
)


@pytest.fixture
def asked(tmp_path):
    """Return what runs ldapdiag on hosts whose shells say this of a missing sh; nothing: one of Unix."""

    def ask(*arguments: str, **shells: str):
        (tmp_path / "ssh.py").write_text(Path(__file__).with_name("fake_windows.py").read_text())
        for name, shell in shells.items():
            (tmp_path / name).mkdir(exist_ok=True)
            if shell:
                (tmp_path / name / "shell").write_text(shell)
        return ldapdiag(*arguments, environment=LOGIN | {"LDAPDIAG_SSH": f"{sys.executable} -I {tmp_path / 'ssh.py'}"})

    return ask


def prepare(folder: Path) -> list[int]:
    """Write what the two hosts of the captured incident print; return two of the server's ghosts."""
    for name, system, own, address, written in (
        ("dc1", "Microsoft Windows Server 2022 Standard 10.0.20348", "ldap", "10.77.1.2", writers.as_powershell_csv),
        ("app1", "Linux 6.1.0", "app1", "10.77.2.2", writers.as_ss),
    ):  # fmt: skip
        (table,) = gather([str(INCIDENTS / GHOSTS / own / "ss-tan.txt")]).facts
        sockets = writers.sockets_in(table)
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "sockets.txt").write_text(written(sockets).replace("\r\n", "\n"))
        (folder / name / "host.txt").write_text(
            f"ldapdiag-host 1\nname: {name}\nsystem: {system}\nclock: {datetime.now(UTC):%FT%TZ}\naddress: {address}\n"
        )
    return ghost_ports(GHOSTS)[:2]


def test_powershell_is_told_from_cmd_in_any_language() -> None:
    assert powershell_command(CMD.encode()) == powershell_command(GERMAN.encode()) == POWERSHELL
    assert {powershell_command(said.encode()) for said in (POWERSHELL_5, POWERSHELL_7)} == {WITHIN_POWERSHELL}


@pytest.mark.parametrize("shell", [CMD, POWERSHELL_5])
def test_the_script_of_each_shell_goes_to_that_shell_alone(asked, tmp_path, shell) -> None:
    """The one for sh, by sh's name, and it is not started; PowerShell as sshd's shell hands on what it reads itself."""
    prepare(tmp_path)
    ran = asked("collect", "ssh://administrator@dc1", "--output", str(tmp_path / "x.tar.gz"), "--apart", "0", dc1=shell)
    assert ran.code == 0
    assert ran.complaints[-1] == f"ldapdiag: {tmp_path / 'x.tar.gz'}: 3 files of 1 host"
    assert len(ran.complaints) == 2, "and that it was never run on Windows"
    heard = (tmp_path / "dc1" / "heard-powershell").read_text()
    assert not (tmp_path / "dc1" / "heard-sh").exists()
    assert heard.count("Show-Socket 1\n") == heard.count("Show-Socket 2\n") == 1
    assert "printf" not in heard
    expected = WITHIN_POWERSHELL if shell == POWERSHELL_5 else POWERSHELL
    assert set((tmp_path / "dc1" / "heard-commands").read_text().splitlines()) == {expected}


def test_ghosts_of_a_domain_controller_are_counted_against_a_client_and_its_events_joined(asked, tmp_path) -> None:
    ports = prepare(tmp_path)
    (tmp_path / "dc1" / "registry-NTDS.txt").write_text(
        "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\NTDS\\Diagnostics\n"
        "    15 Field Engineering    REG_DWORD    0x5\n"
        "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\NTDS\\Parameters\n"
        "    Expensive Search Results Threshold    REG_DWORD    0x1\n"
    )
    binds = [Event("DC1", datetime.now(UTC), (f"10.77.2.2:{port}", "EXAMPLE\\svc-xyz", "1")) for port in ports]
    searches = [event(number, server="DC1", client=f"10.77.2.2:{ports[0]}") for number in range(3)]
    (tmp_path / "dc1" / "events-1.xml").write_text(
        as_xml(binds, between="\n", number=2889) + "\n" + as_xml(searches, between="\n")
    )
    ran = asked(
        "diagnose", "ssh://administrator@dc1", "ssh://app1", "--apart", "0", "--format", "json", dc1=CMD, app1=""
    )
    by_check = {found["check"]: found for found in ran.report["findings"]}
    assert by_check["ghost-connections"]["observed"]["ghost_client_ports"] == ghost_ports(GHOSTS)
    accounts = by_check["ghost-connections"]["observed"]["accounts"]
    assert (accounts["EXAMPLE\\svc-xyz"], sum(accounts.values())) == (2, len(ghost_ports(GHOSTS)))
    assert by_check["binds-in-clear"]["title"].endswith("as EXAMPLE\\svc-xyz, from 10.77.2.2")
    (server,) = ran.report["servers"]
    assert (server["family"], server["logged"][0][:12]) == ("ad", "every search")
    assert [(gap["target"], "never run on Windows" in gap["reason"]) for gap in ran.report["gaps"]] == [
        ("ssh://administrator@dc1", True)
    ]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("restricted language mode\n", "PowerShell may only run what a policy allows there"),
        (CMD.replace("sh", "powershell"), "the command ended without an answer (exit status 1): operable program"),
    ],
)
def test_where_neither_script_can_run_the_reason_is_that_of_the_second(tmp_path, said, reason) -> None:
    fake = tmp_path / "ssh"
    fake.write_text(f"#!/bin/sh\nprintf %s {shlex.quote(said)} >&2\nexit 1\n")
    fake.chmod(0o755)
    with ScriptSession(argv=[str(fake), "sh"], target="ssh://dc1", folder="dc1", may_be_windows=True) as session:
        (gap,) = [*session.collect(), *session.snapshot()][:1]
    assert gap.reason.startswith(reason)
    assert gap.how


def test_tables_are_read_by_powershell_again_and_again(asked, tmp_path, monkeypatch) -> None:
    prepare(tmp_path)
    asked("demo", dc1=CMD)  # makes the host
    monkeypatch.setattr(remote, "MAX_ITEMS", 3)
    argv = [sys.executable, "-I", str(tmp_path / "ssh.py"), "dc1", "sh"]
    with ScriptSession(argv=argv, target="ssh://dc1", folder="dc1", may_be_windows=True) as session:
        for _ in range(5):  # limits are those of one answer
            assert [piece.path.rpartition("/")[0] for piece in session.tables()] == ["dc1"]


@pytest.mark.parametrize("was_read", [True, False])
def test_a_failure_of_ssh_makes_no_host_one_of_windows_for_good(asked, tmp_path, was_read) -> None:
    """Killed, or refused by a login shell: status 1 or -9, like a cmd.exe without sh."""
    asked("demo", app1="")
    host = tmp_path / "app1"
    argv = [sys.executable, "-I", str(tmp_path / "ssh.py"), "app1", "sh"]
    with ScriptSession(argv=argv, target="ssh://app1", folder="app1", may_be_windows=True) as session:
        if was_read:
            assert not list(session.tables())
            session.close()
        (tmp_path / "ssh.py").write_text("import sys; sys.exit('fork: retry')")
        (gap,) = session.tables()
        assert "fork: retry" in gap.reason
        (tmp_path / "ssh.py").write_text(Path(__file__).with_name("fake_windows.py").read_text())
        assert not list(session.tables())
    assert not (host / "heard-powershell").exists()
    assert "tables\n" in (host / "heard-sh").read_text()


def test_a_file_of_windows_is_to_be_copied() -> None:
    assert b"copy the file with scp" in ldapdiag("log", "ssh://dc1/C:/events.xml").err
