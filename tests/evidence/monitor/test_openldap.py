from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.monitor import Monitor, openldap
from ldapdiag.evidence.monitor.openldap import parse_address
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

CONNECTION = """dn: cn=Connection {0},cn=Connections,cn=Monitor
objectClass: monitorConnection
monitorConnectionPeerAddress: IP=192.0.2.1:{0}
monitorConnectionActivityTime: 20261120085447Z

"""


def monitor_of(folder: Path, name: str) -> Monitor:
    result = facts_of((folder / name).read_bytes(), path=f"{folder.name}/{name}")
    (monitor,) = [fact for fact in result if isinstance(fact, Monitor)]
    assert isinstance(monitor, Monitor)
    return monitor


class TestCaptures:
    def test_shows_the_42_connections_that_were_held_with_their_ports(self, captures: Path) -> None:
        folder = captures / "openldap" / "held-42"
        held = json.loads((folder / "held-connections.json").read_text())["connections"]
        monitor = monitor_of(folder, "cn-Monitor-subtree.ldif")
        assert monitor.connections is not None
        shown = Counter((one.client, one.client_port) for one in monitor.connections if one.account != "cn=monitor")
        assert shown == Counter((one["src"], one["sport"]) for one in held)
        assert len(monitor.connections) == monitor.current_connections == 43

    def test_shows_the_accounts_as_the_server_prints_them(self, captures: Path) -> None:
        monitor = monitor_of(captures / "openldap" / "held-42", "cn-Monitor-subtree.ldif")
        accounts = Counter(one.account.partition(",")[0] for one in monitor.connections or ())
        assert accounts["uid=application_xyz"] == 14  # two more had failed to bind
        assert accounts["uid=application_shizzle"] == 4
        assert accounts["uid=app:colon"] == accounts["cn=Directory Manager"] == 1
        assert accounts[""] == 5 + 2 + 2  # never bound, failed, and root over ldapi

    def test_reads_counters_threads_listeners_and_clock(self, captures: Path) -> None:
        monitor = monitor_of(captures / "openldap" / "held-42", "cn-Monitor-subtree.ldif")
        assert (monitor.identity.family, monitor.identity.version) == (Family.OPENLDAP, (2, 5, 13))
        assert (monitor.total_connections, monitor.descriptor_limit) == (138, 20000)
        assert (monitor.threads, monitor.busy_threads, monitor.queued_operations) == (8, 1, 0)
        assert set(monitor.listeners) == {("*", 13390), ("*", 13637)}
        assert monitor.local_sockets == ("/srv/corpslapd/run/ldapi",)
        assert monitor.started_at == datetime(2026, 11, 20, 8, 54, 4, tzinfo=UTC)
        assert monitor.taken_at == datetime(2026, 11, 20, 8, 54, 47, tzinfo=UTC)
        assert monitor.origin.not_understood == 0

    def test_notes_that_plus_is_missing(self, captures: Path) -> None:
        monitor = monitor_of(captures / "openldap" / "held-42", "cn-Connections.user-attrs-only.ldif")
        assert monitor.connections is None
        assert monitor.origin.notes == (
            "Connections are listed without their attributes: search again for '*' and '+'.",
        )

    def test_reads_a_connection_without_its_peer(self, corpus: Path) -> None:
        monitor = monitor_of(corpus / "public" / "monitor", "openldap-tests-monitor1.ldif")
        (connection,) = monitor.connections or ()
        assert (connection.client, connection.client_port, connection.operations_started) == ("", None, 2)

    def test_reads_what_can_be_read_of_a_manual(self, corpus: Path) -> None:
        monitor = monitor_of(corpus / "public" / "monitor", "openldap-guide-cn-monitor.txt")
        assert (monitor.current_connections, monitor.total_connections) == (2, 4)


class TestEntries:
    def test_bounds_what_it_keeps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(openldap, "MOST_CONNECTIONS", 3)
        (monitor,) = facts_of("".join(CONNECTION.format(1000 + number) for number in range(9)))
        assert len(monitor.connections) == 3
        assert monitor.origin.notes == ("Only the first 3 connections were kept.",)

    def test_passes_over_subtrees_it_has_no_use_for(self) -> None:
        text = "dn: cn=Bytes,cn=Statistics,cn=Monitor\nobjectClass: monitorCounterObject\nmonitorCounter: 5\n\n"
        (monitor,) = facts_of(text + CONNECTION.format(1001))
        assert monitor.current_connections is None

    def test_takes_the_newest_activity_for_the_time_where_the_clock_was_not_asked(self) -> None:
        (monitor,) = facts_of(CONNECTION.format(1001) + CONNECTION.format(1002))
        assert monitor.taken_at == datetime(2026, 11, 20, 8, 54, 47, tzinfo=UTC)
        assert [one.client_port for one in monitor.connections] == [1001, 1002]

    def test_begins_a_second_look_when_an_entry_comes_again(self) -> None:
        text = CONNECTION.format(1001) + CONNECTION.format(1002)
        assert [len(one.connections) for one in facts_of(text + CONNECTION.format(1001))] == [2, 1]

    def test_recognises_that_there_are_no_connections(self) -> None:
        (monitor,) = facts_of("dn: cn=Current,cn=Connections,cn=Monitor\nmonitorCounter: 0\n")
        assert monitor.connections == ()

    def test_does_not_take_the_base_entry_alone_for_a_look(self) -> None:
        assert facts_of("dn: cn=Monitor\nobjectClass: monitorServer\nmonitoredInfo: OpenLDAP: slapd 2.5.13\n") == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("IP=127.0.0.1:45751", ("127.0.0.1", 45751)),
        ("IP=[::1]:60927", ("::1", 60927)),
        ("IP=[::ffff:192.0.2.1]:1", ("192.0.2.1", 1)),
        ("IP=0.0.0.0:389", ("*", 389)),
        ("PATH=/run/ldapi", ("ldapi", None)),
        ("IP=127.0.0.1:@PORT1@", ("", None)),
        ("unknown", ("", None)),
        ("", ("", None)),
    ],
)
def test_addresses_as_slapd_writes_them(text: str, address: tuple[str, int | None]) -> None:
    assert parse_address(text) == address
