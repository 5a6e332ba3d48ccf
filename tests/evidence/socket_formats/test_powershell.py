"""Get-NetTCPConnection as CSV, with any columns."""

from __future__ import annotations

from collections import Counter

import pytest

from ldapdiag.evidence.addresses import ANY, ANY_PORT, CUT, UNKNOWN_PORT
from ldapdiag.evidence.formats import formats, head_of
from ldapdiag.evidence.socket_formats import powershell
from ldapdiag.evidence.sockets import TcpState
from reading import facts_of

HEADER = '"LocalAddress","LocalPort","RemoteAddress","RemotePort","State","OwningProcess"\n'
ROW = '"10.77.1.2","389","10.77.2.2","58862","Established","688"\n'


def read(content):
    (table,) = facts_of(content)
    return table


def test_a_domain_controller_has_the_sockets_netstat_shows(captures):
    folder = captures / "windows"
    table = read((folder / "Get-NetTCPConnection.csv").read_bytes())
    netstat = read((folder / "netstat-anob.txt").read_bytes())
    assert list(table.keys()) == list(netstat.keys())
    assert list(table.state) == list(netstat.state)
    assert table.pid == netstat.pid
    assert table.receive_queue is None
    assert (table.tool, table.shows_time_wait, table.origin.not_understood) == ("powershell", True, 0)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("quoted", [True, False])
def test_encoding_delimiter_and_quotes_make_no_difference(encoding, delimiter, quoted):
    text = ("#TYPE Selected.X\n" + HEADER + ROW).replace(",", delimiter).replace("\n", "\r\n")
    table = read((text if quoted else text.replace('"', "")).encode(encoding))
    assert list(table.keys()) == [("10.77.1.2", 389, "10.77.2.2", 58862)]
    assert (table.state, table.pid, table.origin.not_understood) == ([TcpState.ESTABLISHED], [688], 0)


def test_columns_are_known_by_their_names():
    table = read(
        '"State","PSComputerName","RemotePort","RemoteAddress","ProcessName","LocalPort","LocalAddress"\n'
        '"CloseWait","dc1","4000","10.0.0.2","lsass, the one","636","fe80::1%12"\n'
    )
    assert list(table.keys()) == [("fe80::1", 636, "10.0.0.2", 4000)]
    assert (table.state, table.owner, table.pid) == ([TcpState.CLOSE_WAIT], ["lsass, the one"], None)


@pytest.mark.parametrize(
    ("columns", "row", "key", "state"),
    [
        ("LocalPort,State", "389,Listen", (CUT, 389, ANY, ANY_PORT), TcpState.LISTEN),
        (
            "LocalAddress,LocalPort,RemotePort",
            "10.0.0.1,389,4000",
            ("10.0.0.1", 389, CUT, 4000),
            TcpState.UNKNOWN,
        ),
        (
            "LocalPort,RemoteAddress,State",
            "389,10.0.0.2,Established",
            (CUT, 389, "10.0.0.2", UNKNOWN_PORT),
            TcpState.ESTABLISHED,
        ),
        (
            "LocalAddress,LocalPort,RemoteAddress,RemotePort",
            "::,389,::,0",
            (ANY, 389, ANY, ANY_PORT),
            TcpState.LISTEN,
        ),
    ],
)
def test_columns_not_selected_are_unknown_and_noted(columns, row, key, state):
    table = read(f"{columns}\n{row}\n")
    assert (list(table.keys()), table.state) == ([key], [state])
    assert any("lacks columns" in note for note in table.origin.notes)


@pytest.mark.parametrize(("number", "name", "state"), powershell.NUMBERED)
def test_a_state_is_a_name_or_a_number(number, name, state):
    table = read(HEADER + ROW.replace("Established", name) + ROW.replace("Established", str(number)))
    assert table.state == [state, state]


def test_an_unknown_state_is_open():
    table = read(HEADER + ROW.replace("Established", "Halfway"))
    assert table.state == [TcpState.UNKNOWN]
    assert "unknown state" in table.origin.notes[0]


def test_a_socket_in_time_wait_is_nobodys():
    assert read(HEADER + ROW + ROW.replace("Established", "TimeWait").replace("688", "0")).pid == [688, None]


@pytest.mark.parametrize(
    "line", ["hello", '"10.77.1.2","389"', '"10.77.1.2","x","10.77.2.2","1","Listen","1"', '"' * 200_000]
)
def test_a_line_that_is_no_row_is_counted(line):
    table = read(HEADER + ROW + line + "\n")
    assert (len(table), table.origin.not_understood) == (1, 1)


def test_a_row_with_a_value_for_each_name_but_not_each_column_is_counted():
    header, row = HEADER.replace('"Local', '"RemoteAddress","Local', 1), '"10.77.2.2",' + ROW
    table = read(header + row + row.replace(',"688"', ""))
    assert (len(table), table.origin.not_understood) == (1, 1)


def test_a_header_again_is_another_look():
    first, second = facts_of((f"#TYPE X\n{HEADER}{ROW}") * 2)
    assert list(first.keys()) == list(second.keys())


@pytest.mark.parametrize(
    "text",
    [
        '"LocalAddress","LocalPort","OwningProcess"\n"0.0.0.0","389","688"\n',  # Get-NetUDPEndpoint has no more
        "The columns are LocalPort and State\n",
        "LocalPort\n389\n",
    ],
)
def test_what_is_no_table_of_connections_is_not_recognised(text):
    assert [form.name for form in formats() if form.recognises(head_of("x.csv", text.encode(), whole=True))] == []


def test_it_is_recognised_by_its_content_alone(captures):
    data = (captures / "windows" / "Get-NetTCPConnection.csv").read_bytes()
    for head in (data, data[:600]):
        names = [form.name for form in formats() if form.recognises(head_of("renamed", head, whole=head is data))]
        assert names == ["powershell-csv"]


def test_without_listeners_time_wait_is_unknown():
    assert read(HEADER + ROW).shows_time_wait is None


def test_states_are_counted(captures):
    table = read((captures / "windows" / "Get-NetTCPConnection.csv").read_bytes())
    assert Counter(table.state)[TcpState.LISTEN] == 8
