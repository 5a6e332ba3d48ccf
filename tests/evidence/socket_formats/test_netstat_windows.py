"""Windows netstat shows endpoints, states, process ids and programs, in any language."""

from __future__ import annotations

from collections import Counter

import pytest

from ldapdiag.evidence.addresses import ANY, ANY_PORT, CUT
from ldapdiag.evidence.formats import formats, head_of
from ldapdiag.evidence.socket_formats import netstat_windows
from ldapdiag.evidence.sockets import TcpState
from reading import facts_of

HEADER = "\nActive Connections\n\n  Proto  Local Address          Foreign Address        State           PID\n"
ROW = "  TCP    10.77.1.2:389          10.77.2.2:58862        ESTABLISHED     688\n"
STATES = {
    TcpState.LISTEN: 8,
    TcpState.ESTABLISHED: 5,
    TcpState.CLOSE_WAIT: 1,
    TcpState.TIME_WAIT: 1,
    TcpState.FIN_WAIT_2: 1,
    TcpState.SYN_SENT: 1,
}


def read(content):
    (table,) = facts_of(content)
    return table


def recognised(data, *, whole=True):
    head = head_of("renamed", data, whole=whole)
    return [form.name for form in formats() if form.recognises(head)]


@pytest.mark.parametrize("name", ["netstat-anob", "netstat-ano-german-utf16", "netstat-ano-german-cp850"])
class TestADomainController:
    def test_has_the_same_sockets_in_every_language_and_encoding(self, captures, name):
        table = read((captures / "windows" / f"{name}.txt").read_bytes())
        assert Counter(table.state) == STATES
        keys = list(table.keys())
        assert keys[2] == (ANY, 389, ANY, ANY_PORT)
        assert keys[13] == (ANY, 389, ANY, ANY_PORT)
        assert ("10.77.1.2", 389, "10.77.2.2", 58862) in keys
        assert ("fe80::1", 389, "fe80::2", 50123) in keys
        assert (table.pid[2], table.pid[10]) == (688, None), "a TIME_WAIT socket has no process"
        assert table.receive_queue is table.send_queue is None
        assert (table.tool, table.shows_time_wait, table.has_header) == ("netstat.exe", True, True)
        assert (table.origin.not_understood, table.origin.notes) == (0, ())

    def test_is_recognised_whole_cut_and_renamed(self, captures, name):
        data = (captures / "windows" / f"{name}.txt").read_bytes()
        for head in (data, data[:4096], data[:1000]):
            assert recognised(head, whole=head is data) == ["netstat-windows"]


def test_the_program_below_a_row_owns_its_socket(captures):
    table = read((captures / "windows" / "netstat-anob.txt").read_bytes())
    assert Counter(table.owner) == {"lsass.exe": 13, "svchost.exe": 1, "dfsrs.exe": 1, "": 2}
    owners = dict(zip(table.keys(), table.owner, strict=True))
    assert owners["::1", 50100, "::1", 389] == "dfsrs.exe", "the service above the program is not its owner"


def test_the_program_of_a_udp_socket_owns_no_tcp_socket():
    table = read(
        HEADER + ROW + "  UDP    0.0.0.0:389            *:*                                    688\n [lsass.exe]\n"
    )
    assert (len(table), table.owner, table.origin.not_understood) == (1, None, 0)


def test_names_are_no_addresses():
    table = read("  TCP    dc1:ldap               app1.example.com:58862 ESTABLISHED\n")
    assert list(table.keys()) == [("dc1" + CUT, 389, "app1.example.com" + CUT, 58862)]
    assert table.pid is None


def test_a_listener_has_no_peer_even_by_name():
    assert list(read("  TCP    0.0.0.0:389            DC1:0                  LISTENING\n").keys()) == [
        (ANY, 389, ANY, ANY_PORT)
    ]


@pytest.mark.parametrize("peer", ["0.0.0.0:0", "[::]:0", "*:*"])
def test_an_unknown_word_without_a_peer_is_a_listener(peer):
    table = read(HEADER + f"  TCP    0.0.0.0:389    {peer}     KUUNTELEE   688\n")
    assert (table.state, table.pid, table.origin.notes[1:]) == ([TcpState.LISTEN], [688], ())


def test_an_unknown_word_with_a_peer_is_named_and_leaves_the_state_open():
    table = read(HEADER + ROW.replace("ESTABLISHED", "YHDISTETTY ON"))
    assert (table.state, table.pid) == ([TcpState.UNKNOWN], [688])
    assert "'YHDISTETTY'" in table.origin.notes[0]


def test_only_a_few_unknown_words_are_named():
    table = read("".join(ROW.replace("ESTABLISHED", f"WORD_{number}") for number in range(1000)))
    assert (len(table), len(table.origin.notes)) == (1000, 5)


@pytest.mark.parametrize(
    "header",
    [
        "Aktive Verbindungen\n\n  Proto  Lokale Adresse         Remoteadresse          Status           PID",
        "Connexions actives\n\n  Proto  Adresse locale         Adresse distante       État",
        "Conexiones activas\n\n  Proto  Dirección local        Dirección remota       Estado           PID",
        "Connessioni attive\n\n  Proto  Indirizzo locale       Indirizzo esterno      Stato           PID",
        "Conexões ativas\n\n  Proto  Endereço local         Endereço externo       Estado           PID",
        "Actieve verbindingen\n\n  Proto  Lokaal adres           Extern adres           Status          PID",
        "Aktywne połączenia\n\n  Protokół  Adres lokalny          Obcy adres             Stan",
        "Активные подключения\n\n  Имя    Локальный адрес        Внешний адрес          Состояние       PID",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp850", "cp866"])
def test_a_heading_of_any_language_is_understood(header, encoding):
    table = read(f"\n{header}\n{ROW}".encode(encoding, errors="replace"))
    assert (len(table), table.has_header, table.origin.not_understood) == (1, True, 0)


@pytest.mark.parametrize(
    "sentence",
    [
        " Can not obtain ownership information",
        " Es konnten keine Besitzerinformationen abgerufen werden.",
        " Impossible d’obtenir les informations de propriétaire",
        "  CDPUserSvc_46a8de2e",
        "  Net Driver HPZ12",
        r"  C:\WINDOWS\system32\WS2_32.dll",
        "  -- unknown component(s) --",
    ],
)
def test_what_stands_below_a_row_is_understood(sentence):
    table = read(HEADER + ROW + sentence + "\n [NVIDIA Web Helper.exe]\n")
    assert (table.owner, table.origin.not_understood) == (["NVIDIA Web Helper.exe"], 0)


@pytest.mark.parametrize(
    "line",
    [
        "  TCP",
        "  TCP    10.0.0.1:389",
        "  TCP    10.0.0.1:389    10.0.0.2:4000",
        "  TCP    10.0.0.1        10.0.0.2        ESTABLISHED",
        "  TCP    10.0.0.1:389    10.0.0.2:4000   688",
        "  0.0.0.0:389    0.0.0.0:0    LISTENING",
        "[lsass.exe]",
        "TCP Statistics for IPv4",
    ],
)
def test_a_line_that_is_no_row_is_counted(line):
    first = HEADER + ROW.replace("TCP", "UDP")  # below which a program may stand, but only indented
    table = read(first + line + "\n" + ROW)
    assert (len(table), table.origin.not_understood) == (1, 0 if line == "[lsass.exe]" else 1)


def test_an_address_that_is_none_is_kept_as_a_name():
    table = read("  TCP    [fe80::asda:4124%9]:1900  [::]:0   LISTENING   8\n")
    assert table.local_address == ["fe80::asda:4124" + CUT]


def test_rows_without_a_heading_may_be_a_selection():
    table = read(ROW * 2)
    assert (table.has_header, table.shows_time_wait) == (False, None)
    assert read(ROW + ROW.replace("ESTABLISHED", "TIME_WAIT")).shows_time_wait is True


def test_the_heading_again_is_another_look():
    first, second = facts_of((HEADER + ROW + " [lsass.exe]\n") * 2)
    assert list(first.keys()) == list(second.keys())
    assert (first.origin.not_understood, second.origin.not_understood) == (0, 0)


def test_a_prompt_is_understood():
    table = read("C:\\Users\\admin>netstat -ano\n" + HEADER + ROW + "\nPS C:\\> \n")
    assert table.origin.not_understood == 0


def test_no_row_of_tcp_is_no_table():
    udp = "  UDP    0.0.0.0:500            *:*\n"
    assert facts_of(HEADER + udp, form=netstat_windows.FORMAT) == []
    assert recognised(udp.encode()) == ["netstat-windows"]


PUBLIC = {  # sockets, ESTABLISHED, LISTEN, TIME_WAIT: the README's truth
    "windows10": (32, 32, 0, 0),
    "windows10-an": (80, 32, 48, 0),
    "windows10-aon": (71, 32, 39, 0),
    "windows10-aonb": (114, 54, 51, 3),
    "windowsxp-german-cp850": (16, 5, 8, 3),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_sample_has_the_sockets_counted_by_hand(corpus, name):
    data = (corpus / "public" / "sockets" / f"netstat-{name}.txt").read_bytes()
    table = read(data)
    states = (TcpState.ESTABLISHED, TcpState.LISTEN, TcpState.TIME_WAIT)
    assert (len(table), *map(table.count, states)) == PUBLIC[name]
    assert table.origin.not_understood == 0
    assert recognised(data[:4096], whole=False) == ["netstat-windows"]
