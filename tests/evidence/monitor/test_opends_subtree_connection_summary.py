from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ldapdiag.evidence.monitor import MonitoredConnection
from ldapdiag.evidence.monitor.opends_subtree import Summary, parse_summary

OPENED = datetime(2026, 11, 20, 9, 2, 53, tzinfo=UTC)


def as_pairs(one: MonitoredConnection, number: int = 14) -> str:
    end = f"{one.client}:{one.client_port}"
    searches = "" if one.persistent_searches is None else f' persistentSearches="{one.persistent_searches}"'
    return (
        f'connID="{number}" connectTime="{one.opened:%Y%m%d%H%M%SZ}" source="{end}" destination="192.0.2.9:389" '
        f'ldapVersion="3" authDN="{one.account}" security="none" opsInProgress="0"{searches}'
    )


def as_json(one: MonitoredConnection, number: int = 14) -> str:
    result = {
        "connId": number,
        "connectTime": f"{one.opened:%Y%m%d%H%M%SZ}",
        "source": f"{one.client}:{one.client_port}",
        "destination": "192.0.2.9:389",
        "ldapVersion": "LDAPV3",
        "authDn": one.account,
        "security": "none",
        "opsInProgress": 0,
    }
    return json.dumps(result | ({} if one.persistent_searches is None else {"persistentSearches": 1}))


def connection(**result: object) -> MonitoredConnection:
    known = {"account": "uid=a,dc=x", "client": "192.0.2.1", "client_port": 5000, "opened": OPENED}
    return MonitoredConnection(**known | result)  # type: ignore[arg-type]  # a test names what it is about


@pytest.mark.parametrize("write", [as_pairs, as_json])
@pytest.mark.parametrize(
    "one",
    [
        connection(),
        connection(account=""),
        connection(account='cn=said "hello" security="none",dc=x'),
        connection(account="uid=app:colon,dc=x"),
        connection(client="2001:db8::21", client_port=389),
        connection(persistent_searches=1),
    ],
)
def test_both_spellings_read_back(write, one: MonitoredConnection) -> None:  # type: ignore[no-untyped-def]
    assert parse_summary(write(one)) == Summary(number="14", connection=one, listener=("192.0.2.9", 389), is_ldap=True)


@pytest.mark.parametrize(
    ("source", "client", "port"),
    [
        ("0:0:0:0:0:0:0:1:44211", "::1", 44211),
        ("/192.0.2.1:5000", "192.0.2.1", 5000),
        ("app1/192.0.2.1:5000", "192.0.2.1", 5000),
        ("0:0:0:0:0:ffff:c000:201:7", "192.0.2.1", 7),
        ("192.168.X.X:5000", "192.168.X.X", 5000),
        ("192.0.2.1", "", None),
        ("192.0.2.1:99999", "192.0.2.1", None),
    ],
)
def test_a_source_as_java_prints_it(source: str, client: str, port: int | None) -> None:
    found = parse_summary(f'connID="1" source="{source}" ldapVersion="3" authDN="" security="none"')
    assert found is not None
    assert (found.connection.client, found.connection.client_port) == (client, port)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "connID=",
        'connID="14" connectTime="20261120090253Z"',
        as_pairs(connection())[:-60],
        "64:20200604081953Z:45:44:-:uid=a,ou=x:0:0:0:12:ip=::1",
        "{",
        "{}",
        "[]",
        "{" * 100_000,
        '{"a":' * 100_000,
        '{"connId":' + "9" * 5000 + "}",
    ],
)
def test_damage_is_none(value: str) -> None:
    assert parse_summary(value) is None


def test_connections_of_http_and_jmx_are_no_ldap() -> None:
    jmx = 'connID="3" connectTime="20200101000000Z" jmxConnID="rmi://x 3" authDN="cn=dm" security="none"'
    http = 'connID="4" connectTime="20200101000000Z" source="192.0.2.1:1" destination="192.0.2.9:8080" authDN=""'
    assert [parse_summary(value + ' security="none"') for value in (jmx, http)] != [None, None]
    assert not any(found and found.is_ldap for found in map(parse_summary, (jmx, http + ' security="none"')))


ACCOUNT = st.text(st.characters(categories=("L", "N", "P", "Zs")), max_size=40)
CONNECTION = st.builds(
    connection,
    account=ACCOUNT,
    client=st.ip_addresses(v=4, network="198.51.100.0/24").map(str)
    | st.ip_addresses(v=6, network="2001:db8::/64").map(str),
    client_port=st.integers(1, 65535),
)


@given(CONNECTION)
def test_any_account_reads_back_from_both(one: MonitoredConnection) -> None:
    for write in (as_pairs, as_json):
        found = parse_summary(write(one))
        assert found is not None
        assert found.connection == one


@given(st.text(max_size=120))
@example('{"source": {}}')
def test_no_value_crashes_it(value: str) -> None:
    parse_summary(value)
    parse_summary(as_pairs(connection()) + value)
    parse_summary("{" + value + "}")
