"""What `ldapdiag indexes` prints for a 389-ds with two databases, pasted and as a script, in a terminal on its host."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

import pytest

from command import ldapdiag
from lab.directory_servers import DSE, PASSWORD
from lab.host import Host, wait_for
from lab.laboratory import need
from lab.odd_directory import ACCESS
from lab.two_database_servers import two_databases_389
from lab.two_databases import EXAMPLE, PARTNERS

PROMPT = "Enter LDAP Password: "
COPIES = "find /run/copies -type f"
WANTED = {EXAMPLE: ("employeeNumber", "displayName"), PARTNERS: ("employeeNumber", "title")}
TIMES = 10
WRONG = "no password"
ENVIRONMENT = {"LDAP_URI": "ldap://127.0.0.1", "TMPDIR": "/run/copies", "LANG": "C"}


@pytest.fixture(scope="module")
def server(laboratory):
    need("ns-slapd", "ldapmodify")
    with Host("ldap") as host:
        running = two_databases_389(laboratory, host)
        host.run("mkdir -m 700 /run/copies")
        yield running


@pytest.fixture(scope="module")
def site(server, tmp_path_factory):
    """Return the folder with the log of searches that need two indexes of each database, and the configuration."""
    asked = searches()
    for branch, filters in asked.items():
        values = "\n".join(one for one in filters for _ in range(TIMES)) + "\n"
        server.host.run(["ldapsearch", *BIND, "-b", branch.suffix, "-f", "-", "(%s)", "1.1"], stdin=values)
    folder = tmp_path_factory.mktemp("site") / "slapd-live"
    folder.mkdir()
    (folder / "access").write_text(server.host.run(["cat", ACCESS]))
    (folder / "dse.ldif").write_text(server.host.run(["cat", DSE]))
    return folder


BIND = ["-x", "-LLL", "-H", "ldap://127.0.0.1", "-D", "cn=Directory Manager", "-w", PASSWORD]


def searches():
    """Return a filter without parentheses for each index that is wanted."""
    return {
        branch: [f"{name}={branch.person(branch.people - 7)[name][0]}" for name in names]
        for branch, names in WANTED.items()
    }


def results(server):
    """Return the results of searches in the log, in which one may come after the client has it."""
    return server.host.run(f"grep RESULT {ACCESS} | grep tag=101 || true").splitlines()


def answers(server):
    """Return note and number of entries of one search for each index."""
    found = {}
    for branch, filters in searches().items():
        for one in filters:
            logged = len(results(server))
            server.host.run(["ldapsearch", *BIND, "-b", branch.suffix, f"({one})", "1.1"])
            wait_for(lambda logged=logged: len(results(server)) > logged, "the result is not logged")
            line = results(server)[-1]
            note = re.search(r"notes=(\S+)", line)
            found[branch.suffix, one] = (note[1] if note else "", int(re.search(r"nentries=(\d+)", line)[1]))
    return found


def in_terminal(host, argv, *, until="", act=None, password=PASSWORD):
    """Run a command in a terminal, type the password when asked; return exit status and all that is shown.

    `act` is called once when `until` is shown.
    """
    child, terminal = pty.fork()
    if child == 0:
        os.execvp("nsenter", host.enter(argv, env=ENVIRONMENT))  # noqa: S606  a command of the laboratory
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 1000, 0, 0))  # a shell would wrap longer lines
    shown, answered, deadline = "", 0, time.monotonic() + 120
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            chunk = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        shown += chunk.decode()
        if act and until in shown:
            act()
            act = None
        if shown.count(PROMPT) > answered:
            answered += 1
            os.write(terminal, f"{password}\n".encode())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    return status, shown.replace("\r\n", "\n")


def script_of(server, site):
    """Put the script on the server's host, and return the command that runs it."""
    server.host.run(["tee", "/run/script"], stdin=ldapdiag("indexes", site, "--script").text)
    return ["sh", "-c", "echo $$ > /run/script.pid; exec sh /run/script"]


def is_right_now_and_after_a_restart(server, before):
    for _ in range(2):
        after = answers(server)
        assert {note for note, _ in after.values()} == {""}
        assert {search: number for search, (_, number) in after.items()} == before
        server.restart()


def test_a_wrong_password_changes_nothing(server, site):
    before = server.host.run(["cat", DSE])
    status, shown = in_terminal(server.host, script_of(server, site), password=WRONG)
    assert status == 49
    assert "State: nothing is changed\n" in shown
    assert shown.count(PROMPT) == 1
    assert server.host.run(COPIES) == ""
    assert server.host.run(["cat", DSE]) == before


def test_the_script_builds_every_database_with_one_password_and_an_interrupted_one_can_be_run_again(server, site):
    """The server is restarted after the interruption, too, which leaves an index empty or in part."""
    before = answers(server)
    assert {note for note, _ in before.values()} == {"A"}
    command = script_of(server, site)

    def interrupt():
        server.host.run("kill -TERM $(cat /run/script.pid)")

    status, shown = in_terminal(server.host, command, until="building: ", act=interrupt)
    assert status == 143
    assert re.search(r"FAILED: Index .* in (userRoot|userroot|partners)\n", shown)
    (state,) = re.findall(r"State: (.*)\n", shown)
    assert "configured; the server builds it now, in the background. Do not restart the server before the task" in state
    assert "To undo this step:\n" in shown
    assert server.host.run(COPIES) == "", "the copy of the password is removed"
    server.restart()

    status, shown = in_terminal(server.host, command)
    assert (status, shown.count(PROMPT)) == (0, 1), shown
    assert PASSWORD not in shown.replace(PROMPT, "").replace("ldapmodify", "")
    assert "What is configured already stays as it is." in shown
    assert len(re.findall(r"building: \d+ of \d+ entries\n", shown)) >= 2
    for branch, names in WANTED.items():
        assert all(re.search(rf"right: \({name}=@\) below {branch.suffix}\n", shown) for name in names)
    assert shown.splitlines()[-1].startswith("Done. ")
    assert server.host.run(COPIES) == ""
    is_right_now_and_after_a_restart(server, {search: number for search, (_, number) in before.items()})


def test_what_the_report_prints_can_be_pasted_into_an_interactive_shell(server, site):
    """The indexes are there: what is added again stays as it is, and is built again."""
    before = answers(server)
    text = ldapdiag("indexes", site, "-v").text
    # First the plan, a block for each database, each followed by one that verifies; those of single findings follow.
    every = re.findall(r"^\(\n.*?^\)\n", text, re.MULTILINE | re.DOTALL)
    blocks = [block for block in every if "ask_password" in block][:2]
    assert len(set(blocks)) == 2
    server.host.run(["tee", "/run/pasted"], stdin="".join(f"{one}echo ended $?\n" for one in blocks) + "exit\n")
    paste = "exec bash --norc --noprofile -i < /run/pasted"
    status, shown = in_terminal(server.host, ["bash", "-c", paste])
    assert status == 0
    assert shown.count("ended 0\n") >= 2, shown
    assert shown.count(PROMPT) - shown.count(f"printf '{PROMPT}'") == 2
    is_right_now_and_after_a_restart(server, {search: number for search, (_, number) in before.items()})
