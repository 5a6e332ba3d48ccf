"""The session with real hosts over the real ssh: directories, a proxy and containers tell of themselves."""

from __future__ import annotations

import time

import pytest

from lab import boxes, ssh
from lab.topology import container
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.host_facts import HostDescription
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.ssh.remote import ScriptSession, ssh_command
from ldapdiag.sources.recognition.reading import with_facts


def session(argv, name="host", **settings):
    return ScriptSession(argv=argv, target=f"ssh://{name}", folder=name, **{"timeout_seconds": 15, **settings})


def sorted_out(answers):
    answers = list(answers)
    return [one for one in answers if isinstance(one, Input)], [one for one in answers if isinstance(one, Gap)]


def names(pieces):
    return [piece.path.rpartition("/")[2] for piece in pieces]


def content(piece):
    with piece.open() as stream:
        return stream.read()


@pytest.fixture
def asked(laboratory, topology):
    configuration = laboratory.keys.configuration(topology)

    def ask(name, user=None, **settings):
        command = topology.desk.enter([*ssh_command(user, name, None, 2)])
        command[command.index("ssh") + 1 : command.index("ssh") + 1] = ["-F", str(configuration)]
        return session(command, name, **settings)

    return ask


def test_a_host_tells_of_itself_and_of_its_directory(laboratory, topology, asked) -> None:
    laboratory.keys.serve(topology.ldap)
    laboratory.ds389(topology.ldap)
    with asked("ldap") as ldap:
        started = time.monotonic()
        pieces, gaps = sorted_out(ldap.collect())
        took = time.monotonic() - started
        again, _ = sorted_out(ldap.snapshot())
    assert gaps == []
    assert took < 9, "no time limit of 10 s has passed"
    assert {
        "host.txt",
        "sockets-1.txt",
        "proc-limits.txt",
        "proc-fd-count.txt",
        "dse.ldif",
        "errors",
        "cn-monitor.ldif",
    } <= set(names(pieces))
    assert "sockets-2.txt" in names(again)
    facts = [fact for piece in pieces for fact in with_facts(piece).facts]
    (described,) = (fact for fact in facts if isinstance(fact, HostDescription))
    assert (described.name, described.namespaces_read, described.namespaces_unread) == ("ldap", 1, 0)
    assert "10.77.1.2" in described.addresses
    assert b"rootpw" not in b"".join(content(piece).lower() for piece in pieces)


def test_openldaps_configuration_and_monitor_come_along(laboratory, topology) -> None:
    laboratory.slapd(topology.ldap)
    with session(topology.ldap.enter(["sh"])) as ldap:
        pieces, gaps = sorted_out(ldap.collect())
    assert gaps == []
    facts = [fact for piece in pieces for fact in with_facts(piece).facts]
    (configuration,) = (fact for fact in facts if isinstance(fact, Configuration))
    (monitor,) = (fact for fact in facts if isinstance(fact, Monitor))
    assert (configuration.identity.family, configuration.complete) == (Family.OPENLDAP, True)
    assert (monitor.connections, monitor.current_connections) == ((), 0), (
        "our own connection is no part of the incident"
    )
    assert b"rootpw" not in b"".join(content(piece).lower() for piece in pieces)


def test_a_proxys_timeouts_and_sessions_come_along(topology) -> None:
    boxes.proxy(topology.fw, 60)
    with session(topology.fw.enter(["sh"])) as fw:
        pieces, gaps = sorted_out(fw.collect())
        again, more = sorted_out(fw.snapshot())
    assert gaps == more == []
    assert {"haproxy.cfg", "haproxy-sessions-1.txt"} <= set(names(pieces))
    assert "haproxy-sessions-2.txt" in names(again)
    assert "haproxy.cfg" not in names(again)


def test_a_filters_flows_come_along_in_each_look(topology, laboratory, start) -> None:
    laboratory.slapd(topology.ldap)
    boxes.snat(topology.fw)
    start(topology.app1, "held", count=3)
    with session(topology.fw.enter(["sh"])) as fw:
        pieces, gaps = sorted_out(fw.collect())
        again, more = sorted_out(fw.snapshot())
    assert gaps == more == []
    for look, said in ((1, pieces), (2, again)):
        (flows,) = [piece for piece in said if piece.path.endswith(f"/conntrack-{look}.txt")]
        (table,) = with_facts(flows).facts
        assert isinstance(table, FlowTable)
        assert len(table) >= 3


def test_a_container_is_a_host_of_its_own(topology) -> None:
    container(topology.app1, "blue")
    container(topology.app1, "green", number=2, named=False)
    with session(topology.app1.enter(["sh"]), "app1") as app1:
        pieces, gaps = sorted_out(app1.collect())
        again, _ = sorted_out(app1.snapshot())
    assert gaps == []
    described = {
        piece.folder: fact for piece in pieces for fact in with_facts(piece).facts if isinstance(fact, HostDescription)
    }
    assert sorted(described) == [
        "app1",
        "app1-blue",
        next(folder for folder in described if folder.startswith("app1-sleep-")),
    ]
    assert (described["app1"].namespaces_read, described["app1"].namespaces_unread) == (3, 0)
    assert len({one.namespace for one in described.values()}) == 3
    assert len({one.machine for one in described.values()}) == 1
    assert "10.88.1.2" in described["app1-blue"].addresses
    tables = [piece.folder for piece in again if piece.path.endswith("/sockets-2.txt")]
    assert sorted(tables) == sorted(described)


def test_refused_closed_and_silent_hosts_are_gaps_with_their_reasons(laboratory, topology, asked) -> None:
    laboratory.keys.serve(topology.app1, allowed="stranger")
    ssh.hang(topology.app2)
    reasons = {}
    for name in ("ldap", "app1", "app2"):
        started = time.monotonic()
        with asked(name, timeout_seconds=4) as there:
            (gap,) = there.collect()
        reasons[name] = gap.reason
        assert time.monotonic() - started < 4 + 20
    assert reasons["ldap"].startswith("connection refused (")
    assert reasons["app1"].startswith("permission denied (")
    assert reasons["app2"].startswith(("no answer", "it closed the connection"))


def test_sudo_shows_what_a_visitor_may_not_see(laboratory, topology, asked) -> None:
    laboratory.keys.serve(topology.app1, sudo=True)
    with asked("app1", "visitor") as plain, asked("app1", "visitor", sudo=True) as raised:
        without, gaps = sorted_out(plain.collect())
        withal, none = sorted_out(raised.collect())
    unread = [
        fact.namespaces_unread
        for piece in (*without, *withal)
        for fact in with_facts(piece).facts
        if isinstance(fact, HostDescription)
    ]
    assert unread == [None, 0]
    assert len(gaps) == 1
    assert none == []
