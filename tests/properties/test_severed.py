"""What holds for severed connections, whatever is missing from the evidence: a live one is never among them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import examples
import facts
from incidents import diagnosed_facts, findings
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.host_facts import RouteTable
from ldapdiag.evidence.sockets import SocketTable, Timer

COLUMNS = ("last_received", "last_acknowledged", "timer", "retransmits", "probes", "cookie", "busy")
DEGREES = ("possible", "likely", "certain")
USED, LOST, GHOSTS, FIRST_LOST, FIRST_GHOST = 6, 8, 3, 50000, 60000


@st.composite
def sites(draw: st.DrawFn) -> list[Any]:
    """Return the facts of a site whose firewall has lost some connections of app1; others live, and some are ghosts."""
    idle, sends = draw(st.sampled_from([15_000, 60_000])), draw(st.booleans())
    sending = {"timer": Timer.RETRANSMIT, "retransmits": 4} if sends else {"timer": Timer.OFF}
    live = {"last_received": 100, "last_acknowledged": 100}
    dead = {"last_received": idle, "last_acknowledged": idle}
    at_ldap = [
        facts.listening(),
        *facts.at_server(USED, **live),
        *facts.at_server(LOST, first=FIRST_LOST, **dead),
        *facts.at_server(GHOSTS, first=FIRST_GHOST, last_received=600_000),
    ]
    at_app1 = [
        *numbered(facts.at_client(USED, **live)),
        *numbered(facts.at_client(LOST, first=FIRST_LOST, **dead, **sending)),
    ]
    carried = facts.at_server(USED)
    return [
        *(facts.table(at_ldap, taken=moment, shows_time_wait=True) for moment in (0, 6)),
        *(facts.table(at_app1, "app1", taken=moment, shows_time_wait=True) for moment in (0, 5, 7)),
        *(facts.flows(carried, taken=moment) for moment in draw(st.sampled_from([(1, 5, 7), (5, 7), (5,), (7,)]))),
        facts.settings(tcp_loose=draw(st.sampled_from([0, 1])) if sends else 0, count=USED),
        facts.description("fw"),
    ]


def numbered(rows: list[facts.Row]) -> list[facts.Row]:
    """Return rows with the kernel's numbers of sockets."""
    return [replace(row, columns=row.columns | {"cookie": row.key[1]}) for row in rows]


def severed(evidence: list[Any]) -> tuple[set[int], int]:
    """Return the ports of all severed connections, and how certain they are: -1 without any."""
    found = findings(diagnosed_facts([facts.nobodys(fact) for fact in evidence]), "severed-connections").values()
    ports = {port for one in found for port in one.observed["severed_client_ports"]}
    return ports, max((DEGREES.index(one.confidence) for one in found), default=-1)


LOST_PORTS = set(range(FIRST_LOST, FIRST_LOST + LOST))
GHOST_PORTS = set(range(FIRST_GHOST, FIRST_GHOST + GHOSTS))


@examples.every(2)
@given(site=sites(), data=st.data())
def test_removing_evidence_never_adds_one(site: list[Any], data: st.DataObject) -> None:
    """Columns, times, files: what remains claims no more, and nothing of what lives.

    Without a table of the client's, a ghost has no entry either: dead, and of which kind is not known.
    """
    whole, degree = severed(site)
    assert whole == LOST_PORTS
    kept = [fact for fact in site if data.draw(st.integers(0, 4))]
    poorer, lower = severed([poorer_fact(fact, data) for fact in kept])
    is_client_read = any(isinstance(fact, SocketTable) and fact.origin.host == "app1" for fact in kept)
    assert poorer <= whole | (set() if is_client_read else GHOST_PORTS)
    assert lower <= degree


def poorer_fact(fact: Any, data: st.DataObject) -> Any:
    """Return a fact without its time, or without some of its columns."""
    if isinstance(fact, SocketTable) and data.draw(st.booleans()):
        fact = replace(fact, **dict.fromkeys(data.draw(st.sets(st.sampled_from(COLUMNS)))))
    if isinstance(fact, SocketTable | FlowTable | RouteTable) and not data.draw(st.integers(0, 4)):
        return replace(fact, origin=replace(fact.origin, taken=None))
    return fact


@examples.every(2)
@given(site=sites(), moments=st.lists(st.sampled_from([0, 1, 2, 4, 5, 6, 7]), min_size=2, max_size=2))
def test_connections_in_use_are_never_among_them(site: list[Any], moments: list[int]) -> None:
    """Their entries are missing too: they pass another way, or were opened since."""
    others = [fact for fact in site if not isinstance(fact, FlowTable)]
    ports, _ = severed([*others, *(facts.flows(facts.at_server(1), taken=moment) for moment in moments)])
    assert not ports & set(range(40000, 40000 + USED))
