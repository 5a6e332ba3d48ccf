"""Network namespaces and directory servers of this host are found, and entering one changes nothing here."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from holding import sockets_held
from lab.laboratory import need
from ldapdiag.sources.live.local import namespaces, processes

NAME = f"ldapdiag-{os.getpid()}"
LONGEST = 15
"""Characters of a program's name in the kernel."""


@pytest.fixture(scope="module")
def slapd(laboratory, tmp_path_factory):
    """Return a process called slapd, which listens at three ports and a path, in a namespace of its own."""
    folder = tmp_path_factory.mktemp("run")
    with sockets_held("slapd", folder=str(folder)) as pid:
        yield pid, f"{folder}/ldapi"


@pytest.fixture
def named(laboratory):
    need("ip")
    subprocess.run(["ip", "netns", "add", NAME], check=True)
    yield NAME
    subprocess.run(["ip", "netns", "delete", NAME], check=True)


def test_our_own_comes_first_and_others_are_found(slapd):
    pid, _ = slapd
    told = namespaces.find_namespaces()
    assert told.found[0].own
    assert [one.own for one in told.found[1:]] == [False] * (len(told.found) - 1)
    (found,) = [one for one in told.found if one.identity == namespaces.identity(pid)]
    assert (found.pid, found.program, found.path, found.name) == (pid, "slapd", f"/proc/{pid}/ns/net", None)


def test_each_namespace_is_found_once(slapd):
    identities = [one.identity for one in namespaces.find_namespaces().found]
    assert len(set(identities)) == len(identities) > 1
    assert slapd


def test_a_named_namespace_is_found_without_a_process_in_it(named):
    (found,) = [one for one in namespaces.find_namespaces().found if one.name == named]
    assert found == namespaces.find_named(named)
    assert (found.pid, found.path, found.own) == (None, f"/run/netns/{named}", False)


def test_an_unknown_name_is_an_error():
    with pytest.raises(FileNotFoundError):
        namespaces.find_named("ldapdiag-no-such-thing")


def test_a_process_that_has_ended_has_none():
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert namespaces.identity(ended.pid) == ""


def test_only_what_is_open_netlink_inside_stays_there(slapd):
    pid, _ = slapd
    before = Path("/proc/self/ns/net").readlink()

    def connected():
        with socket.create_connection(("127.0.0.1", 6360), timeout=5):
            return Path("/proc/thread-self/ns/net").readlink()

    assert namespaces.run_inside(f"/proc/{pid}/ns/net", connected) == Path(f"/proc/{pid}/ns/net").readlink()
    assert Path("/proc/thread-self/ns/net").readlink() == before
    assert namespaces.run_inside(None, lambda: Path("/proc/thread-self/ns/net").readlink()) == before


def test_an_error_inside_is_raised_outside(slapd):
    pid, _ = slapd
    with pytest.raises(ConnectionRefusedError):
        namespaces.run_inside(f"/proc/{pid}/ns/net", lambda: socket.create_connection(("127.0.0.1", 1), timeout=5))


def test_a_directory_server_is_found_where_it_listens(slapd):
    pid, path = slapd
    (found,) = [one for one in processes.directory_processes() if one.pid == pid]
    assert (found.program, found.namespace) == ("slapd", namespaces.identity(pid))
    assert found.ldapi == (path,)


@pytest.mark.parametrize(
    ("main", "is_directory"),
    [
        ("org.opends.server.core.DirectoryCollector", True),
        ("com.unboundid.directory.server.core.DirectoryCollector", True),
        ("org.apache.catalina.startup.Bootstrap", False),
    ],
)
@pytest.mark.usefixtures("laboratory")
def test_a_java_program_is_a_directory_when_its_main_class_is(main, is_directory):
    with sockets_held("java", main) as pid:
        assert (pid in [one.pid for one in processes.directory_processes()]) is is_directory


def test_who_holds_a_socket_is_known_by_its_inode():
    with socket.socket() as owners:
        holder = processes.socket_owners()[os.fstat(owners.fileno()).st_ino]
    assert holder.pid == os.getpid()
    assert holder.program == Path("/proc/self/comm").read_text()[:-1]


@pytest.mark.usefixtures("laboratory")
def test_a_program_calls_itself_what_it_wants_and_stays_on_one_line():
    with sockets_held("a\nowner 1 2\x1b[2J") as pid:
        name = namespaces.program_of(pid)
    assert name == "a\\x0aowner 1 2\\x1b[2J"[: len(name)]
    assert len(name) > LONGEST
    assert name.isprintable()
