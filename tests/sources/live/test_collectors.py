"""What targets become: their troubles bear the name the operator gave them, and none is told twice."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from lab.host import wait_for
from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources.collection_options import BindOptions, CollectionOptions
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live import collectors, local_host
from ldapdiag.sources.live.local import namespaces, processes, sockets
from ldapdiag.sources.live.local.namespaces import NamespaceList, NetworkNamespace
from ldapdiag.sources.live.local.processes import DirectoryProcess
from ldapdiag.sources.targets import parse_target

OWN = NetworkNamespace(identity="boot:4:1", path="/proc/self/ns/net", own=True)
HIDDEN = Gap(target="local:", reason="cannot list its other network namespaces (containers): not root")


@pytest.fixture
def gaps_here(monkeypatch):
    """Return what asks this host, as the test describes it, for the gaps of its first answer."""

    def asked(*, unreadable=0, script=(), processes=()):
        found = NamespaceList(found=(OWN,), unreadable=unreadable)
        monkeypatch.setattr(namespaces, "find_namespaces", lambda: found)
        monkeypatch.setattr(local_host, "socket_owners", dict)
        monkeypatch.setattr(local_host, "directory_processes", lambda: processes)
        monkeypatch.setattr(local_host.ScriptSession, "collect", lambda _: iter(script))
        (here,) = collectors.collectors_for([parse_target("local:")], CollectionOptions(), threading.Event())
        return [one for one in here.collect() if isinstance(one, Gap)]

    return asked


def process(namespace: str, ldapi: tuple[str, ...] | None = ()) -> DirectoryProcess:
    return DirectoryProcess(pid=7, program="slapd", namespace=namespace, ldapi=ldapi)


def test_after_the_time_limit_one_more_directory_is_queried_and_the_others_are_gaps(gaps_here, monkeypatch) -> None:
    """Any user may start a hundred programs called slapd, each with a socket that never answers."""
    queried: list[str] = []

    def query(_, address, *__):
        queried.append(address.path)
        yield Gap(target=address.url, reason="no answer in 1 s")

    times = iter([0.0, *[100.0] * 50])
    monkeypatch.setattr(local_host, "monotonic", lambda: next(times))
    monkeypatch.setattr(local_host.LocalCollector, "_sockets", lambda *_: iter(()))
    monkeypatch.setattr(local_host.LocalCollector, "_query_inside", query)
    monkeypatch.setattr(local_host, "host_path", lambda _, path: path)
    monkeypatch.setattr(local_host.os, "access", lambda *_: True)
    gaps = gaps_here(processes=tuple(process(OWN.identity, ldapi=(f"/run/{number}",)) for number in range(5)))
    assert queried == ["/run/0"]
    assert [gap.reason for gap in gaps] == [
        "no answer in 1 s",
        *["cn=monitor not queried: the 10 s of --timeout have passed"] * 4,
    ]


def test_unreadable_namespaces_are_a_gap_unless_the_script_reports_one(gaps_here) -> None:
    assert gaps_here() == []
    (gap,) = gaps_here(unreadable=3)
    assert (gap.target, gap.reason) == (
        "local:",
        "cannot read the network namespaces of 3 processes: permission denied",
    )
    assert gaps_here(unreadable=3, script=[HIDDEN]) == [HIDDEN]


@pytest.mark.parametrize(
    ("namespace", "ldapi", "reason"),
    [
        ("", (), None),
        (OWN.identity, None, "its sockets are hidden from this user"),
        (OWN.identity, (), "it listens on no LDAPI socket"),
        ("boot:4:2", (), None),
    ],
)
def test_a_directory_that_cannot_be_queried_is_a_gap_in_the_namespaces_of_the_run(
    gaps_here, namespace, ldapi, reason
) -> None:
    told = [(gap.target, gap.reason) for gap in gaps_here(processes=[process(namespace, ldapi)])]
    assert told == ([("slapd, process 7", f"cn=monitor not queried: {reason}")] if reason else [])


def test_a_failure_of_a_directory_has_the_target_as_named() -> None:
    (server,) = collectors.collectors_for(
        [parse_target("ldap://[::1]:1")], CollectionOptions(timeout_seconds=2), threading.Event()
    )
    probe, gap = server.collect()
    assert isinstance(gap, Gap)
    assert gap.target == "ldap://[::1]:1"
    assert not isinstance(probe, Gap)
    assert b"outcome: refused" in probe.open().read()
    (server,) = collectors.collectors_for(
        [parse_target("ldap://no-such-host.invalid")], CollectionOptions(timeout_seconds=1), threading.Event()
    )
    probe, gap = server.collect()
    assert isinstance(gap, Gap)
    assert gap.target == "ldap://no-such-host.invalid"
    assert not isinstance(probe, Gap)
    assert b"outcome: unresolved" in probe.open().read()


def test_all_targets_share_one_budget() -> None:
    named = ["ssh://app1", "ssh://app2", "ssh://app2/var/log/x", "local:"]
    first, second, file, here = collectors.collectors_for(
        [parse_target(one) for one in named], CollectionOptions(), threading.Event()
    )
    assert first._session.budget is second._session.budget is file._budget is here._session.budget


def test_a_file_that_does_not_fit_into_the_budget_is_a_gap(monkeypatch, tmp_path) -> None:
    (tmp_path / "ssh").write_text("#!/bin/sh\nprintf %3000s x\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("LDAPDIAG_SSH", str(tmp_path / "ssh"))
    monkeypatch.setattr(collectors, "RUN_BYTES", 4000)
    targets = [parse_target("ssh://app1/a"), parse_target("ssh://app1/b")]
    one, other = collectors.collectors_for(targets, CollectionOptions(timeout_seconds=5), threading.Event())
    assert [type(answer) for answer in one.collect()] == [Input]
    (gap,) = other.collect()
    assert gap.reason == "all targets together exceed the limit of 1 GiB per run"
    assert "scp" in gap.how


ON_LINUX = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="this host is looked at, on Linux")
SECRET = "Geheim"  # noqa: S105  nobody is to hear it


@pytest.fixture
def impostor(tmp_path):
    """Return what starts a process that calls itself slapd and holds a listening socket; ours is the same socket."""
    program = tmp_path / "slapd"
    program.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(300)\n")
    program.chmod(0o755)
    started = []

    def start(listener):
        started.append(subprocess.Popen([program], pass_fds=[listener.fileno()]))
        wait_for(lambda: namespaces.program_of(started[0].pid) == "slapd", "it is not called so")
        return started[0].pid

    yield start
    for one in started:
        one.kill()
        one.wait()


@pytest.fixture
def asked_here(monkeypatch):
    """Return what asks this host for its directories, of which there is but one, with a password at hand."""

    def asked(pid):
        (found,) = (one for one in processes.directory_processes() if one.pid == pid)
        own = next(one for one in namespaces.find_namespaces().found if one.own)
        monkeypatch.setattr(namespaces, "find_namespaces", lambda: NamespaceList(found=(own,), unreadable=0))
        monkeypatch.setattr(local_host, "directory_processes", lambda: (found,))
        monkeypatch.setattr(local_host.ScriptSession, "collect", lambda _: iter(()))
        options = CollectionOptions(bind=BindOptions(dn="cn=Directory Manager", password=SECRET), timeout_seconds=2)
        (here,) = collectors.collectors_for([parse_target("local:")], options, threading.Event())
        return [one for one in here.collect() if isinstance(one, Gap)]

    return asked


@ON_LINUX
class TestWhoeverCallsHimselfSlapd:
    def test_is_sent_nothing_at_all_over_tcp(self, impostor, asked_here) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            (gap,) = asked_here(impostor(listener))
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.accept()
        assert gap.reason == "cn=monitor not queried: it listens on no LDAPI socket"
        assert gap.how == "name it: ldap://HOST -D … -W"

    def test_gets_no_password_over_ldapi_either(self, impostor, asked_here, tmp_path) -> None:
        heard = bytearray()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(tmp_path / "ldapi"))
            listener.listen()
            listener.settimeout(10)
            pid = impostor(listener)

            def listen():
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(10)
                    while data := connection.recv(4096):
                        heard.extend(data)

            listening = threading.Thread(target=listen)
            listening.start()
            gaps = asked_here(pid)
            listening.join()
        assert b"EXTERNAL" in heard
        assert SECRET.encode() not in heard
        assert b"Directory Manager" not in heard
        assert len(gaps) == 1


@ON_LINUX
class TestItsSockets:
    @pytest.fixture
    def here(self, monkeypatch):
        """Return this host, with two namespaces that are one, and no directory."""
        own = next(one for one in namespaces.find_namespaces().found if one.own)
        monkeypatch.setattr(
            namespaces, "find_namespaces", lambda: NamespaceList(found=(own, replace(own)), unreadable=0)
        )

        def made(seconds=10, stop=None):
            (collector,) = collectors.collectors_for(
                [parse_target("local:")], CollectionOptions(timeout_seconds=seconds), stop or threading.Event()
            )
            collector._directories = False
            return collector

        return made

    def test_where_no_method_lists_sockets_the_script_does_in_each_snapshot(self, here, monkeypatch) -> None:
        def refused(*_):
            raise PermissionError(1, os.strerror(1))

        for telling in sockets.METHODS:
            monkeypatch.setitem(sockets.METHODS, telling, refused)
        collector = here()
        try:
            first, again = list(collector.collect()), list(collector.snapshot())
        finally:
            collector.close()
        gaps = [one.reason for one in [*first, *again] if isinstance(one, Gap) and one.target.startswith("the sockets")]
        both = "operation not permitted; proc failed: operation not permitted"
        assert gaps == [f"inet_diag failed: {both}; using a command instead"]
        tables = [
            [
                one.path
                for one in collected
                if isinstance(one, Input) and one.path.startswith(f"{collector._name}/sockets")
            ]
            for collected in (first, again)
        ]
        assert tables == [[f"{collector._name}/sockets-1.txt"], [f"{collector._name}/sockets-2.txt"]]
        assert not [one for one in first if isinstance(one, Input) and "cn-monitor" in one.path]

    def test_the_timeout_of_a_target_holds_for_all_its_namespaces(self, here, monkeypatch) -> None:
        def slow(*words):
            limit = words[-1]
            while not limit.error_number:
                time.sleep(0.01)
            limit.check()

        monkeypatch.setitem(sockets.METHODS, "inet_diag", slow)
        monkeypatch.setattr(local_host.ScriptSession, "collect", lambda _: iter(()))
        collector, started = here(seconds=1), time.monotonic()
        (gap,) = collector.collect()
        assert 0.9 < time.monotonic() - started < 3
        assert gap.reason == "not listed within the time limit"
        stop = threading.Event()
        collector = here(stop=stop)
        after = threading.Timer(0.2, stop.set)
        after.start()
        started = time.monotonic()
        (gap,) = collector.collect()
        after.join()
        assert time.monotonic() - started < 2
        assert "interrupted" in gap.reason
