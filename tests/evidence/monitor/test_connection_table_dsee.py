from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.monitor import MonitoredConnection
from reading import facts_of

if TYPE_CHECKING:
    from ldapdiag.evidence.monitor import Monitor

# Written by hand from Oracle 821-1507, cn=monitor: its value, its names, and its version text.
MONITOR = """dn: cn=monitor
objectClass: top
objectClass: extensibleObject
cn: monitor
version: Sun-Directory-Server/11.1.1.7.0
threads: 30
connection: 31:20010201164808Z:45:45::cn=admin,cn=Administrators,cn=config:LDAP
connection: 32:20010201164810Z:7:6:r:uid=a:b,dc=example,dc=com:LDAPS
connection: 33:20010201164811Z:0:0::NULLDN:LDAP
connection: 34:20010201164812Z:1:0::cn=anybody:DSML
currentconnections: 4
totalconnections: 812
connectionpeak: 412
dtablesize: 1024
readwaiters: 0
request-que-backlog: 3
currentpsearches: 2
currenttime: 20010201164900Z
starttime: 20010201164700Z
"""


def monitor_of(text: str) -> Monitor:
    (monitor,) = facts_of(text)
    found: Monitor = monitor
    return found


def test_reads_accounts_counters_and_the_queue() -> None:
    monitor = monitor_of(MONITOR)
    assert str(monitor.identity) == "Directory Server Enterprise Edition 11.1.1"
    assert [one.account for one in monitor.connections or ()] == [
        "cn=admin,cn=Administrators,cn=config",
        "uid=a:b,dc=example,dc=com",
        "",
        "cn=anybody",
    ]
    assert (monitor.connections or ())[1] == MonitoredConnection(
        account="uid=a:b,dc=example,dc=com",
        client="",
        opened=datetime(2001, 2, 1, 16, 48, 10, tzinfo=UTC),
        operations_started=7,
        operations_completed=6,
    )
    assert (monitor.current_connections, monitor.total_connections, monitor.queued_operations) == (4, 812, 3)
    assert (monitor.connection_table_size, monitor.threads) == (1024, 30)
    assert monitor.origin.not_understood == 0


@pytest.mark.parametrize("name", ["connectionPeak: 412", "request-que-backlog: 0", "currentpsearches: 0"])
def test_is_told_from_389_by_counters_of_its_own_where_an_excerpt_lacks_the_version(name: str) -> None:
    text = "dn: cn=monitor\nthreads: 30\ncurrentconnections: 0\n"
    assert monitor_of(text + name).identity.family is Family.DSEE
    assert monitor_of(text).identity.family is Family.DS389


@pytest.mark.parametrize("version", ["389-Directory/2.3.1 B2025.016.1616", "IBM Tivoli Directory (SSL), Version 6.3"])
def test_another_server_s_version_is_not_overruled(version: str) -> None:
    found = facts_of(f"dn: cn=monitor\nversion: {version}\nconnectionpeak: 1\ncurrentconnections: 1\n")
    assert all(one.identity.family is not Family.DSEE for one in found)


@given(st.lists(st.text(st.characters(codec="ascii", categories=("L", "N", "P")), max_size=40), max_size=10))
def test_accounts_written_as_dsee_writes_them_read_back(names: list[str]) -> None:
    accounts = [f"uid={name},dc=x" for name in names]
    values = "".join(
        f"connection: {31 + number}:20010201164808Z:45:45::{account}:LDAP\n" for number, account in enumerate(accounts)
    )
    monitor = monitor_of(f"dn: cn=monitor\nconnectionpeak: 9\n{values}currentconnections: {len(accounts)}\n\n")
    assert [one.account for one in monitor.connections or ()] == accounts
