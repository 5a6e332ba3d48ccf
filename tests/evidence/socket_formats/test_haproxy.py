"""HAProxy's sessions are read whatever its version prints, and by keys, never by places."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from box_writers import Flow, as_show_sess, as_show_sess_all
from ldapdiag.evidence.flows import FlowTable, Relay
from ldapdiag.evidence.socket_formats import haproxy
from reading import facts_of

FLOW = Flow(client=("10.77.3.2", 41946, "10.77.2.1", 389), server=("10.77.1.2", 389, "10.77.1.1", 27638), left=42)
CASE = "haproxy/2.6.12"


def read(text):
    (table,) = facts_of(text)
    assert isinstance(table, FlowTable)
    assert (table.tool, table.relay) == ("haproxy", Relay.PROXY)
    return table


def test_sessions_in_full_join_the_ports_that_both_programs_saw(captures):
    truth = json.loads((captures / CASE / "TRUTH.json").read_text())
    table = read((captures / CASE / "haproxy" / "show-sess-all.txt").read_bytes())
    carried = {
        (app, one["port"], one["seen"]) for app, result in truth.items() for one in result if one["state"] != "ghost"
    }
    hosts = {"10.77.2.2": "app1", "10.77.3.2": "app2"}
    rows = zip(table.client, table.server, strict=True)
    assert {(hosts[client[0]], client[1], server[3]) for client, server in rows} == carried
    assert len(table) == 52
    assert {client[2:] for client in table.client} == {("10.77.2.1", 389), ("10.77.3.1", 389)}
    assert set(table.state) == {"ESTABLISHED"}
    assert table.seconds_left[0] == 59 * 60 + 39
    assert (table.origin.not_understood, table.origin.notes) == (0, ())


def test_plain_sessions_show_only_the_clients(captures):
    full, plain = (
        read((captures / CASE / "haproxy" / f"{name}.txt").read_bytes()) for name in ("show-sess-all", "show-sess")
    )
    assert {client[:2] for client in plain.client} == {client[:2] for client in full.client}
    assert set(plain.server) == {None}
    assert {client[2:] for client in plain.client} == {("*", -1)}
    assert "lacks HAProxy's ports towards the servers" in plain.origin.notes[0]


@pytest.mark.parametrize(
    ("name", "clients", "carried", "left"),
    [
        ("haproxy1.3-show-sess", 4, 4, [4, 8, 10, 11]),
        ("haproxy1.5-show-sess-wrapped", 1, 0, [26]),
        ("haproxy1.7-show-sess-tcp", 2, 1, [2, 3]),
        ("haproxy2.8plus-show-sess", 0, 0, []),
    ],
)
def test_public_samples_have_the_sessions_counted_by_hand(corpus, name, clients, carried, left):
    table = read((corpus / "public" / "middlebox" / f"{name}.txt").read_bytes())
    assert (len(table), table.state.count("ESTABLISHED")) == (clients, carried)
    assert table.seconds_left == left
    assert table.origin.not_understood == 0


@pytest.mark.parametrize("old", [False, True])
def test_old_and_new_forms_are_read_alike(old):
    table = read(as_show_sess([FLOW], old=old))
    assert table.client == [("10.77.3.2", 41946, "*", -1)]
    assert (table.state, table.seconds_left) == (["ESTABLISHED"], [42])


def test_a_session_still_connecting_is_not_carried():
    text = as_show_sess_all([FLOW]).replace("scb=0x55eed0254970 flags=0x00000001 state=EST", "si[1]=0x1 (state=CON")
    assert read(text).state == ["CON"]


def test_wrapped_lines_continue_a_session():
    text = as_show_sess_all([FLOW, FLOW]).replace(" exp=", "\nexp=").replace("  backend=", "  \nbackend=")
    table = read(text)
    assert table.server == [FLOW.server] * 2
    assert table.seconds_left == [42, 42]


def test_ipv6_has_no_brackets():
    client, server = ("2001:db8::2", 41946, "2001:db8::1", 389), ("2001:db8:1::2", 389, "2001:db8:1::1", 27638)
    table = read(as_show_sess_all([Flow(client=client, server=server)]).replace("tcpv4", "tcpv6"))
    assert (table.client, table.server) == ([client], [server])


@pytest.mark.parametrize(
    ("text", "seconds"), [("1h29m", 5340), ("59m39s", 3579), ("2d3h", 183600), ("4s", 4), ("<NEVER>", None), ("", None)]
)
def test_times_have_units(text, seconds):
    assert haproxy.seconds_of(text) == seconds


def test_a_session_without_its_source_is_counted():
    table = read(as_show_sess([FLOW]).replace("src=10.77.3.2:41946 ", "", 1))
    assert (len(table), table.origin.not_understood) == (0, 1)


@given(
    st.binary(max_size=300)
    | st.text("0xabcdef: =[]proto tcpv4 source=addr backend=server= exp=123hms\n", max_size=300).map(str.encode)
)
def test_any_bytes_are_read_or_counted(data):
    for table in facts_of(b"0x55eed01ef920: proto=tcpv4 " + data, form=haproxy.FORMAT):
        assert 0 <= table.origin.not_understood <= table.origin.lines


@pytest.mark.parametrize("write", [as_show_sess, as_show_sess_all])
def test_a_list_without_the_session_that_asked_for_it_was_cut(write):
    text = write([FLOW, FLOW])
    assert (read(text).whole, read(text).origin.notes[1:]) == (True, ())
    cut = read(text[: text.index("0x55eed02fffff")])
    assert (len(cut), cut.whole) == (2, False)
    assert "it was truncated" in cut.origin.notes[0]


@given(st.data())
def test_a_cut_listing_loses_sessions_and_nothing_else(data):
    flows = [Flow(client=("10.77.3.2", 40000 + n, "10.77.2.1", 389), server=FLOW.server) for n in range(4)]
    text = as_show_sess_all(flows)
    cut = text[: data.draw(st.integers(60, len(text)))]
    for table in facts_of(cut, form=haproxy.FORMAT):
        assert set(table.server) <= {FLOW.server, None} or len(table) <= 4
        assert len(table) <= 4
