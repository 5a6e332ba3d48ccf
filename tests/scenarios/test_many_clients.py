"""Evidence of very many clients: work in proportion to them, and at most 1 GiB of memory for 200,000."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import many_subjects
from box_writers import Flow
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import diagnose
from ldapdiag.evidence.sockets import TcpState
from ldapdiag.report.as_json import document, render
from ldapdiag.sources.gathering import gather
from many_subjects import at_clients, one_host_of_all, server_alone, write
from writers import Socket, as_ss

FEW, MANY = 200, 1_200
NOT_LINEAR = 1.3 * MANY / FEW
"""A part that is quadratic has 36 times the lines."""

PEERS, ALL_PEERS = 50_000, 200_000
MIB, GIB = 1 << 20, 1 << 30

MEASURED = """
import resource, subprocess, sys
ran = subprocess.run([sys.executable, "-m", "ldapdiag", *sys.argv[1:]], stdout=open("report.json", "wb"))
print(ran.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""

READ = """
import sys
from ldapdiag.sources.gathering import gather
read = gather(sys.argv[1:])
lines = sum(fact.origin.lines for fact in read.facts)
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(len(read.gaps), lines, int(peak) * 1024)
"""
"""getrusage may report the peak of the process that started this one."""


def stranded(folder: Path, peers: int) -> None:
    """Write a client whose connections the server does not have."""
    server_alone(folder, 10)
    write(folder, "app", as_ss(at_clients(range(peers))))


def a_host_each(folder: Path, peers: int) -> None:
    """Write a table of each client, of which the server shows half."""
    server_alone(folder, peers // 2)
    for number in range(peers):
        write(folder, f"app{number}", as_ss(at_clients(range(number, number + 1))))


def through_a_firewall(folder: Path, peers: int) -> None:
    """Write the flow table of a firewall that does not translate."""
    server_alone(folder, peers)
    direct = (Flow(client=one.client, server=(*one.client[2:], *one.client[:2])) for one in many_subjects.flows(peers))
    write(folder, "fw", many_subjects.as_conntrack(direct))


def through_a_nat(folder: Path, peers: int) -> None:
    """Write the flow table of a middlebox behind whose address all clients are."""
    rows = [Socket(local_address="*", local_port=389, remote_address="*", remote_port=0, state=TcpState.LISTEN)]
    rows += [
        Socket(
            local_address=server, local_port=port, remote_address=own, remote_port=own_port, state=TcpState.ESTABLISHED
        )
        for server, port, own, own_port in (one.server for one in many_subjects.flows(peers))
    ]
    write(folder, "ldap", as_ss(rows))
    write(folder, "fw", many_subjects.table("conntrack", peers))


def monitored(folder: Path, peers: int) -> None:
    """Write the server's cn=monitor beside its table."""
    server_alone(folder, peers)
    write(folder, "ldap", many_subjects.openldap_monitor(peers), "monitor.ldif")


SITES = [server_alone, one_host_of_all, stranded, a_host_each, through_a_firewall, through_a_nat, monitored]


def lines_of(folder: Path) -> int:
    """Return the lines that a diagnosis executes: they do not depend on the machine, nor on what else it does.

    Each round of a comprehension counts. A loop in C does not: with 200,000 clients it takes too long.
    """
    lines = 0

    def count(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    read = gather([str(folder)])
    sys.settrace(count)
    try:
        render(document(diagnose(read, installed_checks()), datetime(2026, 11, 22, tzinfo=UTC)))
    finally:
        sys.settrace(None)
    return lines


@pytest.mark.long
@pytest.mark.parametrize("site", SITES, ids=[site.__name__ for site in SITES])
def test_the_work_grows_with_the_clients_and_not_with_their_square(tmp_path: Path, site) -> None:
    """100,000 addresses on one host would have taken hours."""
    for peers in (FEW, MANY):
        site(tmp_path / str(peers), peers)
    lines_of(tmp_path / str(FEW))  # imports and caches
    few, many = (lines_of(tmp_path / str(peers)) for peers in (FEW, MANY))
    assert many < NOT_LINEAR * few


def measured(folder: Path, work: Path) -> tuple[dict, int]:
    """Return the report on a folder, and the peak memory of the process that wrote it, in bytes."""
    command = [sys.executable, "-c", MEASURED, "diagnose", str(folder), "--format", "json"]
    ran = subprocess.run(command, cwd=work, check=True, capture_output=True, text=True)
    status, peak = map(int, ran.stdout.split())
    assert status in {0, 1}, ran.stderr
    return json.loads((work / "report.json").read_text()), peak


@pytest.mark.long
@pytest.mark.parametrize("name", many_subjects.TABLES)
def test_a_table_takes_so_much_memory_that_200_000_clients_take_a_quarter_of_1_gib(tmp_path: Path, name: str) -> None:
    """What a table costs later does not depend on the tool that wrote it."""
    path = tmp_path / "table.txt"
    path.write_text(many_subjects.table(name, PEERS), encoding="utf-8", newline="")
    ran = subprocess.run([sys.executable, "-c", READ, str(path)], check=True, capture_output=True, text=True)
    gaps, lines, peak = map(int, ran.stdout.split())
    assert not gaps
    assert lines >= PEERS
    assert peak <= share(GIB / 4, 32 * MIB, PEERS)


@pytest.mark.long
@pytest.mark.parametrize(
    ("site", "peers"),
    [(monitored, PEERS), (through_a_firewall, PEERS), (through_a_nat, ALL_PEERS), (one_host_of_all, PEERS)],
)
def test_200_000_clients_take_at_most_1_gib(tmp_path: Path, site, peers: int) -> None:
    """Either the tables are judged, or a gap reports the limit; memory is bounded in both cases."""
    site(tmp_path / "site", peers)
    report, peak = measured(tmp_path / "site", tmp_path)
    assert all("exceeds the limit of all tables" in gap["reason"] for gap in report["gaps"])
    assert report["verdicts"]
    assert peak <= share(GIB, 64 * MIB, peers)


def share(limit: float, program: float, peers: int) -> float:
    """Return what so many peers may take of a limit for 200,000; `program` is taken without any."""
    return program + (limit - program) * peers / ALL_PEERS


@pytest.mark.long
def test_a_table_beyond_the_limit_takes_no_more_memory_however_long_it_is(tmp_path: Path) -> None:
    """Three million rows as a stand-in for a tar of 12 GB: reading stops at the limit."""
    path = tmp_path / "ss.txt"
    with path.open("w") as table:
        table.write("State  Recv-Q Send-Q      Local Address:Port       Peer Address:PortProcess\n")
        for number in range(3_000_000):
            table.write(f"ESTAB 0 0 10.1.1.1:389 {many_subjects.peer(number)}:4000\n")
    command = [sys.executable, "-c", MEASURED, "diagnose", str(path)]
    ran = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "contains more than 400,000 rows" in ran.stderr
    status, peak = map(int, ran.stdout.split())
    assert status == 2
    assert peak <= GIB
