"""What holds for every evidence: order, spelling and loss of it never make an accusation."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
import facts
from incidents import (
    CASES,
    CHURN,
    GHOSTS,
    INCIDENTS,
    diagnosed,
    diagnosed_facts,
    facts_in,
    files_of,
    findings,
    ghost_ports,
    ghosts,
    ids,
)
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import Diagnosis
from ldapdiag.evidence.flows import FlowTable, Relay
from ldapdiag.evidence.sockets import Column, SocketTable, TcpState, Timer
from ldapdiag.finding import Confidence
from ldapdiag.report.as_json import document
from reading import facts_of
from writers import Socket, as_netstat, as_proc_net, as_ss

KEY_COLUMNS = ("local_address", "local_port", "remote_address", "remote_port", "state")
FLOW_COLUMNS = ("client", "server", "state", "seconds_left")
WHEN = datetime(2026, 11, 20, 9, tzinfo=UTC)
CHECKS = {check.id for check in installed_checks()}


def report(evidence: list[Any], *, sections: tuple[str, ...] = ("hosts", "verdicts", "findings", "gaps")) -> Any:
    told = document(diagnosed_facts(evidence), WHEN)
    return {section: told[section] for section in sections}


def facts_of_case(case: str) -> list[Any]:
    return [fact for path in files_of(INCIDENTS / case) for fact in facts_in(path)]


# Order


def shuffled(fact: Any, shuffler: random.Random) -> Any:
    """Return a table with its rows in another order."""
    names = FLOW_COLUMNS if isinstance(fact, FlowTable) else (*KEY_COLUMNS, *get_args(Column))
    columns = {name: column for name in names if (column := getattr(fact, name)) is not None}
    order = list(range(len(fact.state)))
    shuffler.shuffle(order)
    return replace(fact, **{name: [column[row] for row in order] for name, column in columns.items()})


@cache
def unshuffled(case: str) -> Any:
    return report(facts_of_case(case))


@pytest.mark.parametrize("case", CASES)
@examples.every(60)
@given(seed=st.integers(0, 1 << 32))
def test_shuffled_rows_give_the_same_report(case: str, seed: int) -> None:
    shuffler = random.Random(seed)  # noqa: S311  an order, not a secret
    tables = SocketTable | FlowTable
    evidence = [shuffled(fact, shuffler) if isinstance(fact, tables) else fact for fact in facts_of_case(case)]
    assert report(evidence) == unshuffled(case)


@pytest.mark.parametrize("case", CASES)
@examples.every(60)
@given(seed=st.integers(0, 1 << 32))
def test_shuffled_files_give_the_same_report(case: str, seed: int) -> None:
    evidence = facts_of_case(case)
    random.Random(seed).shuffle(evidence)  # noqa: S311  an order, not a secret
    assert report(evidence) == unshuffled(case)


# Spelling

CLIENT_STATES = st.sampled_from([TcpState.ESTABLISHED, TcpState.TIME_WAIT, TcpState.FIN_WAIT_1, TcpState.CLOSE_WAIT])
SERVER_STATES = st.sampled_from([TcpState.ESTABLISHED, TcpState.CLOSE_WAIT, TcpState.TIME_WAIT])


@st.composite
def both_ends(draw: st.DrawFn) -> tuple[list[Socket], list[Socket]]:
    """Return the sockets of a server and of one client, each with some that the other lacks."""
    ports = draw(st.lists(st.integers(1024, 65535), unique=True, max_size=40))
    mapped = draw(st.booleans())
    # the listeners show that both tables were taken with -a, which ss does not say otherwise
    server = [Socket(local_address="*", local_port=389, remote_address="*", remote_port=0, state=TcpState.LISTEN)]
    client = [replace(server[0], local_port=22)]
    for port in ports:
        here, there = draw(st.sampled_from([(True, True), (True, False), (False, True)]))
        probes = draw(st.integers(0, 3))
        if here:
            server.append(
                Socket(
                    local_address=facts.LDAP,
                    local_port=389,
                    remote_address=facts.APP1,
                    remote_port=port,
                    state=draw(SERVER_STATES),
                    mapped=mapped,
                    timer=Timer.KEEPALIVE,
                    tries=probes,
                )
            )
        if there:
            client.append(
                Socket(
                    local_address=facts.APP1,
                    local_port=port,
                    remote_address=facts.LDAP,
                    remote_port=389,
                    state=draw(CLIENT_STATES),
                )
            )
    return server, client


WRITERS: dict[str, Callable[[list[Socket]], str]] = {"netstat": as_netstat, "ss": as_ss, "proc": as_proc_net}


def written(server: list[Socket], client: list[Socket], at_server: str, at_client: str) -> list[Any]:
    return [
        *facts_of(WRITERS[at_server](server), path="ldap/table.txt"),
        *facts_of(WRITERS[at_client](client), path="app1/table.txt"),
    ]


def substance(evidence: list[Any]) -> Any:
    """Return what was judged of the connections, without how the text was spelled."""
    diagnosis = diagnosed_facts(evidence)
    about = {"ghost-connections", "stranded-connections", "connection-share", "close-wait-backlog"}
    return [
        (one.check, one.verdict.subject, type(one.verdict).__name__, getattr(one.verdict, "observed", None))
        for one in diagnosis.judged
        if one.check in about
    ]


@examples.every(5)
@given(ends=both_ends(), at_server=st.sampled_from(list(WRITERS)), at_client=st.sampled_from(list(WRITERS)))
def test_a_table_written_as_netstat_ss_and_proc_gives_one_answer(
    ends: tuple[list[Socket], list[Socket]], at_server: str, at_client: str
) -> None:
    assert substance(written(*ends, at_server, at_client)) == substance(written(*ends, "ss", "ss"))


@examples.every(5)
@given(ends=both_ends(), at_server=st.sampled_from(list(WRITERS)), at_client=st.sampled_from(list(WRITERS)))
def test_two_tellings_of_one_table_are_never_a_sum(
    ends: tuple[list[Socket], list[Socket]], at_server: str, at_client: str
) -> None:
    once = written(*ends, "ss", "ss")
    again = [
        replace(fact, origin=replace(fact.origin, path=fact.origin.path.replace("table", "again")))
        for fact in written(*ends, at_server, at_client)
    ]
    assert substance([*once, *again]) == substance(once)


# Loss


@cache
def whole_ids(case: str) -> frozenset[str]:
    return frozenset(found_ids(diagnosed(INCIDENTS / case)))


def check_and_ends(identity: str) -> str:
    """Return an id without the name of a host, which is its folder's and goes with the folder's files."""
    check, _, rest = identity.partition("|")
    return identity if rest[:1].isdigit() and ":" in rest else check


def found_ids(diagnosis: Diagnosis) -> set[str]:
    """Return the ids; without the client's table, a ghost is a connection that is dead at the middlebox (severed)."""
    return {one.replace("severed-", "ghost-") for one in ids(diagnosis)}


def assert_dead(diagnosis: Diagnosis, case: str) -> None:
    """Assert that only ghosts are called dead, by the record of the programs that made them."""
    for check, ports in (("ghost-connections", "ghost_client_ports"), ("severed-connections", "severed_client_ports")):
        for found in findings(diagnosis, check).values():
            assert set(found.observed[ports] or ()) <= set(ghost_ports(case))


@pytest.mark.parametrize("case", CASES)
@examples.every(5)
@given(data=st.data())
def test_removing_evidence_never_adds_a_finding(case: str, data: st.DataObject) -> None:
    files = files_of(INCIDENTS / case)
    kept: list[Path] = data.draw(st.lists(st.sampled_from(files), unique=True, min_size=1))
    diagnosis = diagnosed(*sorted(kept))
    known = {check_and_ends(one) for one in whole_ids(case)}
    assert {check_and_ends(one) for one in found_ids(diagnosis)} <= known
    assert ghosts(diagnosis) <= len(ghost_ports(case))
    assert_dead(diagnosis, case)


def test_a_look_of_unknown_time_is_not_taken_for_a_later_one() -> None:
    look = INCIDENTS / CHURN
    timed = [look / folder for folder in ("1-server-first-app1", "2-client-first-ldap")]
    tables = [folder / name for folder in timed for name in ("captured-at.txt", "ss-tan.txt")]
    diagnosis = diagnosed(*tables, look / "2-client-first-app1" / "ss-tan.txt")

    assert findings(diagnosis, "stranded-connections") == {}


@pytest.mark.parametrize("case", examples.some(CASES, 6))
def test_removing_one_file_never_adds_a_finding(case: str) -> None:
    files = files_of(INCIDENTS / case)
    known = {check_and_ends(one) for one in whole_ids(case)}
    for left_out in examples.some(files, 2):
        diagnosis = diagnosed(*(path for path in files if path != left_out))
        assert {check_and_ends(one) for one in found_ids(diagnosis)} <= known, left_out
        assert ghosts(diagnosis) <= len(ghost_ports(case)), left_out
        assert_dead(diagnosis, case)


@pytest.mark.parametrize("case", [case for case in CASES if case != CHURN])
def test_removing_a_host_never_adds_a_finding(case: str) -> None:
    folders = [path for path in (INCIDENTS / case).iterdir() if path.is_dir()]
    for left_out in folders:
        diagnosis = diagnosed(*(path for path in folders if path != left_out))
        assert found_ids(diagnosis) <= whole_ids(case), left_out
        assert_dead(diagnosis, case)


# Containers


@st.composite
def containers(draw: st.DrawFn) -> tuple[list[Any], bool]:
    """Return a host with an application in a container, masqueraded behind the host's address, and whether a box tells.

    All is well: every connection of the container lives, in a namespace that the host's table does not show.
    """
    inside = draw(st.integers(1, 400))
    beside = draw(st.sampled_from([0, 1, 5, 300]))
    age = draw(st.sampled_from([None, 5_000, 3_600_000]))
    timer = {"timer": draw(st.sampled_from([Timer.OFF, Timer.KEEPALIVE]))} if draw(st.booleans()) else {}
    columns: dict[str, Any] = timer | ({} if age is None else {"last_received": age})
    times = draw(st.sampled_from([(None, None), (0, 0), (0, 2), (2, 0)]))
    shows = draw(st.sampled_from([True, False, None]))
    living = facts.at_server(beside, first=30000, **columns)
    hidden = facts.at_server(inside, first=40000, **columns)
    evidence: list[Any] = [
        facts.table([facts.listening(), *living, *hidden], taken=times[0], shows_time_wait=shows),
        facts.table(
            [*facts.at_client(beside, first=30000), *facts.row_of_another_service()],
            "app1",
            taken=times[1],
            shows_time_wait=shows,
        ),
    ]
    accounts = draw(st.booleans())
    if accounts:
        evidence.append(facts.monitor(connections=facts.monitored(inside + beside)))
    box = draw(st.sampled_from(["", "fw", "app1"]))
    if box == "fw":
        evidence.append(facts.flows([*living, *hidden]))
    elif box == "app1":
        evidence.append(masqueraded(hidden, facts.flows(living, "app1")))
    return [facts.nobodys(fact) for fact in evidence], bool(box)


def masqueraded(hidden: list[facts.Row], table: FlowTable) -> FlowTable:
    """Return the host's own table of flows, with those of its container behind its address."""
    keys = [one.key for one in hidden]
    return replace(
        table,
        client=[*table.client, *(("172.17.0.2", port, own, own_port) for own, own_port, _, port in keys)],
        server=[*table.server, *keys],
        state=[*table.state, *["ESTABLISHED"] * len(keys)],
        seconds_left=[*table.seconds_left, *[100] * len(keys)],
    )


@given(case=containers())
def test_an_application_in_a_container_is_never_a_certain_ghost(case: tuple[list[Any], bool]) -> None:
    evidence, box_tells = case
    found = findings(diagnosed_facts(evidence), "ghost-connections").values()
    assert all(one.confidence is not Confidence.CERTAIN for one in found)
    if box_tells:
        assert all(one.confidence is Confidence.POSSIBLE and one.observed["ghosts"] == 0 for one in found)


# Anything

ADDRESSES = st.sampled_from(
    [
        "10.77.1.2",
        "10.77.2.2",
        "10.77.3.2",
        "127.0.0.1",
        "127.0.0.2",
        "*",
        "fe80::1",
        "2001:db8::1",
        "172.17.0.1",
        "app…",
    ]
)
PORTS = st.sampled_from([389, 636, 3268, 13390, 40000, 40001, 40002, 0, -1, 22])
LDAP_STATES = st.sampled_from(list(TcpState))
NUMBERS = st.sampled_from([0, 1, 5, 129, 3_600_000])
EXTRAS: dict[str, st.SearchStrategy[Any]] = {
    "receive_queue": NUMBERS,
    "send_queue": NUMBERS,
    "timer": st.sampled_from([None, *Timer]),
    "retransmits": NUMBERS,
    "probes": NUMBERS,
    "last_received": st.none() | NUMBERS,
    "last_acknowledged": st.none() | NUMBERS,
    "busy": st.none() | NUMBERS,
    "owner": st.sampled_from(["", "ns-slapd", "slapd", "python"]),
    "inode": st.none() | NUMBERS,
}


@st.composite
def any_tables(draw: st.DrawFn) -> list[Any]:
    """Return tables of sockets and flows with anything in them, in a few folders."""
    evidence: list[Any] = []
    for number in range(draw(st.integers(0, 4))):
        keys = draw(st.lists(st.tuples(ADDRESSES, PORTS, ADDRESSES, PORTS), max_size=15))
        shown = draw(st.lists(st.sampled_from(list(EXTRAS)), unique=True, max_size=4))
        told = SocketTable(
            origin=facts.origin(
                draw(st.sampled_from(["ldap", "app1", "app2"])),
                f"t{number}.txt",
                taken=draw(st.sampled_from([None, 0, 2, 100])),
            ),
            tool=draw(st.sampled_from(["ss", "netstat", "proc", "lsof", "pfiles"])),
            local_address=[key[0] for key in keys],
            local_port=[key[1] for key in keys],
            remote_address=[key[2] for key in keys],
            remote_port=[key[3] for key in keys],
            state=[draw(LDAP_STATES) for _ in keys],
            shows_time_wait=draw(st.sampled_from([None, True, False])),
            shows_all_programs=draw(st.booleans()),
            families=draw(st.sampled_from([frozenset({4}), frozenset({6}), frozenset({4, 6})])),
            has_header=draw(st.booleans()),
            **{name: [draw(EXTRAS[name]) for _ in keys] for name in shown},
        )
        evidence.append(facts.nobodys(told))
    if draw(st.booleans()):
        keys = draw(st.lists(st.tuples(ADDRESSES, PORTS, ADDRESSES, PORTS), max_size=10))
        table = facts.flows([], draw(st.sampled_from(["fw", "ldap", "app1"])))
        server = [draw(st.sampled_from([key, key, None])) for key in keys]
        client = [(draw(ADDRESSES), port, own, own_port) for own, own_port, _, port in keys]
        states = [draw(st.sampled_from(["ESTABLISHED", "TIME_WAIT", "SYN_SENT"])) for _ in keys]
        full = replace(table, client=client, server=server, state=states, seconds_left=[None] * len(keys))
        full = replace(full, relay=draw(st.sampled_from(Relay)), whole=draw(st.booleans()))
        evidence.append(facts.nobodys(full))
    return evidence


@given(evidence=any_tables())
def test_no_table_crashes_the_diagnosis_and_every_check_leaves_a_verdict(evidence: list[Any]) -> None:
    diagnosis = diagnosed_facts(evidence)
    assert {one.check for one in diagnosis.judged} == CHECKS
    document(diagnosis, WHEN)


def test_the_whole_incident_gives_the_same_bytes_twice() -> None:
    assert report(facts_of_case(GHOSTS)) == report(facts_of_case(GHOSTS))
