"""What targets become: their troubles bear the name the operator gave them, and none is told twice."""

from __future__ import annotations

import threading

import pytest

from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources import parties
from ldapdiag.sources.here import namespaces
from ldapdiag.sources.here.namespaces import Namespace, Namespaces
from ldapdiag.sources.here.processes import DirectoryProcess
from ldapdiag.sources.live import Terms
from ldapdiag.sources.targets import target_of

OWN = Namespace(identity="boot:4:1", path="/proc/self/ns/net", own=True)
HIDDEN = Gap(target="local:", reason="its other network namespaces (containers) cannot be seen by this user")


@pytest.fixture
def gaps_here(monkeypatch):
    """Return what asks this host, as it is said to be, for the gaps of its first answer."""

    def asked(*, unreadable=0, script=(), processes=()):
        found = Namespaces(found=(OWN,), unreadable=unreadable)
        monkeypatch.setattr(namespaces, "namespaces", lambda: found)
        monkeypatch.setattr(parties, "socket_holders", dict)
        monkeypatch.setattr(parties, "directory_processes", lambda: processes)
        monkeypatch.setattr(parties.Dialog, "first", lambda _: iter(script))
        (here,) = parties.parties_of([target_of("local:")], Terms(), threading.Event())
        return [one for one in here.first() if isinstance(one, Gap)]

    return asked


def process(namespace: str) -> DirectoryProcess:
    return DirectoryProcess(pid=7, program="slapd", namespace=namespace, ldapi=(), ports=())


def test_namespaces_that_hide_are_a_gap_unless_the_script_says_so(gaps_here) -> None:
    assert gaps_here() == []
    (gap,) = gaps_here(unreadable=3)
    assert (gap.target, gap.reason) == ("local:", "the network namespaces of 3 processes cannot be seen")
    assert gaps_here(unreadable=3, script=[HIDDEN]) == [HIDDEN]


@pytest.mark.parametrize(
    ("namespace", "reason"),
    [("", "hides from this user where it listens"), (OWN.identity, "listens on no LDAPI socket"), ("boot:4:2", None)],
)
def test_a_directory_that_cannot_be_asked_is_a_gap_if_it_may_be_one_of_ours(gaps_here, namespace, reason) -> None:
    told = [(gap.target, gap.reason) for gap in gaps_here(processes=[process(namespace)])]
    assert told == ([("slapd, process 7", f"{reason}, so its cn=monitor was not asked")] if reason else [])


def test_a_directorys_trouble_bears_the_name_that_was_given() -> None:
    (server,) = parties.parties_of([target_of("ldap://[::1]:1")], Terms(seconds=2), threading.Event())
    (gap,) = server.first()
    assert isinstance(gap, Gap)
    assert gap.target == "ldap://[::1]:1"
    (server,) = parties.parties_of([target_of("ldap://no-such-host.invalid")], Terms(seconds=1), threading.Event())
    (gap,) = server.first()
    assert isinstance(gap, Gap)
    assert gap.target == "ldap://no-such-host.invalid"
