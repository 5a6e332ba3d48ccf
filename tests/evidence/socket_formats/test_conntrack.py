"""The box's own table is read in every form conntrack and the kernel give it."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.evidence.socket_formats import conntrack
from reading import facts_of

FLOW = (
    "tcp      6 29 ESTABLISHED src=10.77.3.2 dst=10.77.1.2 sport=41946 dport=389 "
    "src=10.77.1.2 dst=10.77.3.2 sport=389 dport=41946 [ASSURED] mark=0 use=1\n"
)
CLIENT = ("10.77.3.2", 41946, "10.77.1.2", 389)
SERVER = ("10.77.1.2", 389, "10.77.3.2", 41946)


def read(text):
    (table,) = facts_of(text)
    assert isinstance(table, FlowTable)
    return table


def test_a_flow_is_told_as_each_end_writes_it():
    table = read(FLOW)
    assert (table.client, table.server) == ([CLIENT], [SERVER])
    assert (table.state, table.seconds_left) == (["ESTABLISHED"], [29])


@pytest.mark.parametrize("name", ["conntrack-L-extended", "proc-nf_conntrack"])
def test_the_extended_form_is_read_alike(captures, name):
    table = read((captures / "sockets" / f"{name}.txt").read_bytes())
    assert len(table.client) == 4
    assert (table.client[0], table.server[0]) == (CLIENT, SERVER)
    assert table.seconds_left[:2] == [29, 24]
    assert table.origin.not_understood == 0


def test_a_translated_address_is_the_one_the_server_sees(captures):
    table = read((captures / "sockets" / "conntrack-L-snat.txt").read_bytes())
    assert table.client[0] == ("10.77.3.2", 46772, "10.77.1.2", 389)
    assert table.server[0] == ("10.77.1.2", 389, "10.77.1.1", 46772)


# Written after nf_conntrack_standalone.c (offload, zone), conntrack(8) (-o id, ktimestamp) and public rows (secctx).
@pytest.mark.parametrize(
    "line",
    [
        FLOW.replace("tcp      6", "tcp  6"),
        FLOW.replace("use=1", "use=1 id=2993966208"),
        FLOW.replace("mark=0", "mark=0 secctx=system_u:object_r:unlabeled_t:s0 src=1"),
        FLOW.replace("dport=389 ", "dport=389 packets=11 bytes=1337 ").replace(
            "41946 [A", "41946 packets=8 bytes=7 [A"
        ),
        FLOW.replace("dport=389 ", "dport=389 [UNREPLIED] "),
        "ipv4     2 " + FLOW.replace("mark=0", "mark=0 zone=0 delta-time=77"),
    ],
)
def test_more_fields_change_nothing(line):
    table = read(line)
    assert (table.client, table.server, table.seconds_left) == ([CLIENT], [SERVER], [29])


def test_an_offloaded_flow_has_no_time_left():
    table = read(FLOW.replace("29 ESTABLISHED ", "").replace("[ASSURED]", "[OFFLOAD]"))
    assert (table.client, table.state, table.seconds_left) == ([CLIENT], ["OFFLOAD"], [None])


def test_ipv6_has_no_brackets():
    table = read(FLOW.replace("10.77.3.2", "2001:db8::2").replace("10.77.1.2", "2001:db8:0:0::1"))
    assert table.client == [("2001:db8::2", 41946, "2001:db8::1", 389)]


def test_other_protocols_are_passed_over():
    udp = FLOW.replace("tcp      6 29 ESTABLISHED", "udp      17 5").replace("[ASSURED] ", "")
    icmp = "icmp     1 29 src=10.0.0.1 dst=10.0.0.2 type=8 code=0 id=1 src=10.0.0.2 dst=10.0.0.1 type=0 code=0 id=1\n"
    unknown = "unknown  2 431 src=10.0.0.1 dst=224.0.0.22 [UNREPLIED] src=224.0.0.22 dst=10.0.0.1 mark=0 use=1\n"
    count = "conntrack v1.4.7 (conntrack-tools): 4 flow entries have been shown.\n"
    table = read(udp + icmp + unknown + FLOW + count)
    assert (len(table.client), table.origin.not_understood) == (1, 0)
    assert read(udp).client == [], "a table of which no flow is TCP is a table"


def test_a_cut_line_is_counted():
    table = read(FLOW + FLOW[:120] + "\nhello\n")
    assert (len(table.client), table.origin.not_understood, table.whole) == (1, 2, False)


@pytest.mark.parametrize("at", [1, 60, len(FLOW) - 2])
def test_a_row_into_which_the_count_was_written_is_mended(at):
    """With `2>&1` it is written while the rows are still in a buffer."""
    table = read(FLOW + FLOW[:at] + "conntrack v1.4.7 (conntrack-tools): 3 flow entries have been shown.\n" + FLOW[at:])
    assert table.client == [CLIENT] * 2
    assert (table.origin.not_understood, table.whole) == (0, True)


def test_words_alone_are_no_table():
    assert facts_of("hello\n", form=conntrack.FORMAT) == []


def test_public_samples_have_the_flows_counted_by_hand(corpus):
    table = read((corpus / "public" / "middlebox" / "conntrack-L-id-scope.txt").read_bytes())
    assert table.state == ["ESTABLISHED"] * 3
    table = read((corpus / "public" / "middlebox" / "conntrack-L-various.txt").read_bytes())
    assert sorted(table.state) == ["ESTABLISHED", "ESTABLISHED", "TIME_WAIT", "TIME_WAIT"]
    dialled = [(client[2:], server[:2]) for client, server in zip(table.client, table.server, strict=True)]
    seen = [(client[:2], server[2:]) for client, server in zip(table.client, table.server, strict=True)]
    assert sum(one != other for one, other in dialled) == 2
    assert sum(one != other for one, other in seen) == 1
    assert table.origin.not_understood == 0


def test_the_firewall_of_the_incident_lists_the_live_connections(corpus):
    folder = corpus / "5a-ghost-389ds" / "fw"
    tables = [
        read((folder / f"{name}.txt").read_bytes())
        for name in ("conntrack-L", "conntrack-L-extended", "proc-nf_conntrack")
    ]
    assert [len(table.client) for table in tables] == [42, 42, 42]
    assert set(tables[0].client) == set(tables[1].client) == set(tables[2].client)


class TestAnEmptyTable:
    COUNT = "conntrack v1.4.7 (conntrack-tools): 0 flow entries have been shown.\n"

    @pytest.mark.parametrize("text", [COUNT, "# 0 flow entries\n"])
    def test_its_count_shows_that_it_was_read(self, text):
        table = read(text)
        assert (len(table), table.whole, table.tracks, table.origin.not_understood) == (0, True, False, 0)

    def test_packets_without_an_entry_show_that_it_is_in_use(self):
        table = read("# 0 flow entries; packets without an entry were seen\n")
        assert (len(table), table.whole, table.tracks) == (0, True, True)

    @pytest.mark.parametrize("name", ["nf_conntrack", "nf_conntrack.txt", "conntrack.txt", "conntrack-L.txt"])
    def test_an_empty_file_may_have_been_refused(self, name):
        (table,) = facts_of("", path=f"fw/{name}")
        assert (len(table), table.whole, table.tracks) == (0, False, False)

    @pytest.mark.parametrize("name", ["conntrack-S.txt", "ss.txt", "sysctl-nf_conntrack.txt", ""])
    def test_any_other_empty_file_is_nothing(self, name):
        assert recognise(head_of(name, b"", whole=True)) is None

    def test_the_last_line_of_our_script_is_understood(self):
        table = read(FLOW + "# 1 flow entries\n")
        assert (len(table), table.whole, table.tracks, table.origin.not_understood) == (1, True, True, 0)

    def test_a_count_without_its_flows_is_no_table(self):
        assert recognise(head_of("file", self.COUNT.replace(" 0 ", " 42 ").encode(), whole=True)).read is None
