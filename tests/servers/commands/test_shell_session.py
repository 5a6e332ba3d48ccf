"""A block of commands: the password, the named state, the signals, and what is left of it in a script."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from ldapdiag.servers.commands.shell_session import SESSION, block, from_file, is_block, without_libraries

TOOL = from_file('ldapsearch -x -H ldap://ds1 -D "cn=Directory Manager" -W')
SHELLS = [one for one in ("dash", "bash", "busybox") if shutil.which(one)]
LIBRARY = 'noted() { cat "$1"; ls -l "$1" | cut -c1-10; }'


@pytest.fixture(params=SHELLS)
def shell(request):
    return [request.param, *(["sh"] if request.param == "busybox" else [])]


def run(shell, folder, text, **environment):
    return subprocess.run(
        [*shell, "-c", text], capture_output=True, text=True, check=False, timeout=60, start_new_session=True,
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(folder), **environment},
    )  # fmt: skip


@pytest.mark.parametrize("content", ["secret", "secret\n", "a b  $(id) \\c %s\n"])
def test_the_password_of_a_file_reaches_the_tools_in_a_copy_for_its_owner_that_is_removed(tmp_path, shell, content):
    file = tmp_path / "password"
    file.write_text(content)
    copies = tmp_path / "copies"
    copies.mkdir()
    text = block(f"search() {{ {TOOL}; }}", 'noted "$password_copy"', LIBRARY)
    done = run(shell, copies, text, LDAP_PASSWORD_FILE=str(file))
    assert (done.returncode, done.stdout) == (0, f"{content.rstrip(chr(10))}-rw-------\n")
    assert not list(copies.iterdir())


def test_without_file_and_terminal_nothing_is_done(tmp_path, shell):
    done = run(shell, tmp_path, block(f"search() {{ {TOOL}; }}", "say never"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "set LDAP_PASSWORD_FILE" in done.stderr
    assert "State: nothing is changed\n" in done.stderr


def test_a_bind_without_password_asks_for_none(tmp_path, shell):
    done = run(shell, tmp_path, block("search() { :; }", "say done"))
    assert (done.returncode, done.stdout) == (0, "done\n")


@pytest.mark.parametrize(
    ("command", "code"), [("false", 1), ("(exit 53)", 53), ("kill -TERM \"$(sh -c 'echo $PPID')\"", 143)]
)
def test_what_fails_or_is_interrupted_leaves_a_named_state(tmp_path, shell, command, code):
    steps = f"step='one step' state='half of it'\n{command}\nsleep 5 &\nwait \"$!\"\nsay never"
    done = run(shell, tmp_path, block("", steps))
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == "FAILED: one step\nState: half of it\n"


def test_a_script_has_the_libraries_once(tmp_path, shell):
    blocks = [f"# a comment\n{block('name() { say ' + name + '; }', 'name', LIBRARY)}" for name in ("one", "two")]
    assert all(is_block(one) for one in blocks)
    parts = [without_libraries(one, (LIBRARY,)) for one in blocks]
    assert not any(SESSION in one or LIBRARY in one for one in parts)
    done = run(shell, tmp_path, "\n".join([SESSION, LIBRARY, *parts]))
    assert (done.returncode, done.stdout, done.stderr) == (0, "one\ntwo\n", "")


def test_other_commands_are_no_blocks():
    assert not is_block("(\nset -e\nsystemctl stop slapd\n)")
    assert from_file("ldapsearch -Q -Y EXTERNAL -H ldapi:///") == "ldapsearch -Q -Y EXTERNAL -H ldapi:///"


def test_what_it_says_is_no_escape_of_an_echo(tmp_path, shell):
    """The echo of dash makes a terminal sequence of it, which may write the clipboard (OSC 52)."""
    hostile = r"cn=a\033]52;c;Zg==\007\n-n %s"
    done = run(shell, tmp_path, block("", f"step='{hostile}' state='{hostile}'\nsay '{hostile}'\nfalse"))
    assert (done.stdout, done.stderr) == (f"{hostile}\n", f"FAILED: {hostile}\nState: {hostile}\n")
