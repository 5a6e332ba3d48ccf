from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.monitor import MonitoredConnection
from ldapdiag.evidence.monitor.ibm import parse_connection
from reading import facts_of

if TYPE_CHECKING:
    from ldapdiag.evidence.monitor import Monitor

# Written by hand from IBM's manuals: the names and values of "Using the cn=monitor command" (6.4) and
# "Using the cn=connections,cn=monitor command" (10.0.1, 11.0.1), as ldapsearch -L prints an entry.
ROOT = """dn: cn=monitor
version: IBM Security Directory (SSL), Version 6.4
totalconnections: 812
total_ssl_connections: 3
currentconnections: 4
maxconnections: 1024
writewaiters: 0
readwaiters: 0
livethreads: 15
opsinitiated: 40
opscompleted: 39
"""
LIST = """dn: cn=connections,cn=monitor
connection: 1632 : 9.41.21.31 : 2002-10-05 19:18:21 GMT: 1 : 1 : CN=ADMIN : :
connection: 3550 : 9.48.181.83 : 2005-02-28 21:53:54 GMT: 1 : 3 : CN=ROOT ::
connection: 3559 : 2001:db8::21 : 2005-02-28 21:53:55 GMT: 0 : 1 : uid=a:b,o=x : : SSL
connection: 3560 : 127.0.0.1 : 2005-02-28 21:53:55 GMT: 0 : 0 :  : :
"""
OPENED = datetime(2005, 2, 28, 21, 53, 54, tzinfo=UTC)


def monitor_of(text: str) -> Monitor:
    (monitor,) = facts_of(text)
    found: Monitor = monitor
    return found


def test_reads_counters_and_connections_of_both_entries() -> None:
    monitor = monitor_of(f"{ROOT}\n{LIST}")
    assert str(monitor.identity) == "IBM Security Directory Server 6.4.0"
    assert (monitor.current_connections, monitor.total_connections, monitor.threads) == (4, 812, 15)
    assert [(one.client, one.account) for one in monitor.connections or ()] == [
        ("9.41.21.31", "CN=ADMIN"),
        ("9.48.181.83", "CN=ROOT"),
        ("2001:db8::21", "uid=a:b,o=x"),
        ("127.0.0.1", ""),
    ]
    assert (monitor.connections or ())[1] == MonitoredConnection(
        account="CN=ROOT", client="9.48.181.83", opened=OPENED, operations_started=4, operations_completed=3
    )
    assert monitor.origin.not_understood == 0


def test_the_list_alone_is_a_count_and_the_root_alone_lists_nothing() -> None:
    listed, root = monitor_of(LIST), monitor_of(ROOT)
    assert (listed.identity, listed.current_connections) == (ServerIdentity(family=Family.IBM), 4)
    assert (root.current_connections, root.connections) == (4, None)


@pytest.mark.parametrize(
    "value",
    [
        "3550 : 9.48.181.83 : 2005-02-28 21:53:54 GMT: 1 : 3 : CN=ROOT ::",
        "9.48.181.83 : 3550 : CN=ROOT : 2005-02-28 21:53:54 GMT : 1 : 3",
        "2005-02-28T21:53:54Z : 3550 : 1 : 3 : 9.48.181.83 : CN=ROOT : : TLS",
        "3550: 9.48.181.83: 20050228215354Z: 1: 3: CN=ROOT::",
    ],
)
def test_the_order_of_fields_does_not_matter(value: str) -> None:
    found = parse_connection(value)
    assert found is not None
    assert (found.client, found.account, found.opened) == ("9.48.181.83", "CN=ROOT", OPENED)
    assert (found.operations_started, found.operations_completed) == (4, 3)


def test_a_time_without_a_zone_is_not_taken_for_utc() -> None:
    found = parse_connection("3550 : 9.48.181.83 : 2005-02-28 21:53:54 : 1 : 3 : CN=ROOT ::")
    assert found is not None
    assert found.opened is None


@pytest.mark.parametrize(
    "value",
    [
        "",
        "3550",
        "3550 : somewhere : 2005-02-28 21:53:54 GMT: 1 : 3 : CN=ROOT ::",
        "3550 : 9.48.181.83 : 9.48.181.84 : CN=ROOT",
        "3550 : 9.48.181.83 : CN=ROOT : CN=OTHER",
        "3550 : 9.48.181.83 : CN=a: b,o=x",
        "9.48.181.83" + " : 1" * 2000,
    ],
)
def test_what_does_not_fit_is_counted(value: str) -> None:
    assert parse_connection(value) is None
    monitor = monitor_of(f"{ROOT}\n{LIST}connection: {value}\n")
    assert (len(monitor.connections or ()), monitor.origin.not_understood) == (4, 1)
    assert monitor_of(f"{LIST}connection: {value}\n").current_connections == 5


@pytest.mark.parametrize("name", ["livethreads", "total_ssl_connections", "idleconnectionsclosed"])
def test_an_excerpt_without_the_version_is_known_by_its_counters(name: str) -> None:
    assert monitor_of(f"dn: cn=monitor\n{name}: 1\ncurrentconnections: 7\n").identity.family is Family.IBM


def test_two_looks_are_two() -> None:
    assert [one.current_connections for one in facts_of(f"{ROOT}\n{LIST}\n{ROOT.replace(': 4', ': 9')}")] == [4, 9]


def test_the_list_of_openldap_is_none_of_it() -> None:
    text = "dn: cn=Connections,cn=Monitor\nobjectClass: monitorContainer\ncn: Connections\n"
    assert facts_of(text) == []


@given(st.lists(st.text(st.characters(codec="ascii", categories=("L", "N", "P")), max_size=40), max_size=10))
def test_no_value_breaks_it(parts: list[str]) -> None:
    parse_connection(" : ".join(parts))
    parse_connection("".join(parts))
