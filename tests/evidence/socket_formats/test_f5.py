"""An F5's connections are read in rows and in records, with their idle timeouts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from box_writers import Flow, as_f5, as_f5_properties
from ldapdiag.evidence.flows import BoxTimeouts, FlowTable, Relay
from ldapdiag.evidence.socket_formats import f5
from reading import facts_of

FLOW = Flow(client=("10.77.3.2", 41946, "10.77.9.1", 389), server=("10.77.1.2", 389, "10.77.1.1", 27638))
SIX = Flow(client=("2001:db8::2", 41946, "2001:db8::1", 389), server=("2001:db8:1::2", 389, "2001:db8:1::1", 27638))


def read(text):
    table, *timeouts = facts_of(text)
    assert isinstance(table, FlowTable)
    assert (table.tool, table.relay) == ("f5", Relay.NAT)
    return table, timeouts


@pytest.mark.parametrize("flow", [FLOW, SIX])
@pytest.mark.parametrize("columns", [1, 2])
def test_a_row_is_told_as_each_end_writes_it(flow, columns):
    table, _ = read(as_f5([flow], columns=columns))
    assert (table.client, table.server, table.state) == ([flow.client], [flow.server], ["ESTABLISHED"])
    assert (table.idle_seconds, table.seconds_left) == ([7], [None])
    assert (table.whole, table.origin.not_understood) == (True, 0)


@pytest.mark.parametrize("flow", [FLOW, SIX])
def test_a_record_shows_its_timeout_too(flow):
    table, (timeouts,) = read(as_f5_properties([flow, flow]))
    assert (table.client, table.server) == ([flow.client] * 2, [flow.server] * 2)
    assert (table.idle_seconds, table.seconds_left) == ([7, 7], [293, 293])
    assert isinstance(timeouts, BoxTimeouts)
    (service,) = timeouts.services
    assert (service.seconds, service.servers) == (300, {flow.server[:2]})
    assert table.origin.not_understood == 0


def test_a_route_domain_is_no_part_of_the_address():
    text = as_f5([FLOW]).replace("10.77.3.2:", "10.77.3.2%12:")
    assert read(text)[0].client == [FLOW.client]


def test_a_listing_that_counts_more_than_it_holds_is_not_whole():
    table, _ = read(as_f5([FLOW]).replace("returned: 1", "returned: 6455"))
    assert not table.whole
    assert "is truncated" in table.origin.notes[0]


@pytest.mark.parametrize("write", [as_f5, as_f5_properties])
def test_a_listing_without_its_last_line_was_cut(write):
    text = write([FLOW, FLOW]).replace("Total records returned: 2\n", "")
    assert not read(text)[0].whole
    assert not read(as_f5([FLOW]) + text)[0].whole


@pytest.mark.parametrize(
    ("name", "tcp", "joined", "port_kept", "whole"),
    [
        ("mirror-active", 26, 26, 18, False),
        ("accel2", 2, 1, 1, True),
        ("all-properties", 1, 1, 1, True),
        ("blank-trailer", 2, 2, 1, True),
    ],
)
def test_public_samples_have_the_rows_counted_by_hand(corpus, name, tcp, joined, port_kept, whole):
    table, timeouts = read((corpus / "public" / "middlebox" / f"f5-show-sys-connection-{name}.txt").read_bytes())
    pairs = [(client, server) for client, server in zip(table.client, table.server, strict=True) if server]
    assert (len(table), len(pairs), table.whole) == (tcp, joined, whole)
    assert sum(client[1] == server[3] for client, server in pairs) == port_kept
    assert table.origin.not_understood == 0
    if name == "all-properties":
        assert (table.idle_seconds, [service.seconds for service in timeouts[0].services]) == ([19], [300])


ADDRESSES = st.ip_addresses().map(str)
PORTS = st.integers(1, 65535)
KEYS = st.tuples(ADDRESSES, PORTS, ADDRESSES, PORTS)


@given(st.lists(st.builds(Flow, client=KEYS, server=KEYS), min_size=1, max_size=5))
def test_rows_and_records_are_read_alike(flows):
    row, _ = read(as_f5(flows))
    record, _ = read(as_f5_properties(flows))
    assert (row.client, row.server, row.idle_seconds) == (record.client, record.server, record.idle_seconds)
    assert len(row) == len(flows)


@given(
    st.binary(max_size=300)
    | st.text("10.any6: -(tmm)tcp\nTotal records returned Idle Timeout", max_size=300).map(str.encode)
)
def test_any_bytes_are_read_or_counted(data):
    for fact in facts_of(b"Sys::Connections\n" + data, form=f5.FORMAT):
        assert 0 <= fact.origin.not_understood <= fact.origin.lines
