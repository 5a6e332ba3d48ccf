"""ephemeral-port-exhaustion: the ports of one source address towards one server, against those that it may use."""

from __future__ import annotations

from dataclasses import replace

import pytest

import facts
from incidents import INCIDENTS, diagnosed, judged
from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.evidence.sockets import TcpState
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
from ldapdiag_checks.ephemeral_port_exhaustion import judge

ALL = {"shows_time_wait": True}


def kernel(ports: str = "40000\t40099", **others: str) -> KernelSettings:
    """Return the settings of app1: by default 100 ports."""
    values = {"net.ipv4.ip_local_port_range": ports} | {f"net.ipv4.{name}": text for name, text in others.items()}
    return KernelSettings(origin=facts.origin("app1", "sysctl.txt"), values=values)


def client(*rows: facts.Row, settings: KernelSettings | None = None, **traits):
    """Return the host app1 with these sockets."""
    told = [*rows, facts.row("*:22", "*:*", TcpState.LISTEN)]
    return facts.host("app1", facts.table(told, "app1", **ALL | traits), kernel=settings)


def of(*hosts, servers=(), flows=()):
    return list(judge(tuple(hosts), tuple(servers), tuple(flows)))


def waiting(count: int, first: int = 40050) -> list[facts.Row]:
    return facts.at_client(count, first=first, state=TcpState.TIME_WAIT)


@pytest.mark.parametrize(
    ("used", "severity"), [(79, None), (80, Severity.HIGH), (94, Severity.HIGH), (95, Severity.CRITICAL)]
)
def test_severity_by_share(used, severity) -> None:
    (verdict,) = of(client(*facts.at_client(used), settings=kernel()))
    assert getattr(verdict, "severity", None) is severity
    if severity is None:
        assert isinstance(verdict, Clear)
        assert verdict.reason.startswith("10.77.2.2 uses 79 ports towards 10.77.1.2:389, of 100")


def test_ports_that_are_used_up_are_a_state() -> None:
    (found,) = of(client(*facts.at_client(100), settings=kernel()))
    assert found.title.startswith("10.77.2.2 has used up its 100 ports towards 10.77.1.2:389")


def test_states_its_numbers() -> None:
    (found,) = of(client(*facts.at_client(40), *waiting(50), settings=kernel()))
    assert isinstance(found, Finding)
    assert found.observed == {
        "host": "app1",
        "end": "client",
        "source": "10.77.2.2",
        "server": "10.77.1.2:389",
        "used": 90,
        "time_wait": 50,
        "ports": 100,
        "range": "40000-40099",
        "range_known": True,
        "closed_per_second": 0.833,
        "possible_per_second": 1.0,
    }
    assert found.confidence is Confidence.CERTAIN
    assert "EADDRNOTAVAIL" in found.detail
    assert "0.8 connections a second" in found.detail


def test_the_remedies_come_with_the_way_back() -> None:
    (found,) = of(client(*waiting(90, first=40000), settings=kernel()))
    pool, wider, addresses, reuse = found.remedies
    assert "pool" in pool.text
    assert "ip_local_port_range = 16384 65535" in wider.text
    assert "'net.ipv4.ip_local_port_range=40000 40099'" in wider.undo
    assert addresses.where == "client"
    assert "tcp_tw_reuse = 1" in reuse.text
    assert "tcp_tw_reuse=2" in reuse.undo
    assert all("tcp_tw_recycle" not in one.text for one in found.remedies)


def test_open_connections_are_not_reused_from_time_wait() -> None:
    (found,) = of(client(*facts.at_client(90), settings=kernel()))
    assert not any("TIME-WAIT" in remedy.title for remedy in found.remedies)
    assert "They are open, not in TIME-WAIT" in found.detail


def test_reserved_ports_are_never_chosen() -> None:
    (found,) = of(client(*facts.at_client(72), settings=kernel(ip_local_reserved_ports="40090-40200,22")))
    assert (found.observed["used"], found.observed["ports"]) == (72, 90)


@pytest.mark.parametrize(
    ("others", "is_found"),
    [
        ({}, True),
        ({"tcp_tw_reuse": "0"}, True),
        ({"tcp_tw_reuse": "2"}, True),
        ({"tcp_tw_reuse": "1"}, False),
        ({"tcp_tw_reuse": "1", "tcp_timestamps": "0"}, True),
    ],
)
def test_time_wait_counts_unless_the_kernel_reuses_it(others, is_found) -> None:
    (verdict,) = of(client(*waiting(95, first=40000), settings=kernel(**others)))
    assert isinstance(verdict, Finding) is is_found


def test_each_server_has_all_ports_again() -> None:
    elsewhere = [facts.row(f"{facts.APP1}:{40050 + number}", "10.77.1.3:389") for number in range(50)]
    (clear,) = of(client(*facts.at_client(50), *elsewhere, settings=kernel()))
    assert isinstance(clear, Clear)


def test_so_has_each_local_address() -> None:
    second = [facts.row(f"10.77.2.99:{40050 + number}", f"{facts.LDAP}:389") for number in range(50)]
    (clear,) = of(client(*facts.at_client(50), *second, settings=kernel()))
    assert isinstance(clear, Clear)


def test_the_default_range_of_linux_is_likely() -> None:
    (found,) = of(client(*facts.at_client(22_586, first=32768)))
    assert (found.confidence, found.observed["ports"]) == (Confidence.LIKELY, 28_232)
    assert not any("Choose local ports" in remedy.title for remedy in found.remedies)


@pytest.mark.parametrize("traits", [{"tool": "netstat"}, {"outside": True}])
def test_is_not_judged_where_the_default_may_not_apply(traits) -> None:
    rows = facts.at_client(22_586, first=32768)
    if traits.pop("outside", False):
        rows += facts.at_client(1, first=2000)
    (verdict,) = of(client(*rows, **traits))
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("kernel-settings",)


def test_a_table_without_time_wait_clears_nobody() -> None:
    (verdict,) = of(client(*facts.at_client(10), settings=kernel(), shows_time_wait=None))
    assert isinstance(verdict, NotJudged)
    assert "TIME-WAIT" in verdict.reason


def test_unknown_ports_are_not_counted() -> None:
    rows = [facts.row(f"{facts.APP1}:40000", f"{facts.LDAP}:389")] * 90
    rows = [replace(one, key=(one.key[0], UNKNOWN_PORT, *one.key[2:])) for one in rows]
    (clear,) = of(client(*rows, settings=kernel()))
    assert clear.reason.startswith("10.77.2.2 uses 0 ports")


def translated(count: int, *, apart: int = 1):
    """Return the flows of two clients that one address stands for."""
    rows = [facts.row(f"{facts.LDAP}:389", f"10.77.1.1:{1024 + number * apart}") for number in range(count)]
    table = facts.flows(rows)
    clients = [(facts.APP1 if number % 2 else facts.APP2, *key[1:]) for number, key in enumerate(table.client)]
    return replace(table, client=clients)


@pytest.mark.parametrize(("count", "severity"), [(51_609, None), (51_610, Severity.HIGH), (61_287, Severity.CRITICAL)])
def test_a_nat_has_the_ports_from_1024(count, severity) -> None:
    (verdict,) = of(flows=[translated(count)])
    assert getattr(verdict, "severity", None) is severity
    if severity:
        assert (verdict.observed["end"], verdict.observed["source"]) == ("nat", "10.77.1.1")
        assert verdict.observed["closed_per_second"] is None
        assert "several addresses" in verdict.remedies[1].text


def test_what_a_firewall_does_not_translate_is_no_nat() -> None:
    assert [type(one) for one in of(flows=[facts.flows(facts.at_server(1000))])] == [NotJudged]


@pytest.mark.parametrize(
    ("ports", "confidence"),
    [
        (range(1024, 52_634), Confidence.LIKELY),
        (range(32_768, 55_354), Confidence.POSSIBLE),
        (range(1024, 23_610), None),
    ],
)
def test_at_the_server_an_address_may_be_a_nat_or_one_host(ports, confidence) -> None:
    rows = [facts.row(f"{facts.LDAP}:389", f"{facts.OTHER}:{port}") for port in ports]
    host = facts.host("ldap", facts.table([facts.listening(), *rows], **ALL))
    (verdict,) = of(host, servers=[facts.server()])
    assert getattr(verdict, "confidence", None) is confidence
    if confidence:
        assert (verdict.observed["end"], verdict.observed["source"]) == ("server", facts.OTHER)


def test_the_clients_own_table_decides_where_it_was_read() -> None:
    rows = [facts.row(f"{facts.LDAP}:389", f"{facts.APP1}:{port}") for port in range(32_768, 55_354)]
    host = facts.host("ldap", facts.table([facts.listening(), *rows], **ALL))
    wide = client(*facts.at_client(22_586, first=32_768), settings=kernel("1024\t65535"))
    verdicts = of(host, wide, servers=[facts.server()])
    assert [type(one) for one in verdicts] == [Clear]


def test_nothing_is_not_judged() -> None:
    (verdict,) = of()
    assert (type(verdict), verdict.subject) == (NotJudged, None)


def test_the_incidents_of_the_lab_have_ports_left() -> None:
    verdicts = judged(diagnosed(INCIDENTS / "5a-ghost-389ds"), "ephemeral-port-exhaustion")
    assert verdicts
    assert {type(one) for one in verdicts.values()} == {Clear}
    assert all("the default of Linux" in one.reason for one in verdicts.values())


def test_the_halves_of_a_range_may_come_from_bsd() -> None:
    values = {"net.inet.ip.portrange.first": "40000", "net.inet.ip.portrange.last": "40099"}
    settings = KernelSettings(origin=facts.origin("app1", "sysctl.txt"), values=values)
    (found,) = of(client(*facts.at_client(95), settings=settings))
    assert found.observed["range"] == "40000-40099"


@pytest.mark.parametrize("text", ["", "0 0", "60999 32768", "1024 99999", "x y", "32768"])
def test_no_range_is_no_known_range(text) -> None:
    (clear,) = of(client(*facts.at_client(95), settings=kernel(text)))
    assert "28,232" in clear.reason


class TestWindows:
    """16,384 ports, where a Linux host has 28,232."""

    @pytest.mark.parametrize(
        ("used", "severity"), [(13_107, None), (13_108, Severity.HIGH), (15_565, Severity.CRITICAL)]
    )
    def test_has_a_range_of_its_own(self, used, severity) -> None:
        (verdict,) = of(client(*facts.at_client(used, first=49_152), tool="powershell"))
        assert getattr(verdict, "severity", None) is severity
        if severity is not None:
            assert verdict.confidence is Confidence.LIKELY
            assert (verdict.observed["range"], verdict.observed["closed_per_second"]) == ("49152-65535", None)
            assert not [one for one in verdict.remedies if "sysctl" in one.text]

    def test_with_another_range_is_not_judged(self) -> None:
        (verdict,) = of(client(*facts.at_client(13_108, first=40_000), tool="netstat.exe"))
        assert isinstance(verdict, NotJudged)
        assert "netsh" in verdict.how

    def test_is_recognised_by_its_ports_at_the_server(self) -> None:
        rows = facts.at_server(15_565, first=49_152)
        found = of(facts.host("ldap", facts.table(rows, "ldap")), servers=[facts.server()])
        assert [(one.severity, one.observed["range"]) for one in found] == [(Severity.CRITICAL, "49152-65535")]
