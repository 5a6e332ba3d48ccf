"""The generator of the two databases, and a searching client that notices what happens.

That both servers have what the generator says, live/test_two_databases.py shows.
"""

from __future__ import annotations

import pytest

from lab.closed_loop import SERVERS
from lab.directory_servers import SUFFIX
from lab.host import Host
from lab.search_kinds import kinds_of
from lab.searching_client import LOST, Lane, SearchingClient, Tried, searching
from lab.two_databases import EXAMPLE, PARTNERS, entries_that_have, entries_with

LANES = {"suffix": Lane(SUFFIX, "base", "(objectClass=*)"), "rootDSE": Lane("", "base", "(objectClass=*)")}


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


def test_a_client_notices_a_restart_and_goes_on(laboratory) -> None:
    with Host("ldap") as host:
        server = laboratory.slapd(host)
        with searching(server, LANES) as client:
            server.restart()
            with searching(server, LANES):
                pass  # the other client connects again meanwhile, in each lane
    assert client.lost
    assert {one.err for one in client.failures} == {LOST}
    assert all(client.of(lane)[-1].err == 0 for lane in LANES)
