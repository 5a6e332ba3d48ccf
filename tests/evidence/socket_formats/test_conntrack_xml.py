"""A connection tracking table in XML is read as its lines are, and never contains more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from box_writers import Flow, as_conntrack_xml, flows_of
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.socket_formats import conntrack_xml
from reading import facts_of

FLOW = Flow(client=("10.77.3.2", 41946, "10.77.1.2", 389), server=("10.77.1.2", 389, "10.77.1.1", 27638), left=29)


def read(text):
    (table,) = facts_of(text)
    assert isinstance(table, FlowTable)
    return table


def rows(table):
    return sorted(zip(table.client, table.server, table.state, table.seconds_left, strict=True))


def test_one_moment_is_the_same_as_xml_and_as_lines(captures):
    """Of 12 flows captured at once two are UDP's, two IPv6's, two SYN_SENT, two TIME_WAIT; counted by hand."""
    as_xml, as_lines = (
        read((captures / "sockets" / f"{name}.txt").read_bytes())
        for name in ("conntrack-xml", "conntrack-L-extended-as-xml")
    )
    assert rows(as_xml) == rows(as_lines)
    assert len(as_xml) == 10
    assert as_xml.state.count("ESTABLISHED") == 6
    assert (as_xml.whole, as_xml.tool, as_xml.origin.not_understood) == (True, "conntrack", 0)
    assert sum(":" in client[0] for client in as_xml.client) == 2
    assert sum(client[0] != server[2] for client, server in zip(as_xml.client, as_xml.server, strict=True)) == 4


@pytest.mark.parametrize("pretty", [False, True])
def test_it_is_read_on_one_line_or_many(pretty):
    table = read(as_conntrack_xml([FLOW, FLOW], pretty=pretty))
    assert rows(table) == [(FLOW.client, FLOW.server, "ESTABLISHED", 29)] * 2
    assert table.origin.not_understood == 0


def test_a_cut_list_says_that_flows_may_be_missing():
    text = as_conntrack_xml([FLOW] * 3)
    table = read(text[: text.rindex("<flow>") + 90])
    assert (len(table), table.whole, table.origin.not_understood) == (2, False, 1)
    assert "is truncated" in table.origin.notes[0]


def test_a_damaged_flow_costs_itself_alone():
    damaged = as_conntrack_xml([FLOW, FLOW, FLOW]).splitlines()
    damaged[3] = damaged[3].replace("<sport>41946</sport>", "").replace("</meta><meta", "<<&x;</me", 1)
    table = read("\n".join(damaged))
    assert (len(table), table.origin.not_understood) == (2, 1)


def test_no_entity_is_ever_expanded():
    bomb = '<!DOCTYPE x [<!ENTITY a "10.77.3.2"><!ENTITY b "&a;&a;&a;">]>\n'
    flow = as_conntrack_xml([FLOW]).replace("<src>10.77.3.2</src>", "<src>&b;</src>")
    table = read(bomb + flow)
    assert [client[0] for client in table.client] == ["&b;…"]


def test_events_are_no_table():
    event = as_conntrack_xml([FLOW]).splitlines()[2].replace("<flow>", '<flow type="new">')
    assert not conntrack_xml.recognises(_head(event))


def _head(line):
    from ldapdiag.evidence.format import Head  # noqa: PLC0415  one test needs it

    return Head(name="x", lines=(line,))


ADDRESSES = st.ip_addresses().map(str)
PORTS = st.integers(1, 65535)
KEYS = st.tuples(ADDRESSES, PORTS, ADDRESSES, PORTS)


@given(st.lists(st.builds(Flow, client=KEYS, server=KEYS), max_size=5), st.booleans())
def test_what_is_written_is_read(flows, pretty):
    table = read(as_conntrack_xml(flows, pretty=pretty))
    again = read(as_conntrack_xml(flows_of(table)))
    assert rows(table) == rows(again)
    assert len(table) == len(flows)


@given(st.binary(max_size=300) | st.text("<>/=\"' flowmetasrcdst0123456789\n", max_size=300).map(str.encode))
def test_any_bytes_are_read_or_counted(data):
    for table in facts_of(b"<conntrack>\n" + data, form=conntrack_xml.FORMAT):
        assert 0 <= table.origin.not_understood <= table.origin.lines
