"""Cut text: a table whose end was lost proves no absence; one that merely lacks its last line break is complete."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from command import INCIDENT, diagnose
from conftest import CAPTURES
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.sources.gathering import gather

TABLES = [
    CAPTURES / "sockets" / name
    for name in (
        *("ss-tan.txt", "ss-tanope.txt", "ss-tina.txt", "ss-tinaO.txt", "netstat-an.txt", "netstat-tanopeW.txt"),
        *("conntrack-L-extended.txt", "proc-nf_conntrack.txt", "lsof-nP-iTCP.txt", "freebsd-netstat-an.txt"),
    )
]

AIX = "PCB/ADDR         Proto Recv-Q Send-Q  Local Address      Foreign Address    (state)"
PORTS = range(40000, 40020)


def is_whole(path: Path, content: bytes) -> bool:
    """Return whether a table of these bytes counts as whole."""
    path.write_bytes(content)
    tables = [fact for fact in gather([str(path)]).facts if isinstance(fact, SocketTable | FlowTable)]
    return all(not one.is_cut if isinstance(one, SocketTable) else one.whole for one in tables)


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.name)
def test_a_table_without_its_last_line_break_is_complete(tmp_path: Path, table: Path) -> None:
    assert is_whole(tmp_path / "table.txt", table.read_bytes().rstrip(b"\n"))


def test_a_cut_table_of_a_client_makes_no_ghost(tmp_path: Path) -> None:
    """A copy that stopped after 12,000 of 27,921 bytes: 23 of 40 live connections were "likely" ghosts."""
    case = tmp_path / "incident"
    shutil.copytree(INCIDENT, case)
    shutil.rmtree(case / "fw")
    table = case / "app2" / "ss-tiepmnaO.txt"
    table.write_bytes(table.read_bytes()[:12_000])
    ran = diagnose(case, "--format", "json")
    assert not [one for one in ran.report["findings"] if one["id"].startswith("ghost-connections|10.77.3.2|")]
    assert any("ends within a line" in str(one["notes"]) for one in ran.report["evidence"])


def test_the_prompt_at_the_end_of_a_pasted_session_is_no_cut(tmp_path: Path) -> None:
    session = b"[root@ldap ~]# ss -tan\n" + (CAPTURES / "sockets" / "ss-tan.txt").read_bytes() + b"[root@ldap ~]# "
    assert is_whole(tmp_path / "table.txt", session)


def test_a_cut_row_that_begins_with_its_own_address_is_recognised(tmp_path: Path) -> None:
    rows = (
        f"f1000e0004c3{port:04x} tcp4       0      0  10.77.1.2.389      10.77.2.2.{port}    ESTABLISHED"
        for port in PORTS
    )
    content = "\n".join(["Active Internet connections (including servers)", AIX, *rows]).encode()
    assert is_whole(tmp_path / "t.txt", content)
    assert not is_whole(tmp_path / "t.txt", content[:-15])


@pytest.mark.parametrize("name", ["ss-tan.txt", "netstat-an.txt"])
def test_a_cut_is_recognised_wherever_it_is_in_a_row(tmp_path: Path, name: str) -> None:
    """In the first letter of a row, in a port, or in the blanks after it: `10.77.1.2:38` looks like a whole port."""
    content = (CAPTURES / "incidents" / "5a-ghost-389ds" / "app2" / name).read_bytes()
    begin = content.index(b"\n", len(content) // 2) + 1
    missed = [
        content[begin:cut]
        for cut in range(begin + 1, content.index(b"\n", begin))
        if is_whole(tmp_path / "t.txt", content[:cut])
    ]
    state = b"ESTABLISHED"
    assert [one for one in missed if not one.rstrip().endswith(state)] == []


def test_most_cuts_are_recognised(tmp_path: Path) -> None:
    content = (INCIDENT / "app2" / "ss-tiepmnaO.txt").read_bytes()
    cuts = range(3000, len(content) - 1, 997)
    missed = [cut for cut in cuts if content[cut - 1] != 10 and is_whole(tmp_path / "t.txt", content[:cut])]
    assert len(missed) * 4 <= len(cuts), missed
