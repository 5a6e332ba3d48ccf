"""The two databases have what their generator says, on both servers, and a searching client notices what happens."""

from __future__ import annotations

import pytest

from lab.directory_servers import SUFFIX
from lab.host import Host
from lab.search_kinds import KINDS, kinds_of
from lab.search_load import send
from lab.searching_client import LOST, Lane, SearchingClient, Tried, searching
from lab.two_database_servers import STEPS, probe, two_databases_389, two_databases_slapd
from lab.two_databases import EXAMPLE, PARTNERS, entries_that_have, entries_with

SERVERS = {"389-ds": two_databases_389, "openldap": two_databases_slapd}
ATTRIBUTES = {
    "eq-employee": "employeeNumber", "eq-room": "roomNumber", "eq-department": "departmentNumber", "eq-city": "l",
    "eq-manager": "manager", "eq-indexed-many": "gidNumber",
    "partners-department": "departmentNumber", "partners-given": "givenName",
}  # fmt: skip
"""Kinds of one equality, and its attribute."""
AFTERWARDS = 500
"""Searches after the restart."""
LANES = {
    "people": Lane(SUFFIX, "sub", "(uid=a00005)"),
    "partners": Lane(PARTNERS.suffix, "sub", "(uid=p00005)"),
    "rootDSE": Lane("", "base", "(objectClass=*)"),
}


@pytest.mark.long
def test_the_generator_counts_what_it_yields() -> None:
    assert entries_with(EXAMPLE, "employeeType", "board") == EXAMPLE.people // 100
    assert entries_with(EXAMPLE, "memberof", EXAMPLE.group(7)) == 40
    assert entries_that_have(PARTNERS, "carLicense") == PARTNERS.people // 50
    assert sum(entry.count("\nuid: p") for entry in PARTNERS.entries(at_389=True)) == 8_000


def test_there_are_seventy_kinds_for_each_server() -> None:
    assert min(len(kinds_of(family)) for family in SERVERS) > 70


def test_the_longest_pause_is_between_two_answers() -> None:
    client = SearchingClient([Tried("a", 0, 1, 0, 1), Tried("a", 1, 1.5, LOST, 0), Tried("a", 2, 4, 0, 0)])
    assert client.longest_pause("a") == 3
    assert client.lost == client.failures[:1]
    assert [one.began for one in client.failures] == [1, 2]


@pytest.mark.parametrize("family", SERVERS)
def test_a_server_has_what_the_generator_says(laboratory, family) -> None:
    with Host("ldap") as host:
        server = SERVERS[family](laboratory, host)
        with searching(server, LANES) as client:
            records = send(server, {name: KINDS[name] for name in ATTRIBUTES}, seed=1, times=2)
            limited = send(server, {"eq-city": KINDS["eq-city"]}, seed=1, times=1, who=probe(STEPS[1]))
            server.restart()
            # The client connects again meanwhile, in each lane.
            send(server, {"eq-uid": KINDS["eq-uid"]}, seed=1, times=AFTERWARDS)
    for name, several in records.items():
        for one in several:
            kind = KINDS[name]
            value = kind.branch.person(one.sent.number)[ATTRIBUTES[name]][0]
            assert one.sent.entries == entries_with(kind.branch, ATTRIBUTES[name], value), name
    assert limited["eq-city"][0].sent.err == 11
    assert client.lost
    assert {one.err for one in client.failures} == {LOST}
    assert all(client.of(lane)[-1].err == 0 for lane in LANES)
