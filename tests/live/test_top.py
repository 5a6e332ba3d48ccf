"""ldapdiag top on a real terminal beside real servers: what the screen says, against what the sockets say."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from lab import boxes
from lab.applications import OPEN
from lab.host import wait_for
from lab.multiplexer import Multiplexer, number, row
from lab.searching_client import Lane, searching
from ldapdiag.sources.history.recorded_runs import read

RATE = 2
"""Connections a second that the leak opens."""
BOX_SECONDS = 2
SESSIONS = "ps -eo args | grep -E '^(sh|dd .*|tail .*)$|[s]shd.*@notty' || true"
"""Prints the sessions of ssh on a host, and what the script runs there."""
MIDDLE, SHAPE = "(description=*iddl*)", "(description=*?*)"


def ours(server, desk) -> set:
    """Return the ends of the desk itself at the server."""
    return {end for end in server.held() if end[0] == "10.77.9.2"}


@pytest.mark.parametrize("family", ["389-ds", "openldap"])
def test_numbers_against_the_truth(laboratory, topology, desk, start, tmp_path: Path, family: str) -> None:
    server = laboratory.server(family, topology.ldap)
    bind = ("-D", server.administrator, *desk.bind[2:])
    held = start(topology.app2, "held", count=7, name="foo")
    leak = start(topology.app1, "drip", rate=RATE)
    command = desk.command("top", "ldap://ldap", "ssh://ldap", "ssh://app1", *bind, "--every", "10", "--apart", "1")
    with Multiplexer(topology.desk, command, env=desk.environment, name=family) as screen:
        screen.shows(lambda text: len(row(text, "10.77.2.2")) > 2, "no client", seconds=30)
        begun = time.monotonic()
        screen.shows(lambda text: row(text, "10.77.2.2")[2:3] not in ([], ["-"]), "no rate", seconds=60)
        text = screen.shows(lambda text: time.monotonic() - begun > 40 and "OLD" not in text, "no time", seconds=60)
        before = len(leak.truth().ends(OPEN))
        (tmp_path / "screen.txt").write_text(text)
        assert int(row(text, "10.77.3.2")[1]) == len(held.truth().ends(OPEN))
        shown = int(row(text, "10.77.2.2")[1].replace(",", ""))
        assert before - 25 * RATE <= shown <= before + RATE, text
        assert abs(number(text, "connections") - 7 - before) <= 6 * RATE, text
        rate = float(row(text, "10.77.2.2")[2].replace(",", ""))
        assert 60 * RATE * 0.5 < rate < 60 * RATE * 1.7, text
        assert row(text, "10.77.2.2")[5] == "0", text  # ghosts: judged at both ends, and none
        assert row(text, "10.77.3.2")[5] == "-", text  # app2 was not read
        leak.end()
        _survives_a_hang(screen, server, topology)
        screen.resize(60, 15)
        text = screen.shows(lambda text: "/MIN" in text and "/MIN ALL" not in text, "no small screen")
        assert all(len(line) <= 60 for line in text.splitlines()), text
        screen.keys("q")
        screen.shows(lambda text: "exit 0" in text, "does not end", seconds=20)
        assert screen.processes() == []
    wait_for(lambda: not ours(server, desk), "a connection of the desk is left", seconds=20)


def _survives_a_hang(screen: Multiplexer, server, topology) -> None:
    """Stop the server, let it go on, and restart it: the screen says each."""
    topology.ldap.run(["kill", "-STOP", str(server.pid)])
    screen.shows(lambda text: "counters OLD" in text, "the counters do not grow old", seconds=40)
    screen.keys("?")
    screen.shows(lambda text: "the next order" in text, "keys wait for the server", seconds=5)
    screen.keys("Escape")
    topology.ldap.run(["kill", "-CONT", str(server.pid)])
    with suppress(ProcessLookupError):  # where nsenter has stopped with its child, and would never reap it
        os.kill(server.process.pid, signal.SIGCONT)
    screen.shows(lambda text: "counters OLD" not in text, "the counters stay old", seconds=60)
    server.restart()
    screen.shows(lambda text: "restarted" in text or number(text, "connections") in range(4), "no restart", seconds=60)
    screen.shows(lambda text: row(text, "10.77.3.2")[1:2] != ["7"], "connections of before the restart", seconds=20)


@pytest.mark.parametrize("number_of", [signal.SIGHUP, signal.SIGKILL])
def test_nothing_is_left_when_the_terminal_goes(laboratory, topology, desk, number_of: signal.Signals) -> None:
    server = laboratory.server("openldap", topology.ldap)
    bind = ("-D", server.administrator, *desk.bind[2:])
    command = desk.command("top", "ldap://ldap", "ssh://ldap", *bind, "--every", "10", "--apart", "1")
    with Multiplexer(topology.desk, command, env=desk.environment, name=number_of.name) as screen:
        screen.shows(lambda text: number(text, "connections") >= 0, "no counters", seconds=30)
        assert ours(server, desk)
        processes = screen.processes()
        assert processes
        if number_of is signal.SIGKILL:
            os.kill(screen.server, number_of)
        else:
            screen.run("kill-session")
        wait_for(lambda: not any(Path(f"/proc/{one}").exists() for one in processes), "a process is left", seconds=20)
    wait_for(lambda: not ours(server, desk), "a connection of the desk is left", seconds=20)
    wait_for(lambda: not topology.ldap.run(SESSIONS).strip(), "a session is left", seconds=20)


def test_ghosts_move_to_the_top_and_are_recorded(laboratory, topology, desk, start, tmp_path: Path) -> None:
    server = laboratory.server("389-ds", topology.ldap)
    boxes.silent_drop(topology.fw, BOX_SECONDS)
    start(topology.app2, "held", count=30, name="foo")
    app = start(topology.app1, "leaking", count=6, rest=BOX_SECONDS + 1, rounds=2, live=2)
    targets = ("ldap://ldap", "ssh://ldap", "ssh://app1", "ssh://fw")
    history = tmp_path / "history"
    recorded = ("--every", "10", "--apart", "1", "--record", str(history))
    command = desk.command("top", *targets, *desk.bind, *recorded)
    with Multiplexer(topology.desk, command, env=desk.environment, name="ghosts") as screen:
        wanted = len(app.truth().ends("unanswered") & server.held())
        text = screen.shows(
            lambda text: row(text, "10.77.2.2")[5:6] == [str(wanted)], f"not {wanted} ghosts", seconds=90
        )
        names = re.findall(r"10\.77\.[23]\.2", "\n".join(text.splitlines()[6:]))
        assert names[0] == "10.77.2.2", text
        screen.keys("Enter")
        screen.shows(lambda text: f"{wanted} ghosts" in text and "no longer exist" in text, "not the client's page")
        screen.keys("C-c")
        screen.shows(lambda text: "exit 0" in text, "does not end", seconds=20)
    assert read(history).runs[-1].servers[0].ghosts == wanted
    command = desk.command("top", "--replay", str(history))
    with Multiplexer(topology.desk, command, env=desk.environment, name="replay") as screen:
        screen.shows(lambda text: "REPLAY" in text and f"ghosts {wanted}" in text, "no replay", seconds=40)
        screen.keys("q")
        screen.shows(lambda text: "exit 0" in text, "does not end", seconds=20)


@pytest.mark.parametrize("family", ["389-ds", "openldap"])
def test_ghosts_appear_between_two_diagnoses(laboratory, topology, desk, start, tmp_path: Path, family: str) -> None:
    server = laboratory.server(family, topology.ldap)
    boxes.silent_drop(topology.fw, BOX_SECONDS)
    held = start(topology.app1, "held", count=3)
    bind = ("-D", server.administrator, *desk.bind[2:])
    command = desk.command("top", "ldap://ldap", "ssh://ldap", "ssh://app1", *bind, "--every", "3600", "--apart", "1")
    with Multiplexer(topology.desk, command, env=desk.environment, name=f"between-{family}") as screen:
        cells = lambda text: row(text, "10.77.2.2")[1:6]  # noqa: E731  one line
        screen.shows(lambda text: cells(text)[3:] == ["3", "0"], "no zero of the diagnosis", seconds=120)
        app = start(topology.app1, "leaking", count=6, rest=BOX_SECONDS + 1, rounds=2, live=2)
        wanted = len(app.truth().ends("unanswered") & server.held())
        text = screen.shows(lambda text: cells(text)[4:] == [str(wanted)], f"not {wanted} ghosts", seconds=180)
        assert f"now {wanted} ghosts" in text
        screen.resize(100, 60)
        screen.keys("Enter")
        ghosts, live = r"^ +(\d+) .*ESTABLISHED +absent +ghost", r"^ +(\d+) .*ESTABLISHED +ESTABLISHED"
        ports = lambda pattern, text: {int(port) for port in re.findall(pattern, text, re.MULTILINE)}  # noqa: E731  one line
        page = screen.shows(lambda text: len(ports(ghosts, text)) == wanted, "not the client's page")
        (tmp_path / "page.txt").write_text(page)
        assert ports(ghosts, page) == {port for _, port in app.truth().ends("unanswered") & server.held()}
        assert ports(live, page) >= {port for _, port in held.truth().ends(OPEN)}
        screen.keys("Escape")
        screen.resize(80, 24)
        sessions = [one for one in screen.processes() if "app1" in Path(f"/proc/{one}/cmdline").read_text().split("\0")]
        assert sessions
        for one in sessions:
            os.kill(one, signal.SIGKILL)
        screen.shows(lambda text: cells(text)[4:] == ["-"], "what is no longer read stays", seconds=120)
        screen.shows(lambda text: cells(text)[4:] == [str(wanted)], "does not come back", seconds=180)
        screen.keys("q")
        screen.shows(lambda text: "exit 0" in text, "does not end", seconds=20)
        assert screen.processes() == []
    for host in (topology.app1, topology.ldap):
        wait_for(lambda host=host: not host.run("pgrep -f '[n]otty' || true").strip(), "a session is left", seconds=20)


@pytest.mark.parametrize("family", ["389-ds", "openldap"])
def test_on_the_server_itself_over_ldapi(laboratory, topology, desk, start, family: str) -> None:
    laboratory.server(family, topology.ldap)
    start(topology.app1, "held", count=5)
    command = desk.command("top", "--every", "10", "--apart", "1")
    with Multiplexer(topology.ldap, command, env=desk.environment | {"TERM": "dumb"}, name=f"local-{family}") as screen:
        text = screen.shows(lambda text: row(text, "10.77.2.2")[1:2] == ["5"], "not five connections", seconds=60)
        assert "ldapi://" in text
        screen.shows(lambda text: re.search(r"diagnosis \d+ s ago", text), "no diagnosis")
        assert row("\n".join(screen.lines), "10.77.2.2")[4:6] == ["-", "-"]  # the other end was not read
        screen.keys("q")
        screen.shows(lambda text: "exit 0" in text, "does not end", seconds=20)


@pytest.mark.parametrize("family", ["389-ds", "openldap"])
def test_searches_of_the_log_against_the_client(laboratory, topology, desk, tmp_path: Path, family: str) -> None:
    server = laboratory.server(family, topology.ldap)
    lanes = {"middle": Lane("dc=example,dc=com", "sub", MIDDLE), "uid": Lane("dc=example,dc=com", "sub", "(uid=no)")}
    command = desk.command("top", "--every", "10", "--apart", "1")
    screen = Multiplexer(topology.ldap, command, env=desk.environment, name=f"log-{family}")
    with searching(server, lanes) as client, screen:
        screen.keys("f", "s", "s", "s", "s")  # in the order of the filters
        begun = time.monotonic()
        text = screen.shows(lambda text: SHAPE in text and time.monotonic() - begun > 80, "no search", seconds=120)
        shown_at = time.monotonic()
        screen.keys("/", *"description", "Enter", "Enter")
        page = screen.shows(lambda text: "sent by" in text and "plan: " in text, "not its page", seconds=20)
        page = screen.shows(lambda text: "no diagnosis" not in text, "no plan", seconds=60)
        screen.keys("Escape", "Escape", "c", "q")
        screen.shows(lambda text: "exit 0" in text, "does not end", seconds=20)
    (tmp_path / "screens.txt").write_text(f"{text}\n{page}")
    stated = re.search(r"([\d.]+) s until (\d+) s ago", text)
    assert stated is not None, text
    seconds, end = float(stated[1]), shown_at - float(stated[2])
    sent = [one for one in client.of("middle") if end - seconds < one.ended <= end]
    cells = row(text, SHAPE)
    assert float(cells[2]) == pytest.approx(len(sent) / seconds, rel=0.25), text
    assert "127.0.0.1" in page
    if family == "389-ds":
        assert int(cells[5].replace(",", "")) > 0.8 * len(sent), text
        assert "plan: ldap has no index description sub" in page
    else:
        assert cells[5] == "-", text  # slapd notes nothing


def test_a_named_log_is_removed_while_it_is_followed(laboratory, topology, desk) -> None:
    server = laboratory.server("389-ds", topology.ldap)
    log = Path("/var/log/dirsrv/slapd-live/access")
    command = desk.command("top", "ldap://127.0.0.1", str(log), *desk.bind, "--every", "60", "--apart", "1")
    with Multiplexer(topology.ldap, command, env=desk.environment, name="rotated", size=(120, 24)) as screen:
        screen.keys("f")
        with searching(server, {"middle": Lane("dc=example,dc=com", "sub", MIDDLE)}):
            screen.shows(lambda text: SHAPE in text, "no search", seconds=60)
            topology.ldap.run(f"rm {log}")
            begun = time.monotonic()  # the server writes on to the file that has no name
            goes_on = lambda text: SHAPE in text and "OLD" not in text and time.monotonic() - begun > 20  # noqa: E731  one line
            screen.shows(goes_on, "is not followed", seconds=90)
        server.restart()
        with searching(server, {"uid": Lane("dc=example,dc=com", "sub", "(uid=no)")}):
            screen.shows(lambda text: "(uid=?)" in text and "OLD" not in text, "not the new file", seconds=90)
        screen.keys("q")
        screen.shows(lambda text: "exit 0" in text, "does not end", seconds=20)


def test_a_log_is_followed_over_ssh(laboratory, topology, desk) -> None:
    """Each ssh is killed and comes back; the log is rotated; nothing is left on the server's host."""
    server = laboratory.server("389-ds", topology.ldap)
    command = desk.command("top", "ldap://ldap", "ssh://ldap", *desk.bind, "--every", "600", "--apart", "1")
    with Multiplexer(topology.desk, command, env=desk.environment, name="ssh-log", size=(120, 24)) as screen:
        screen.keys("f")
        with searching(server, {"middle": Lane("dc=example,dc=com", "sub", MIDDLE)}) as client:
            begun = time.monotonic()
            text = screen.shows(lambda text: SHAPE in text and time.monotonic() - begun > 80, "no search", seconds=120)
            shown_at = time.monotonic()
        minute = [one for one in client.of("middle") if shown_at - 65 < one.ended <= shown_at - 5]
        assert float(row(text, SHAPE)[2]) == pytest.approx(len(minute) / 60, rel=0.25), text
        screen.shows(lambda text: re.search(r"diagnosis \d+ s ago", text), "no diagnosis", seconds=90)
        sessions = [one for one in screen.processes() if Path(f"/proc/{one}/comm").read_text() == "ssh\n"]
        assert len(sessions) == 2, "that of the log, and that of the tables"
        for ssh in sessions:
            os.kill(ssh, signal.SIGKILL)
        screen.shows(lambda text: "log OLD" in text and "not followed" in text, "the lost session is not shown")
        server.restart()  # 389-ds then begins another file
        with searching(server, {"uid": Lane("dc=example,dc=com", "sub", "(uid=no)")}):
            screen.shows(lambda text: "(uid=?)" in text and "OLD" not in text, "does not come back", seconds=120)
        assert topology.ldap.run(SESSIONS).strip()
        screen.run("kill-session")
        wait_for(lambda: not topology.ldap.run(SESSIONS).strip(), "a process is left", seconds=20)
