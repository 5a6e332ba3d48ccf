"""A watch of fake directories: what it asks, what it takes off, and how it comes back."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from fake_directory import FakeDirectory
from ldapdiag.errors import LdapdiagError
from ldapdiag.sources.collection_options import BindOptions
from ldapdiag.sources.live.ldap.watch import Watch
from ldapdiag.sources.targets import LdapTarget, parse_target

DS389 = ("", {"vendorVersion": ["389-Directory/2.3.1 B2025"]})
SLAPD = ("", {"objectClass": ["OpenLDAProotDSE"], "monitorContext": ["cn=Monitor"]})
SNMP = ("cn=snmp,cn=monitor", {"connections": ["4"], "connectionseq": ["90"], "inops": ["700"]})
COUNTERS = {"objectClass": ["top"], "version": ["389-Directory/2.3.1"], "currentconnections": ["4"], "threads": ["16"]}
LIST = [f"{slot}:20261120084645Z:4:4:-:uid=a,o=x:0:0:0:{slot}:ip=10.0.0.{slot}" for slot in (1, 2, 3)]
OWN = "9:20261120084650Z:4:3:-:NULLDN:0:0:0:9:ip=127.0.0.1"


def watching(url: str, seconds: int = 5, stop: Event | None = None, **bind: str) -> Watch:
    target = parse_target(url)
    assert isinstance(target, LdapTarget)
    return Watch(target.address, url, BindOptions(**bind), seconds, stop or Event())


def ds389(base: str, attributes: list[str]):
    """Say what a small 389-ds says."""
    listed = {"connection": [*LIST, OWN]} if "connection" in attributes else {}
    return {
        "": ([DS389], 0),
        "cn=snmp,cn=monitor": ([SNMP], 0),
        "cn=monitor": ([("cn=monitor", COUNTERS | listed)], 0),
    }.get(base, ([], 32))


def slapd(base: str, attributes: list[str]):
    """Say what a slapd with 700 connections says to an account with a size limit of 500."""
    peer = "monitorConnectionPeerAddress"
    some = [(f"cn=Connection {n},cn=Connections,cn=Monitor", {peer: [f"IP=10.0.0.1:{n + 1000}"]}) for n in range(500)]
    return {
        "": ([SLAPD], 0),
        "cn=Current,cn=Connections,cn=Monitor": ([(base, {"monitorCounter": ["701"]})], 0),
        "cn=Operations,cn=Monitor": ([(base, {"monitorOpCompleted": ["5000"]})], 0),
        "cn=Connections,cn=Monitor": (some, 4),
    }.get(base, ([], 0))


def test_389_counters_need_one_request_and_are_without_our_connection() -> None:
    with FakeDirectory(ds389) as directory:
        watch = watching(directory.url)
        first, second = watch.counters(), watch.counters()
        watch.close()
        asked = [base for base, _ in directory.searches]
        assert directory.unbound.wait(5)
    assert asked == ["", "cn=snmp,cn=monitor", "cn=snmp,cn=monitor"]
    monitor = second.monitor
    assert (monitor.current_connections, monitor.total_connections, monitor.operations) == (3, 90, 700)
    assert second.requests - first.requests == 1
    assert (monitor.connections, monitor.busy_threads) == (None, None)  # absent is not zero


def test_389_list_is_without_our_connection() -> None:
    with FakeDirectory(ds389) as directory:
        watch = watching(directory.url)
        monitor = watch.listing().monitor
        watch.close()
    assert monitor.connections is not None
    assert sorted(one.client for one in monitor.connections) == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
    assert (monitor.current_connections, monitor.threads) == (3, 16)


OPENDJ_LIST = [
    f'connID="{n}" connectTime="20261201010427Z" source="10.0.0.{n}:4722{n}" destination="10.0.0.9:389" '
    'ldapVersion="3" authDN="uid=a,o=x" security="none" opsInProgress="0"'
    for n in (1, 2)
]
OTHERS = {
    "opendj": {  # as 4.10.1 answers
        "": {"vendorVersion": ["OpenDJ Server 4.10.1"]},
        "cn=monitor": {"objectClass": ["ds-monitor-entry"], "currentConnections": ["3"]},
        "cn=Client Connections,cn=monitor": {"connection": OPENDJ_LIST},
    },
    "ping": {  # by the classes of UnboundID's SDK
        "": {"vendorVersion": ["Ping Identity Directory Server 9.3.0.0"]},
        "cn=monitor": {"objectClass": ["ds-general-monitor-entry"], "currentConnections": ["3"]},
        "cn=Client Connections,cn=monitor": {
            "objectClass": ["ds-client-connection-monitor-entry"],
            "connection": OPENDJ_LIST,
        },
    },
    "dsee": {  # by the manual
        "": {"vendorVersion": ["Sun-Directory-Server/11.1.1.7.0"]},
        "cn=snmp,cn=monitor": {"connections": ["3"]},
        "cn=monitor": {
            "version": ["Sun-Directory-Server/11.1.1.7.0"],
            "currentconnections": ["3"],
            "connection": [f"{slot}:20261120084645Z:4:4::uid=a,o=x:LDAP" for slot in (1, 2)],
        },
    },
}


@pytest.mark.parametrize("product", OTHERS)
def test_counters_and_list_of_other_products(product: str) -> None:
    with FakeDirectory(
        lambda base, _: ([(base, found)], 0) if (found := OTHERS[product].get(base)) else ([], 32)
    ) as ds:
        watch = watching(ds.url)
        counters, listing = watch.counters().monitor, watch.listing().monitor
        watch.close()
    assert (counters.current_connections, counters.connections) == (2, None)
    assert [one.account for one in listing.connections or ()] == ["uid=a,o=x"] * 2


def test_slapd_list_that_is_cut_says_so() -> None:
    with FakeDirectory(slapd) as directory:
        watch = watching(directory.url)
        counters, listing = watch.counters(), watch.listing()
        watch.close()
    assert (counters.monitor.current_connections, counters.monitor.operations, counters.is_cut) == (700, 5000, False)
    assert (len(listing.monitor.connections or ()), listing.is_cut) == (500, True)


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (lambda base, _: ([DS389], 0) if base == "" else ([], 50), "not visible to an anonymous bind"),
        (lambda base, _: ([DS389], 0) if base == "" else ([], 51), "busy"),
        (lambda *_: ([("", {"vendorVersion": ["Unheard Of 1"]})], 0), "unknown product"),
        (lambda *_: b"\x00\x01\x02\x03 no LDAP at all", "not LDAP"),
    ],
)
def test_no_answer_is_a_reason(says, reason: str) -> None:
    with FakeDirectory(says) as directory:
        watch = watching(directory.url)
        with pytest.raises(LdapdiagError, match=reason):
            watch.counters()
        watch.close()


def test_a_watch_comes_back_after_a_connection_that_broke() -> None:
    breaks = [b"", b""]

    def says(base: str, attributes: list[str]):
        if base and breaks:
            breaks.pop()
            raise ConnectionAbortedError
        return ds389(base, attributes)

    with FakeDirectory(says) as directory:
        watch = watching(directory.url)
        for _ in range(2):
            with pytest.raises(LdapdiagError, match=r"closed the connection|connection failed"):
                watch.counters()
        assert watch.counters().monitor.current_connections == 3
        watch.close()


def test_a_server_that_hangs_is_left_at_the_end() -> None:
    stop, go_on = Event(), Event()

    def says(base: str, attributes: list[str]):
        if base:
            go_on.wait(20)
        return ds389(base, attributes)

    reasons: list[str] = []

    def ask() -> None:
        try:
            watch.counters()
        except LdapdiagError as error:
            reasons.append(str(error))

    with FakeDirectory(says) as directory:
        watch = watching(directory.url, seconds=60, stop=stop)
        thread = Thread(target=ask)
        thread.start()
        assert directory.asked.wait(5)
        stop.set()
        thread.join(5)
        go_on.set()
        watch.close()
    assert [one.endswith("interrupted before the last answer") for one in reasons] == [True]


def test_a_kept_connection_is_not_ended_by_the_sum_of_its_answers(monkeypatch) -> None:
    monkeypatch.setattr("ldapdiag.sources.live.ldap.ldap3_connection.MAX_ENTRIES", 5)
    with FakeDirectory(ds389) as directory:
        watch = watching(directory.url)
        for _ in range(12):
            watch.counters()
        watch.close()
