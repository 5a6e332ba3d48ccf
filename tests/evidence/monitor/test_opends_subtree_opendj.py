from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.monitor import Monitor, opends_subtree
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

HANDLER = "cn=LDAP Connection Handler 0.0.0.0 port 389,cn=monitor"
FORGEROCK = """dn: cn=monitor
objectClass: top
objectClass: ds-monitor
objectClass: ds-monitor-server
ds-mon-current-connections: 2
ds-mon-total-connections: 31
ds-mon-current-time: 20261120090300Z
ds-mon-start-time: 20261120090212Z
ds-mon-full-version: ForgeRock Directory Services 6.5.0

dn: cn=LDAP,cn=connection handlers,cn=monitor
objectClass: ds-monitor-ldap-connection-handler
ds-mon-protocol: LDAP
ds-mon-listen-address: 0.0.0.0:1389
ds-mon-connection: {"connId":7,"source":"192.0.2.1:5000","destination":"192.0.2.9:1389","authDn":"uid=a,dc=x"}
ds-mon-connection: {"connId":8,"source":"192.0.2.1:5001","destination":"192.0.2.9:1389","authDn":""}

"""
"""Written by hand from the schema reference of PingDS 8; no capture was to be had."""


def value(number: int, account: str = "uid=a,dc=x") -> str:
    return (
        f'connID="{number}" connectTime="20261120090253Z" source="192.0.2.1:{1000 + number}" '
        f'destination="192.0.2.9:389" ldapVersion="3" authDN="{account}" security="none" opsInProgress="0"'
    )


def monitor_of(content: bytes | str) -> Monitor:
    (monitor,) = [fact for fact in facts_of(content) if isinstance(fact, Monitor)]
    assert isinstance(monitor, Monitor)
    return monitor


class TestCaptures:
    @pytest.mark.parametrize("name", ["cn-monitor-subtree.ldif", "cn-monitor-connections.ldif"])
    def test_shows_the_39_connections_by_account_and_client(self, captures: Path, name: str) -> None:
        folder = captures / "opendj" / "held-39"
        held = json.loads((folder / "held-connections.json").read_text())["connections"]
        truth = Counter(
            (one["src"], one["sport"], "" if "bind failed" in one["note"] else (one["bind"] or "")) for one in held
        )
        monitor = monitor_of((folder / name).read_bytes())
        assert monitor.connections is not None
        shown = Counter(
            (one.client, one.client_port, one.account.replace(",cn=Root DNs,cn=config", ""))
            for one in monitor.connections
            if one.client != "127.0.0.1"  # the search itself
        )
        assert shown == truth
        assert len(monitor.connections) == 40
        assert (monitor.identity.family, monitor.origin.not_understood) == (Family.OPENDJ, 0)

    def test_reads_counters_clock_queue_and_listeners(self, captures: Path) -> None:
        monitor = monitor_of((captures / "opendj" / "held-39" / "cn-monitor-subtree.ldif").read_bytes())
        assert str(monitor.identity) == "OpenDJ 4.10.1"
        assert monitor.taken_at == datetime(2026, 11, 20, 9, 3, tzinfo=UTC)
        assert monitor.started_at == datetime(2026, 11, 20, 9, 2, 12, tzinfo=UTC)
        assert (monitor.current_connections, monitor.total_connections, monitor.queued_operations) == (40, 55, 0)
        assert {port for _, port in monitor.listeners} == {13489, 13638}, "not the administration connector's"

    def test_reads_the_whole_subtree(self, corpus: Path) -> None:
        path = corpus / "3-opendj-unindexed" / "monitor" / "cn-monitor-subtree.ldif"
        assert len(monitor_of(path.read_bytes()).connections or ()) == 40

    def test_a_backend_s_entries_alone_say_nothing(self, corpus: Path) -> None:
        result = facts_of((corpus / "public" / "monitor" / "opendj-docs-userRoot-backend.ldif").read_bytes())
        assert [fact for fact in result if isinstance(fact, Monitor)] == []


class TestForgeRock:
    def test_reads_json_values(self) -> None:
        monitor = monitor_of(FORGEROCK)
        assert str(monitor.identity) == "ForgeRock Directory Services 6.5.0"
        assert [(one.account, one.client_port) for one in monitor.connections or ()] == [
            ("uid=a,dc=x", 5000),
            ("", 5001),
        ]
        assert (monitor.current_connections, monitor.total_connections) == (2, 31)
        assert set(monitor.listeners) == {("*", 1389), ("192.0.2.9", 1389)}
        assert monitor.taken_at == datetime(2026, 11, 20, 9, 3, tzinfo=UTC)


class TestEntries:
    def test_a_connection_listed_three_times_counts_once(self) -> None:
        lists = (
            f"dn: cn=Client Connections,cn=monitor\nconnection: {value(1)}\nconnection: {value(2)}\n\n"
            f"dn: {HANDLER}\nds-connectionhandler-connection: {value(2)}\n\n"
            f"dn: cn=Client Connections,{HANDLER}\nconnection: {value(2)}\n\n"
        )
        assert len(monitor_of(lists).connections or ()) == 2

    def test_a_second_search_is_a_second_look(self) -> None:
        text = "dn: cn=Client Connections,cn=monitor\nconnection: {}\n\n"
        assert [len(one.connections) for one in facts_of(text.format(value(1)) + text.format(value(2)))] == [1, 1]

    def test_a_damaged_value_is_counted_and_the_others_kept(self) -> None:
        text = f"dn: cn=Client Connections,cn=monitor\nconnection: {value(1)}\nconnection: {value(2)[:90]}\n\n"
        monitor = monitor_of(text)
        assert (len(monitor.connections or ()), monitor.origin.not_understood) == (1, 1)

    def test_an_empty_list_means_no_connections(self) -> None:
        assert monitor_of("dn: cn=Client Connections,cn=monitor\nobjectClass: ds-monitor-entry\n\n").connections == ()

    def test_counters_without_the_list_leave_the_connections_unknown(self) -> None:
        monitor = monitor_of("dn: cn=monitor\nobjectClass: ds-monitor-entry\ncurrentConnections: 5\n\n")
        assert (monitor.connections, monitor.current_connections) == (None, 5)

    def test_bounds_what_it_keeps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(opends_subtree, "MOST_CONNECTIONS", 3)
        lines = "".join(f"connection: {value(number)}\n" for number in range(9))
        monitor = monitor_of(f"dn: cn=Client Connections,cn=monitor\n{lines}\n")
        assert len(monitor.connections or ()) == 3
        assert "Only the first 3 connections were kept." in monitor.origin.notes

    def test_handlers_of_http_and_jmx_are_passed_over(self) -> None:
        jmx = 'connID="9" connectTime="20200101000000Z" jmxConnID="rmi" authDN="cn=dm" security="none"'
        text = f"dn: cn=Client Connections,cn=monitor\nconnection: {value(1)}\nconnection: {jmx}\n\n"
        monitor = monitor_of(text)
        assert (len(monitor.connections or ()), monitor.origin.not_understood) == (1, 0)
        assert monitor.origin.notes == ("Connections of JMX and HTTP are listed as well; they are ignored.",)


@given(st.lists(st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=20), max_size=20))
def test_a_monitor_written_as_opendj_writes_it_reads_back(accounts: list[str]) -> None:
    lines = "".join(f"connection: {value(number, one)}\n" for number, one in enumerate(accounts))
    entry = f"objectClass: ds-monitor-entry\n{lines}\n"
    monitor = monitor_of(f"dn: cn=Client Connections,cn=monitor\n{entry}dn: cn=Client Connections,{HANDLER}\n{entry}")
    assert [one.account for one in monitor.connections or ()] == accounts
