"""A server that does not answer: stopped, looping, out of threads, blocked on a lock; and busy ones that do answer."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest

from lab.applications import OPEN, Application
from lab.by_hand import CLIENT, capture, commands_of
from lab.directory_servers import SUFFIX, account
from lab.fleet import start_fleet
from lab.host import wait_for
from lab.raw_clients import READS_NOTHING, SILENT_HELPER, WRITE_LOCK
from lab.terminal import paste

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lab.desk import Desk, Said
    from lab.directory_servers import Server
    from lab.host import Host
    from lab.laboratory import Laboratory
    from lab.topology import Topology

COUNT = 30
THREADS, HOGS = 4, 6
"""Worker threads of slapd, and operations that never end: two of them find no thread."""
APART = ("--apart", "2.5")
BLAME_CLIENTS = ("unreleased-connections", "connection-churn", "stalled-reader", "unclean-closes")
CONFIGURATION = f"threads {THREADS}\nmoduleload back_perl\nmoduleload back_sock\n"
LOOP = "package Hung; sub new { bless {}, shift } sub init { 0 } sub search { 1 while 1; } 1;"


def ask(application: Application, host: Host) -> None:
    """Let an application send a request on each of its connections; wait until none of them is read."""
    application.begin("use")
    wait_for(lambda: unread(host) >= COUNT, "the requests do not arrive", seconds=60)


def unread(host: Host) -> int:
    """Return how many connections of the server have unread requests."""
    rows = host.run("ss -Htn state established state close-wait sport = :389").splitlines()
    return sum(int(row.split()[1]) > 1 for row in rows)


def hangs(topology: Topology) -> bool:
    """Return whether operations wait for a thread, and one more is not answered within two seconds."""
    search = ["timeout", "2", "ldapsearch", "-x", "-H", "ldap://10.77.1.2", "-b", "", "-s", "base", "1.1"]
    return unread(topology.ldap) >= HOGS - THREADS and topology.app2.attempt(search).returncode == 124


def names_it(said: Said, state: str, *, waiting: int = COUNT) -> None:
    """Assert that the server is found to be in this state, and that no client is blamed."""
    (found,) = said.found("server-unresponsive")
    assert (found["observed"]["state"], found["severity"], said.code) == (state, "critical", 1)
    assert found["observed"]["waiting"] >= waiting
    assert [check for check in BLAME_CLIENTS if said.found(check)] == []
    assert said.outcomes("unreleased-connections") == {"not-judged"}


def is_stopped(server: Server) -> bool:
    """Return whether all its threads have stopped: on a busy machine one may read a request after the signal."""
    states = server.host.run(f"grep -h ^State: /proc/{server.pid}/task/*/status").splitlines()
    return {state.split()[1] for state in states} == {"T"}


@pytest.fixture
def stop() -> Iterator[Callable[[Server], None]]:
    """Return what stops a server; it continues at the end, or nothing but SIGKILL would end it."""
    stopped: list[Server] = []

    def stop_one(server: Server) -> None:
        stopped.append(server)
        server.host.run(f"kill -STOP {server.pid}")
        wait_for(lambda: is_stopped(server), "the server runs on")

    yield stop_one
    for server in stopped:
        server.host.run(f"kill -CONT {server.pid}")
        if server.process.poll() is None:
            server.process.send_signal(signal.SIGCONT)  # nsenter stops itself when its child does


# What keeps a real slapd from answering: each function leaves two requests without a thread.


def looping(topology: Topology, folder: Path) -> None:
    """Let the code of a backend loop, while the others wait for its interpreter."""
    search_on(topology.app2, "dc=perl")


def silent_helper(topology: Topology, folder: Path) -> None:
    """Pass each search on to a program that does not answer."""
    topology.ldap.start([sys.executable, "-I", "-S", "-c", SILENT_HELPER, "/run/silent.sock"])
    wait_for(lambda: topology.ldap.run("ss -Hxl src /run/silent.sock"), "the helper does not listen")
    search_on(topology.app2, "dc=sock")


def unread_answers(topology: Topology, folder: Path) -> None:
    """Do not read large answers: each occupies a thread."""
    program = [sys.executable, "-I", "-S", "-c", READS_NOTHING, "10.77.1.2", f"cn=admin,{SUFFIX}", SUFFIX, str(HOGS)]
    topology.app2.start(program)


def write_lock(topology: Topology, folder: Path) -> None:
    """Begin a transaction in the database with another program, and do not end it."""
    locked = folder / "locked"
    topology.ldap.start([sys.executable, "-I", "-S", "-c", WRITE_LOCK, "/var/lib/ldap", str(locked)])
    wait_for(locked.exists, "the database is not locked")
    change = f"dn: {account('application_foo')}\nchangetype: modify\nreplace: description\ndescription: x\n"
    file = folder / "change.ldif"
    file.write_text(change)
    for _ in range(HOGS):
        bind = ["-x", "-D", f"cn=admin,{SUFFIX}", "-w", "password"]
        topology.app2.start(["ldapmodify", "-H", "ldap://10.77.1.2", *bind, "-f", str(file)])


def search_on(host: Host, base: str) -> None:
    for _ in range(HOGS):
        host.start(["ldapsearch", "-x", "-H", "ldap://10.77.1.2", "-b", base])


def large_entries() -> str:
    """Return LDIF of ten megabytes."""
    text = "x" * 100_000
    each = (f"dn: cn=a{n},{SUFFIX}\nobjectClass: device\ncn: a{n}\ndescription: {text}\n" for n in range(99))
    return "\n".join(each)


def slapd_with_backends(laboratory: Laboratory, topology: Topology, folder: Path) -> Server:
    """Start a slapd with a few threads, large entries, and backends that may hang."""
    (folder / "Hung.pm").write_text(LOOP)
    databases = f"database perl\nsuffix dc=perl\nperlModulePath {folder}\nperlModule Hung\n"
    databases += "database sock\nsuffix dc=sock\nsocketpath /run/silent.sock\n"
    return laboratory.slapd(
        topology.ldap, configuration=CONFIGURATION, database=databases, entries=large_entries(), by_file=True
    )


@pytest.mark.parametrize(
    ("hang", "state"),
    [
        (looping, "looping"),
        (silent_helper, "out-of-threads"),
        (unread_answers, "out-of-threads"),
        (write_lock, "blocked-on-lock"),
    ],
)
def test_what_keeps_a_slapd_from_answering_is_named(
    laboratory, topology, desk: Desk, start, tmp_path, hang: Callable[[Topology, Path], None], state: str
) -> None:
    slapd_with_backends(laboratory, topology, tmp_path)
    app = start(topology.app1, "held", count=COUNT, patience=60)
    hang(topology, tmp_path)
    wait_for(lambda: hangs(topology), "the server has threads left", seconds=60)
    ask(app, topology.ldap)
    names_it(desk.diagnose("ssh://ldap", "ssh://app1", *APART), state)


def test_a_389_ds_without_free_threads_is_named(laboratory, topology, desk: Desk, start) -> None:
    """Clients do not read large answers, and the server waits for each of them for half an hour."""
    settings = {"nsslapd-threadnumber": str(THREADS), "nsslapd-ioblocktimeout": "1800000"}
    server = laboratory.ds389(topology.ldap, settings=settings)
    add = ["ldapadd", "-x", "-H", "ldap://localhost", "-D", server.administrator, "-w", "password"]
    topology.ldap.run(add, stdin=large_entries())
    app = start(topology.app1, "held", count=COUNT, patience=60)
    program = [sys.executable, "-I", "-S", "-c", READS_NOTHING, "10.77.1.2", server.administrator, SUFFIX]
    topology.app2.start([*program, str(HOGS)])
    wait_for(lambda: hangs(topology), "the server has threads left", seconds=60)
    ask(app, topology.ldap)
    names_it(desk.diagnose("ssh://ldap", "ssh://app1", *APART), "out-of-threads")


class TestStopped:
    @pytest.mark.parametrize("family", ["openldap", "389-ds"])
    def test_is_named_on_the_server_itself(self, laboratory, topology, desk, start, stop, family: str) -> None:
        server = laboratory.server(family, topology.ldap)
        app = start(topology.app1, "held", count=COUNT, patience=60)
        stop(server)
        ask(app, topology.ldap)
        names_it(desk.diagnose("local:", "ssh://app1", *APART, host=topology.ldap), "stopped")

    def test_every_way_of_capture_names_it(self, laboratory, topology, desk, start, stop, tmp_path) -> None:
        server = laboratory.slapd(topology.ldap)
        app = start(topology.app1, "held", count=COUNT, patience=60)
        stop(server)
        ask(app, topology.ldap)
        names_it(desk.diagnose("ssh://ldap", "ssh://app1", *APART), "stopped")
        archive = tmp_path / "incident.tar.gz"
        code, _, err = desk.run("collect", "ssh://ldap", "ssh://app1", *APART, "--output", str(archive))
        assert code == 0, err
        names_it(desk.diagnose(str(archive)), "stopped")
        topology.ldap.run(f"kill -CONT {server.pid}")
        app.obeyed()
        assert app.truth().fates == {OPEN: COUNT}

    @pytest.mark.parametrize("family", ["openldap", "389-ds"])
    def test_the_remedy_saves_its_threads_and_continues_it(self, laboratory, topology, desk, stop, family: str) -> None:
        server = laboratory.server(family, topology.ldap)
        stop(server)
        (found,) = desk.diagnose("ssh://ldap", "--apart", "0.3").found("server-unresponsive")
        assert found["observed"]["pid"] == server.pid
        save, resume = found["remedies"]
        saved = paste(topology.ldap, save["text"])
        assert "threads.txt" in str(saved)
        paste(topology.ldap, resume["text"])
        said = desk.diagnose("ldap://ldap", "ssh://ldap", "--apart", "0.3")
        assert said.found("server-unresponsive") == []


def test_what_is_captured_by_hand_shows_that_nothing_is_read_and_why(
    laboratory, topology, desk, start, stop, tmp_path
) -> None:
    server = laboratory.slapd(topology.ldap)
    app = start(topology.app1, "held", count=COUNT, patience=60)
    stop(server)
    ask(app, topology.ldap)
    for number in (1, 2):
        block = commands_of("## If the directory server does not answer").replace("SNAP=snap1", f"SNAP=snap{number}")
        topology.ldap.run(f"cd {tmp_path}\n{block}\nsleep 3")
        capture(topology.app1, CLIENT, tmp_path / f"incident/snap{number}")
    names_it(desk.diagnose(str(tmp_path / "incident")), "stopped")
    for threads in tmp_path.rglob("threads.txt"):
        threads.unlink()
    names_it(desk.diagnose(str(tmp_path / "incident")), "no-answer")


def test_of_two_servers_on_a_host_the_stopped_one_is_named(laboratory, topology, desk) -> None:
    members = start_fleet(topology.ldap, laboratory.folder, (389, 1389), descriptors=200)
    for port in members:
        Application(topology.app1, "held", address="10.77.1.2", port=port, count=5).ready()
    pid = members[1389].pid
    topology.ldap.run(f"kill -STOP {pid}")
    said = desk.diagnose("ldap://ldap", "ldap://ldap:1389", "ssh://ldap", "--apart", "0.3", "--timeout", "5")
    topology.ldap.run(f"kill -CONT {pid}")
    members[1389].process.send_signal(signal.SIGCONT)
    (found,) = said.found("server-unresponsive")
    assert (found["server"], found["observed"]["state"], found["observed"]["pid"]) == ("ldap:1389", "stopped", pid)
    assert said.outcome("server-unresponsive", "ldap:389") == "clear"


class TestTarget:
    def test_that_refuses_is_a_finding_beside_a_healthy_host(self, laboratory, topology, desk, tmp_path) -> None:
        laboratory.slapd(topology.ldap)
        archive = tmp_path / "capture.tar.gz"
        targets = ("ldap://ldap:2389", "ssh://ldap", "--apart", "0.3")
        code, _, err = desk.run("collect", *targets, "--output", str(archive))
        assert code == 0, err
        for said in (desk.diagnose(*targets), desk.diagnose(str(archive))):
            (found,) = said.found("server-unresponsive")
            assert (found["observed"]["state"], found["observed"]["outcome"]) == ("not-listening", "refused")
            assert (found["severity"], said.code) == ("high", 1)
            # No connection is open at the server that does listen, so nothing shows that it reads.
            assert said.outcome("server-unresponsive", "ldap") == "not-judged"

    def test_that_is_stopped_does_not_answer(self, laboratory, topology, desk, stop) -> None:
        server = laboratory.slapd(topology.ldap)
        stop(server)
        said = desk.diagnose("ldap://ldap", "ssh://app1", "--apart", "0.3", "--timeout", "2")
        (found,) = said.found("server-unresponsive")
        assert (found["observed"]["outcome"], said.code) == ("no-answer", 1)
        (found,) = desk.diagnose("ldap://ldap", "ssh://ldap", "--apart", "0.3").found("server-unresponsive")
        assert (found["observed"]["outcome"], found["observed"]["state"]) == ("no-answer", "stopped")

    def test_that_refuses_a_password_answers(self, laboratory, topology, desk, tmp_path) -> None:
        laboratory.slapd(topology.ldap)
        wrong = tmp_path / "wrong"
        wrong.write_text("Guess")
        bind = ("-D", f"cn=admin,{SUFFIX}", "-y", str(wrong))
        said = desk.diagnose("ldap://ldap", "ssh://ldap", "--apart", "0.3", *bind)
        assert "invalidCredentials (49)" in said.gaps["ldap://ldap"]
        assert said.found("server-unresponsive") == []


@pytest.mark.parametrize("family", ["openldap", "389-ds"])
def test_a_busy_server_is_not_one_that_does_not_answer(
    laboratory, topology, desk, start, tmp_path, family: str
) -> None:
    """200 connections a second and a pool in use: some are in CLOSE-WAIT at any time, none stands there."""
    server = laboratory.server(family, topology.ldap)
    start(topology.app1, "held", count=COUNT)
    start(topology.app1, "pool", count=20, every=0.5, name="foo")
    churn = start(topology.app2, "churn", rate=200, name="foo")
    bind = ("-D", server.administrator, *desk.bind[2:])
    for _ in range(2):
        said = desk.diagnose("ldap://ldap", "ssh://ldap", "ssh://app1", "ssh://app2", *bind, "--apart", "2")
        assert said.found("server-unresponsive") == []
        assert said.outcomes("server-unresponsive") == {"clear"}
        assert said.outcomes("close-wait-backlog") == {"clear"}
    for snapshot in ("snap1", "snap2"):
        (tmp_path / snapshot / "ldap").mkdir(parents=True)
        topology.ldap.run(f"cd {tmp_path / snapshot}/ldap; ss -tan > ss-tan.txt; sleep 2")
        said = desk.diagnose(str(tmp_path))
        assert said.found("close-wait-backlog") == []
    assert said.outcomes("close-wait-backlog") == {"clear"}
    assert len(churn.truth().sockets) > 200
