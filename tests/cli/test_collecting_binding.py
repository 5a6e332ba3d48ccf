"""Where a password comes from: a prompt needs a terminal, a file should be readable by its owner alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from command import INCIDENT, LDAPDIAG, diagnose, ldapdiag
from terminal import on_terminal

BIND = ("-D", "cn=monitor")
EVIDENCE = (INCIDENT, "--check", "conntrack-table-full")


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    """Return a file with a password."""
    (tmp_path / "password").write_text("secret\n")
    return tmp_path / "password"


class TestPrompt:
    @pytest.mark.parametrize("command", ["diagnose", "indexes"])
    def test_without_a_terminal_is_one_line(self, command: str) -> None:
        ran = ldapdiag(command, *EVIDENCE[:1], *BIND, "-W", start_new_session=True)
        assert (ran.code, ran.out) == (2, b"")
        assert ran.complaints == ["ldapdiag: -W: cannot prompt for the password: no terminal; use -y FILE"]

    def test_on_a_terminal_shows_no_password(self) -> None:
        code, screen = on_terminal(
            "diagnose", *EVIDENCE, *BIND, "-W", prompt="Password for cn=monitor: ", typed="secret\n"
        )
        assert (code, "secret" in screen) == (0, False)

    def test_on_a_terminal_works_while_standard_input_is_evidence(self) -> None:
        table = INCIDENT / "ldap" / "ss-tiepmnaO.txt"
        command = ("sh", "-c", f'"$@" < "{table}"', "sh", *LDAPDIAG)
        _, screen = on_terminal(
            "diagnose", "-", *BIND, "-W", command=command, prompt="Password for cn=monitor: ", typed="secret\n"
        )
        assert "1 file" in screen

    def test_that_is_ended_without_a_password_is_one_line(self) -> None:
        code, screen = on_terminal("diagnose", *EVIDENCE, *BIND, "-W", prompt="Password for cn=monitor: ", typed="\x04")
        assert (code, screen.splitlines()[-1]) == (
            2, "ldapdiag: -W: no password was entered; enter one, or use -y FILE",
        )  # fmt: skip

    @pytest.mark.parametrize("target", ["local:", "ldap://127.0.0.1:1", INCIDENT])
    def test_ends_at_the_first_ctrl_c(self, target: str | Path) -> None:
        code, screen = on_terminal("diagnose", target, *BIND, "-W", prompt="Password for cn=monitor: ", typed="\x03")
        assert code == 130
        assert screen.splitlines() == ["Password for cn=monitor: ", "ldapdiag: interrupted"]


class TestPasswordFile:
    @pytest.mark.parametrize(("mode", "who"), [(0o644, "all users"), (0o640, "its group"), (0o604, "all users")])
    def test_that_others_can_read_is_a_warning(self, password_file: Path, mode: int, who: str) -> None:
        password_file.chmod(mode)
        ran = diagnose(*EVIDENCE, *BIND, "-y", password_file)
        assert ran.code == 0
        assert ran.complaints == [
            f"ldapdiag: warning: {password_file} can be read by {who} (mode {mode:04o}); run chmod 600 {password_file}"
        ]

    @pytest.mark.parametrize("mode", [0o600, 0o400, 0o611])
    def test_of_its_owner_alone_is_none(self, password_file: Path, mode: int) -> None:
        password_file.chmod(mode)
        assert diagnose(*EVIDENCE, *BIND, "-y", password_file).err == b""

    def test_that_is_a_pipe_is_none(self) -> None:
        ran = diagnose(*EVIDENCE, *BIND, "-y", "/dev/stdin", stdin=b"secret")
        assert re.search(rb"warning", ran.err) is None
