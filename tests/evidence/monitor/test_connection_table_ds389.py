from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.monitor import Monitor, MonitoredConnection
from ldapdiag.evidence.monitor.connection_table import parse_connection
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

OPENED = datetime(2020, 6, 4, 8, 19, 53, tzinfo=UTC)


def monitor_of(folder: Path, name: str) -> Monitor:
    (monitor,) = facts_of((folder / name).read_bytes(), path=f"{folder.name}/{name}")
    assert isinstance(monitor, Monitor)
    return monitor


class TestConnectionValues:
    @pytest.mark.parametrize(
        ("era", "value", "account", "client"),
        [
            ("1.2.11", "31:20200604081953Z:45:44::cn=directory manager", "cn=directory manager", ""),
            ("1.2.11, reading", "31:20200604081953Z:45:44:r:uid=x,ou=y", "uid=x,ou=y", ""),
            ("1.2.11, anonymous", "31:20200604081953Z:45:44::NULLDN", "", ""),
            ("1.2.11, colon", "31:20200604081953Z:45:44::uid=a:b,ou=x", "uid=a:b,ou=x", ""),
            ("DSEE", "31:20200604081953Z:45:44::cn=admin,o=x:LDAP", "cn=admin,o=x", ""),
            ("1.3.2", "64:20200604081953Z:45:44:-:uid=a,ou=x:0:0:0", "uid=a,ou=x", ""),
            ("1.3.2, reading", "64:20200604081953Z:45:44:r:uid=a:b,ou=x:1:20:3", "uid=a:b,ou=x", ""),
            ("1.3.7", "64:20200604081953Z:45:44:-:uid=a,ou=x:0:11:27:7448846:ip=192.0.2.9", "uid=a,ou=x", "192.0.2.9"),
            ("IPv6", "64:20200604081953Z:45:44:-:uid=a,ou=x:0:0:0:12:ip=2001:db8::21", "uid=a,ou=x", "2001:db8::21"),
            ("mapped", "64:20200604081953Z:45:44:-:NULLDN:0:0:0:12:ip=::ffff:192.0.2.9", "", "192.0.2.9"),
            (
                "colon",
                "64:20200604081953Z:45:44:-:uid=a:0:0:0:1:ip=9.9.9.9:0:0:0:12:ip=::1",
                "uid=a:0:0:0:1:ip=9.9.9.9",
                "::1",
            ),
            ("local", "65:20200604081953Z:45:44:-:cn=dm:0:0:0:12:ip=local", "cn=dm", "ldapi"),
            ("ldapi path", "65:20200604081953Z:45:44:-:cn=dm:0:0:0:12:ip=/run/slapd-a:b.socket", "cn=dm", "ldapi"),
            ("unknown", "65:20200604081953Z:45:44:-:cn=dm:0:0:0:12:ip=unknown", "cn=dm", ""),
            ("redacted", "65:20200604081953Z:45:44:-:cn=dm:0:0:0:12:ip=192.168.X.X", "cn=dm", "192.168.X.X"),
        ],
    )
    def test_of_every_version(self, era: str, value: str, account: str, client: str) -> None:
        assert parse_connection(value) == MonitoredConnection(
            account=account, client=client, opened=OPENED, operations_started=45, operations_completed=44
        ), era

    @pytest.mark.parametrize(
        "value",
        [
            "",
            "64:20200604081953Z",
            "64:20200604081953Z:45:44:-:uid=appl",
            "64:20200604081953Z:45:44:-:uid=a,ou=x:0:0:0:12",
            "64:20200604081953Z:x:44:-:uid=a,ou=x:0:0:0:12:ip=::1",
            'connID="3" connectTime="20200101000000Z"',
        ],
    )
    def test_that_are_cut_are_none(self, value: str) -> None:
        assert parse_connection(value) is None


class TestCaptures:
    def test_shows_the_43_connections_that_were_held(self, captures: Path) -> None:
        folder = captures / "389ds" / "held-43"
        held = json.loads((folder / "held-connections.json").read_text())["connections"]
        truth = Counter((one["src"], "" if "bind failed" in one["note"] else (one["bind"] or "")) for one in held)
        truth["127.0.0.1", "cn=Directory Manager"] += 1  # the search itself
        for name in ("cn-monitor-base.ldif", "cn-monitor-base.wrapped.ldif", "cn-monitor-sub.ldif"):
            monitor = monitor_of(folder, name)
            assert monitor.connections is not None
            assert Counter((one.client, spelt(one.account)) for one in monitor.connections) == Counter(
                {
                    (client, spelt("cn=Directory Manager" if client == "ldapi" else account)): count
                    for (client, account), count in truth.items()
                }
            )
            assert (monitor.origin.not_understood, len(monitor.connections)) == (0, 44)

    def test_reads_counters_and_clock(self, captures: Path) -> None:
        monitor = monitor_of(captures / "389ds" / "held-43", "cn-monitor-base.ldif")
        assert monitor.identity.family is Family.DS389
        assert monitor.identity.version == (2, 3, 1)
        assert monitor.taken_at == datetime(2026, 11, 20, 8, 46, 50, tzinfo=UTC)
        assert monitor.started_at == datetime(2026, 11, 20, 8, 45, 18, tzinfo=UTC)
        assert (monitor.current_connections, monitor.total_connections) == (44, 140)
        assert (monitor.connection_table_size, monitor.threads) == (19936, 18)
        assert (monitor.busy_threads, monitor.queued_operations, monitor.descriptor_limit) == (None, None, None)
        assert monitor.connections_at_max_threads == 0

    def test_knows_that_an_anonymous_search_hides_the_connections(self, captures: Path) -> None:
        monitor = monitor_of(captures / "389ds" / "held-43", "cn-monitor-base.anonymous.ldif")
        assert monitor.connections is None
        assert monitor.current_connections == 44
        assert "Directory Manager only" in monitor.origin.notes[0]

    def test_counts_the_accounts_of_the_ghost_case(self, captures: Path) -> None:
        monitor = monitor_of(captures / "389ds" / "ghosts-behind-a-firewall", "cn-monitor.ldif")
        accounts = Counter((one.account.partition(",")[0], one.client) for one in monitor.connections or ())
        assert accounts == {
            ("uid=application_xyz", "10.77.2.2"): 270,
            ("uid=application_foo", "10.77.3.2"): 34,
            ("uid=application_shizzle", "10.77.3.2"): 6,
            ("cn=directory manager", "127.0.0.1"): 1,
        }

    def test_reads_an_older_server_without_connection_values(self, corpus: Path) -> None:
        monitor = monitor_of(corpus / "public" / "monitor", "389-1.3-cn-monitor-anonymous.ldif")
        assert (monitor.current_connections, monitor.connection_table_size, monitor.connections) == (311, 4096, None)


class TestEntries:
    def test_newer_servers_publish_busy_workers_and_the_queue(self) -> None:
        (monitor,) = facts_of(
            "dn: cn=Monitor\nthreads: 16\ncurrentbusyworkers: 3\ncurrentworkqueue: 7\ncurrentconnections: 0\n"
        )
        assert (monitor.busy_threads, monitor.queued_operations, monitor.connections) == (3, 7, ())

    def test_a_second_entry_is_a_second_look(self) -> None:
        text = "dn: cn=monitor\nthreads: 16\ncurrentconnections: {}\n\n"
        assert [one.current_connections for one in facts_of(text.format(1) + text.format(2))] == [1, 2]

    def test_a_damaged_value_is_counted_and_the_others_kept(self) -> None:
        good = "connection: 1:20200604081953Z:1:1:-:NULLDN:0:0:0:1:ip=192.0.2.1\n"
        (monitor,) = facts_of(f"dn: cn=monitor\n{good}connection: 2:2020\n{good}currentconnections: 3\n\n")
        assert len(monitor.connections) == 2
        assert monitor.origin.not_understood == 1

    @pytest.mark.parametrize(
        "text",
        [
            "dn: cn=monitor\nobjectClass: top\ncn: monitor\naci: (target=x)\n",
            "dn: cn=monitor\nversion: Sun-Directory-Server/11.1.1.7\nthreads: 30\ncurrentconnections: 1\n",
            "dn: cn=monitor\nobjectClass: ds-monitor-entry\ncurrentConnections: 1\n",
            "dn: cn=snmp,cn=monitor\nconnections: 44\n",
            "dn: cn=monitor,cn=userRoot,cn=ldbm database,cn=plugins,cn=config\nreadonly: 0\n",
        ],
    )
    def test_other_entries_and_other_servers_are_passed_over(self, text: str) -> None:
        assert [one for one in facts_of(text) if one.identity.family is Family.DS389] == []


def spelt(account: str) -> str:
    """Return a DN in one spelling: lower case, the escaped comma as the server writes it."""
    return account.lower().replace("\\,", "\\2c")


def as_value(number: int, one: MonitoredConnection) -> str:
    assert one.opened is not None
    fields = (number, f"{one.opened:%Y%m%d%H%M%SZ}", one.operations_started, one.operations_completed, "-")
    return ":".join(map(str, (*fields, one.account or "NULLDN", 0, 0, 0, number, f"ip={one.client}")))


ACCOUNT = st.text(st.characters(codec="ascii", categories=("L", "N", "P"), exclude_characters="\\"), max_size=30).map(
    lambda text: f"uid={text},dc=example"
)
CONNECTION = st.builds(
    MonitoredConnection,
    account=ACCOUNT | st.just(""),
    client=st.ip_addresses(v=4, network="198.51.100.0/24").map(str)
    | st.ip_addresses(v=6, network="2001:db8::/64").map(str),
    opened=st.datetimes(datetime(2001, 1, 1), datetime(2050, 1, 1)).map(  # noqa: DTZ001  UTC is put on it below
        lambda moment: moment.replace(microsecond=0, tzinfo=UTC)
    ),
    operations_started=st.integers(0, 10**9),
    operations_completed=st.integers(0, 10**9),
)


class TestProperties:
    @given(st.lists(CONNECTION, max_size=20))
    def test_a_monitor_written_as_389_ds_writes_it_reads_back(self, connections: list[MonitoredConnection]) -> None:
        values = "".join(f"connection: {as_value(number, one)}\n" for number, one in enumerate(connections))
        (monitor,) = facts_of(f"dn: cn=monitor\n{values}currentconnections: {len(connections)}\n\n")
        assert monitor.connections == tuple(connections)

    @given(CONNECTION)
    def test_an_account_with_anything_in_it_reads_back(self, connection: MonitoredConnection) -> None:
        odd = replace(connection, account="uid=a:0:1:2:3:ip=x" + connection.account)
        assert parse_connection(as_value(7, odd)) == odd

    @given(st.text(max_size=80))
    def test_no_value_crashes_it(self, value: str) -> None:
        parse_connection(value)
        parse_connection("1:20200604081953Z:1:1:-:" + value)
