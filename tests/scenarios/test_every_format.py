"""The incident 5a, rewritten into every format a socket table can have: the same ghosts, or the reason why not."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import TYPE_CHECKING

import pytest

import writers
from diag_writer import as_inet_diag
from incidents import APP1, APP2, GHOSTS, INCIDENTS, diagnosed_facts, finding, findings, ghost_ports, judged, not_judged
from ldapdiag.evidence.addresses import ANY
from ldapdiag.evidence.sockets import TcpState
from ldapdiag.finding import Confidence, NotJudged
from reading import facts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ldapdiag.diagnosis import Diagnosis

    Writer = Callable[[Iterable[writers.Socket]], str | bytes]

HOSTS = ("ldap", "app1", "app2")


def encoded(writer: Callable[..., str], encoding: str, **options: object) -> Writer:
    """Return a writer of bytes: what a tool says, redirected into a file by a shell with this encoding."""
    return lambda sockets: writer(sockets, **options).encode(encoding)


WRITERS: list[tuple[str, Writer]] = [
    ("Linux netstat -W", writers.as_netstat),
    ("Linux netstat", functools.partial(writers.as_netstat, wide=False)),
    ("ss", writers.as_ss),
    ("ss with Netid", functools.partial(writers.as_ss, netid=True)),
    ("/proc", writers.as_proc_net),
    ("Solaris", writers.as_solaris),
    ("Solaris -v", functools.partial(writers.as_solaris, verbose=True)),
    ("Solaris -u", functools.partial(writers.as_solaris, users=True)),
    ("FreeBSD", writers.as_freebsd),
    ("FreeBSD -W", functools.partial(writers.as_freebsd, wide=True)),
    ("FreeBSD -A", functools.partial(writers.as_freebsd, pcb=True)),
    ("macOS", writers.as_macos),
    ("macOS -v", functools.partial(writers.as_macos, programs=True)),
    ("macOS -A", functools.partial(writers.as_macos, pcb=True)),
    ("AIX", writers.as_aix),
    ("AIX -A", functools.partial(writers.as_aix, pcb=True)),
    ("HP-UX", writers.as_hpux),
    ("Windows", writers.as_netstat_windows),
    ("Windows, German, UTF-16", encoded(writers.as_netstat_windows, "utf-16", german=True)),
    ("Windows, German, CP850", encoded(writers.as_netstat_windows, "cp850", german=True)),
    ("PowerShell", encoded(writers.as_powershell_csv, "utf-16")),
    ("PowerShell, semicolons", functools.partial(writers.as_powershell_csv, delimiter=";")),
    ("inet_diag", functools.partial(as_inet_diag, info=False)),
    ("inet_diag of s390x", functools.partial(as_inet_diag, info=False, order=">")),
    ("lsof -F", writers.as_lsof_fields),
    ("lsof -F0", functools.partial(writers.as_lsof_fields, nul=True)),
]
"""Everything that writes a host's sockets; a new format is one line here."""

CUTTING: list[tuple[str, Writer]] = [(name, writer) for name, writer in WRITERS if name.endswith(" -A")]
"""Those that cut the ports of long IPv4 addresses."""

each_writer = pytest.mark.parametrize("name", [name for name, _ in WRITERS])
each_cutting = pytest.mark.parametrize("name", [name for name, _ in CUTTING])

LONG = {
    "10.77.1.2": "192.168.101.102",
    "10.77.2.2": "192.168.201.202",
    "10.77.3.2": "192.168.203.204",
}
"""Addresses so long that .389 and the client's port lose digits where 18 characters are all."""
LONG_CLIENTS = {old: new for old, new in LONG.items() if old != "10.77.1.2"}


def sockets_of(host: str, spelled: Mapping[str, str] | None = None) -> list[writers.Socket]:
    """Return the sockets of a host of the incident, as its ss told them; addresses may be spelled anew."""
    spelled = spelled or {}
    (table,) = facts_of((INCIDENTS / GHOSTS / host / "ss-tan.txt").read_bytes())
    return [
        dataclasses.replace(
            one,
            local_address=spelled.get(one.local_address, one.local_address),
            remote_address=spelled.get(one.remote_address, one.remote_address),
        )
        for one in writers.sockets_in(table)
    ]


@functools.cache
def told(host: str, name: str, long: tuple[tuple[str, str], ...] = ()) -> tuple[object, ...]:
    """Return the facts of a host's sockets told in a format."""
    content = dict(WRITERS)[name](sockets_of(host, dict(long)))
    return tuple(facts_of(content, path=f"{host}/sockets.txt"))


def diagnosed_as(formats: Mapping[str, str], spelled: Mapping[str, str] | None = None) -> Diagnosis:
    """Return the diagnosis of the incident with each host's sockets told in a format, and nothing else."""
    long = tuple(sorted((spelled or {}).items()))
    return diagnosed_facts(itertools.chain.from_iterable(told(host, name, long) for host, name in formats.items()))


def check_ghosts(diagnosis: Diagnosis) -> None:
    """Hold a diagnosis to the truth of the incident: 268 ghosts from app1, none from app2."""
    found = finding(diagnosis, "ghost-connections")
    assert found.subject == APP1
    assert found.observed["ghost_client_ports"] == ghost_ports(GHOSTS)
    assert (found.observed["ghosts"], found.observed["matched"], found.observed["unproven"]) == (268, 2, 0)
    assert found.confidence is Confidence.LIKELY
    assert APP2 in judged(diagnosis, "ghost-connections")
    assert findings(diagnosis, "stranded-connections") == {}


@each_writer
def test_a_format_at_both_ends_gives_the_ghosts(name: str) -> None:
    check_ghosts(diagnosed_as(dict.fromkeys(HOSTS, name)))


@each_writer
def test_a_format_at_the_server_gives_the_ghosts_of_linux_clients(name: str) -> None:
    check_ghosts(diagnosed_as({"ldap": name, "app1": "ss", "app2": "Linux netstat"}))


@each_writer
def test_a_format_at_the_clients_gives_the_ghosts_of_a_linux_server(name: str) -> None:
    check_ghosts(diagnosed_as({"ldap": "ss", "app1": name, "app2": name}))


def test_a_solaris_server_with_clients_of_every_kind_is_judged_as_one() -> None:
    for app1, app2 in itertools.permutations(["Linux netstat", "FreeBSD", "AIX", "HP-UX", "macOS -v"], 2):
        check_ghosts(diagnosed_as({"ldap": "Solaris", "app1": app1, "app2": app2}))


def test_a_solaris_server_with_windows_and_linux_clients_is_judged_as_one() -> None:
    for app1, app2 in itertools.permutations(["Linux netstat", "Windows, German, CP850", "PowerShell, semicolons"], 2):
        check_ghosts(diagnosed_as({"ldap": "Solaris -v", "app1": app1, "app2": app2}))


@each_writer
def test_the_client_of_a_format_is_the_one_that_is_clear(name: str) -> None:
    diagnosis = diagnosed_as({"ldap": "Solaris -v", "app1": "ss", "app2": name})
    assert "40 of them held at both ends" in judged(diagnosis, "ghost-connections")[APP2].reason  # type: ignore[union-attr]


@pytest.mark.parametrize("name", [name for name, writer in WRITERS if (name, writer) not in CUTTING])
def test_long_addresses_cost_nothing_where_they_are_not_cut(name: str) -> None:
    found = finding(diagnosed_as(dict.fromkeys(HOSTS, name), LONG), "ghost-connections")
    assert found.observed["ghost_client_ports"] == ghost_ports(GHOSTS)


def in_unknown_words(host: str) -> list[object]:
    """Return a host's sockets, told by a Windows of a language nobody knows."""
    table = writers.as_netstat_windows(sockets_of(host)).replace("ESTABLISHED", "YHDISTETTY")
    return facts_of(table, path=f"{host}/sockets.txt")


def test_nothing_is_claimed_of_a_server_whose_state_words_nobody_knows() -> None:
    diagnosis = diagnosed_facts([*in_unknown_words("ldap"), *told("app1", "ss")])
    assert findings(diagnosis, "ghost-connections") == {}
    assert findings(diagnosis, "stranded-connections") == {}


def test_a_client_whose_words_nobody_knows_proves_nothing() -> None:
    """They may all be one state, asked for alone; the two it holds are not called dead either."""
    diagnosis = diagnosed_facts([*told("ldap", "ss"), *in_unknown_words("app1")])
    verdict = not_judged(diagnosis, "ghost-connections", "10.77.2.2 -> 10.77.1.2:389")
    assert "270 of 270 connections are absent at the client" in verdict.reason
    assert "states" in verdict.reason


@each_cutting
@pytest.mark.parametrize("others", ["ss", "Solaris", "the same"])
def test_nothing_is_judged_of_a_server_that_cuts_its_own_ports(name: str, others: str) -> None:
    others = name if others == "the same" else others
    diagnosis = diagnosed_as({"ldap": name, "app1": others, "app2": others}, LONG)
    (verdict,) = judged(diagnosis, "ghost-connections").values()
    assert isinstance(verdict, NotJudged)
    assert "netstat -A" in verdict.reason
    assert findings(diagnosis, "stranded-connections") == {}


@each_cutting
def test_nothing_is_judged_of_clients_whose_ports_the_server_cuts(name: str) -> None:
    diagnosis = diagnosed_as({"ldap": name, "app1": "ss", "app2": "ss"}, LONG_CLIENTS)
    for client, count in (("10.77.2.2", 270), ("10.77.3.2", 40)):
        verdict = not_judged(diagnosis, "ghost-connections", f"{LONG[client]} -> 10.77.1.2:389")
        assert f"{count} of {count} connections are absent at the client" in verdict.reason
        assert "truncated port" in verdict.reason
    assert findings(diagnosis, "stranded-connections") == {}


@each_cutting
@pytest.mark.parametrize("spelled", [LONG, LONG_CLIENTS], ids=["both", "own"])
def test_nothing_is_judged_of_clients_that_cut_ports(name: str, spelled: dict[str, str]) -> None:
    diagnosis = diagnosed_as({"ldap": "ss", "app1": name, "app2": name}, spelled)
    verdicts = judged(diagnosis, "ghost-connections")
    assert len(verdicts) == 2
    for verdict in verdicts.values():
        assert isinstance(verdict, NotJudged)
        assert "truncates ports" in verdict.reason
    assert findings(diagnosis, "stranded-connections") == {}


@pytest.mark.parametrize("name", ["FreeBSD", "macOS", "AIX", "Linux netstat"])
def test_nothing_is_judged_where_addresses_of_ipv6_are_cut(name: str) -> None:
    spelled = {old: f"2001:db8:1234:5678:9abc:def0:1:{at}" for at, old in enumerate(LONG, 1)}
    diagnosis = diagnosed_as(dict.fromkeys(HOSTS, name), spelled)
    verdicts = judged(diagnosis, "ghost-connections").values()
    assert verdicts
    for verdict in verdicts:
        assert isinstance(verdict, NotJudged)
        assert "truncates this address" in verdict.reason


def test_the_incident_is_told_whole() -> None:
    server = sockets_of("ldap")
    assert sum(socket.state is TcpState.ESTABLISHED for socket in server) == 310
    assert any(dataclasses.astuple(socket)[:4] == (ANY, 389, ANY, 0) for socket in server)
