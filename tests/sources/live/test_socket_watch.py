"""The order in which tables are read again and again, and what is left of a host that falls silent."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from lab.host import wait_for
from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.sources.collection_options import CollectionOptions
from ldapdiag.sources.live import socket_watch
from ldapdiag.sources.live.socket_watch import SocketWatch
from ldapdiag.sources.targets import parse_target
from sources.live.test_sampling import DIALS, SERVES, FakeCollector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.sources.files.input import Input


class FakeHost(FakeCollector):
    """A host whose tables a test sets, or that is silent."""

    silent = False
    finished = 0
    hangs: threading.Event | None = None

    def tables(self) -> Iterator[Input | Gap]:
        self.asked.append(self.name)
        if self.hangs and self.finished:
            self.hangs.wait(20)
        self.finished += 1
        yield Gap(target=self.target, reason="no answer") if self.silent else self.piece("ss.txt", self.texts[0])


@pytest.fixture
def hosts(monkeypatch) -> dict[str, FakeHost]:
    asked: list[str] = []
    made = {name: FakeHost(name, text, asked=asked) for name, text in (("ldap", SERVES), ("app1", DIALS))}
    monkeypatch.setattr(socket_watch, "host_collector", lambda target, *_: made[target.name])
    return made


def watch() -> SocketWatch:
    targets = [parse_target(one) for one in ("ssh://ldap", "ldap://ldap", "ssh://app1", "ssh://app1/var/log/x")]
    return SocketWatch([one for one in targets if one], CollectionOptions(), threading.Event())


def folders(watch: SocketWatch) -> list[str]:
    return sorted(one.origin.folder for one in watch.look().facts if isinstance(one, SocketTable))


def test_servers_are_read_between_two_readings_of_the_others(hosts: dict[str, FakeHost]) -> None:
    one = watch()
    assert folders(one) == ["app1", "app1", "ldap", "ldap"]  # each is asked first whether it serves
    hosts["ldap"].asked.clear()
    # With the latest of the look before.
    assert folders(one) == ["app1", "app1", "app1", "ldap", "ldap"]
    assert hosts["ldap"].asked == ["app1", "ldap", "app1"]


def test_of_a_silent_host_no_earlier_table_is_left(hosts: dict[str, FakeHost]) -> None:
    one = watch()
    folders(one)
    hosts["app1"].silent = True
    tables = one.look()
    assert {fact.origin.folder for fact in tables.facts} == {"ldap"}
    assert [gap.target for gap in tables.gaps] == ["ssh://app1"]
    assert (hosts["app1"].closed, hosts["ldap"].closed) == (1, 0)
    hosts["app1"].silent = False
    wait_for(lambda: "app1" in folders(one), "does not come back")
    assert not one.look().gaps


def test_the_others_do_not_wait_for_a_host_that_is_silent(hosts: dict[str, FakeHost]) -> None:
    hosts["app1"].silent, hosts["app1"].hangs = True, threading.Event()
    one = watch()
    for _ in range(3):
        tables = one.look()
        assert {fact.origin.folder for fact in tables.facts} == {"ldap"}
        assert [gap.reason for gap in tables.gaps] == ["no answer"]
        assert hosts["app1"].finished == 1, "it is asked again, and has not answered"
    hosts["app1"].silent = False
    hosts["app1"].hangs.set()
    wait_for(lambda: "app1" in folders(one), "does not come back")
    one.close()


def test_without_any_table_it_fails_with_the_reason(hosts: dict[str, FakeHost]) -> None:
    for host in hosts.values():
        host.silent = True
    with pytest.raises(LdapdiagError, match="ssh://ldap: no answer"):
        watch().look()
