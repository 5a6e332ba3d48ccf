"""Servers side by side: what the generator made differ is named, and nothing else is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
from command import ldapdiag
from fleet_logs import LoggedServer

if TYPE_CHECKING:
    from pathlib import Path

OTHERS = [LoggedServer(name=f"ds{number:02}", connections=600) for number in range(1, 10)]


def fleet_of(folder: Path, *servers: LoggedServer) -> dict[str, Any]:
    for server in servers:
        server.write(folder)
    fleet: dict[str, Any] = ldapdiag("log", "--by", "server", folder, "--format", "json").report["fleet"]
    return fleet


def test_equal_servers_differ_in_nothing(tmp_path: Path) -> None:
    fleet = fleet_of(tmp_path, *OTHERS)
    assert (fleet["differing_searches"], fleet["servers_by_version"], fleet["clients_of_one_server"]) == ([], {}, [])
    assert fleet["even_share"] == pytest.approx(1 / 9, abs=1e-6)
    for one in fleet["servers"]:
        assert one["connection_share"] == pytest.approx(1 / 9, rel=0.05)
        assert (one["silences"], one["idle"]) == ([], False)


def test_the_replica_without_an_index_and_the_one_with_the_connections_are_named(tmp_path: Path) -> None:
    """Ten servers: ds03 lacks an index, ds10 has 41 % of the connections."""
    lacking = [LoggedServer(name="ds03", connections=600, lacks_index=True)]
    uneven = LoggedServer(name="ds10", connections=3753, clients=("10.0.0.161", "10.0.0.29"))
    fleet = fleet_of(tmp_path, *(one for one in OTHERS if one.name != "ds03"), *lacking, uneven)
    (differs,) = fleet["differing_searches"]
    assert (differs["server"], differs["shape"], differs["lacks_index"]) == ("ds03", "(employeeNumber=?)", True)
    assert len(differs["others"]) == 9
    shares = {one["name"]: one["connection_share"] for one in fleet["servers"]}
    assert shares["ds10"] == pytest.approx(0.41, abs=0.01)
    assert {one["client"] for one in fleet["clients_of_one_server"]} == {"10.0.0.161", "10.0.0.29"}
    screen = ldapdiag("log", "--by", "server", tmp_path).text.splitlines()[:24]
    assert any("ds03: (employeeNumber=?)" in line and "unindexed here" in line for line in screen)
    assert any("ds10 has 41 % of the connections" in line for line in screen)


def test_a_silence_is_named_only_while_others_have_records(tmp_path: Path) -> None:
    silent = LoggedServer(name="ds10", connections=600, silent=(1.5, 2.5))
    fleet = fleet_of(tmp_path, *OTHERS, silent)
    silences = {one["name"]: one["silences"] for one in fleet["servers"] if one["silences"]}
    assert silences == {"ds10": [["2026-09-21T01:29:45.000Z", "2026-09-21T02:30:15.000Z"]]}
    shares = {one["name"]: one["connection_share"] for one in fleet["servers"]}
    assert shares["ds10"] == pytest.approx(0.1, rel=0.1)  # for each second that its log covers


def test_all_servers_silent_at_once_are_not_silent(tmp_path: Path) -> None:
    servers = [LoggedServer(name=name, connections=600, silent=(1.5, 2.5)) for name in ("ds1", "ds2", "ds3")]
    assert [one["silences"] for one in fleet_of(tmp_path, *servers)["servers"]] == [[], [], []]


def test_a_server_without_load_is_idle_and_changes_no_even_share(tmp_path: Path) -> None:
    idle = LoggedServer(name="ds10", connections=2)
    fleet = fleet_of(tmp_path, *OTHERS, idle)
    assert [one["name"] for one in fleet["servers"] if one["idle"]] == ["ds10"]
    assert fleet["even_share"] == pytest.approx(1 / 9, abs=1e-6)


def test_an_older_version_is_named(tmp_path: Path) -> None:
    old = LoggedServer(name="ds10", connections=600, version="389-Directory/1.4.4.11 B2021.118.1442")
    assert fleet_of(tmp_path, *OTHERS, old)["servers_by_version"]["389-Directory/1.4.4.11 B2021.118.1442"] == ["ds10"]


def test_few_results_say_nothing(tmp_path: Path) -> None:
    """Under a hundred results on a server, its search is not compared."""
    lacking = LoggedServer(name="ds10", connections=99, lacks_index=True)
    assert fleet_of(tmp_path, *OTHERS, lacking)["differing_searches"] == []


def test_many_servers_take_at_most_forty_lines(tmp_path: Path) -> None:
    lacking = {7, 20, 21, 22, 23, 24, 30}
    for number in range(60):
        LoggedServer(name=f"ds{number:04}", connections=110, lacks_index=number in lacking).write(tmp_path)
    lines = ldapdiag("log", "--by", "server", tmp_path).text.splitlines()
    assert len(lines) <= 40
    assert any("ds0007" in line for line in lines)


def test_every_format_names_both(tmp_path: Path) -> None:
    """HTML, Markdown and CSV have what the text has: the replica without an index, and the one with the connections."""
    for one in OTHERS:
        LoggedServer(name=one.name, connections=600, lacks_index=one.name == "ds03").write(tmp_path)
    LoggedServer(name="ds10", connections=3753, clients=("10.0.0.161", "10.0.0.29")).write(tmp_path)
    show = ("log", "--by", "server", tmp_path, "--format")
    rows = [line for line in ldapdiag(*show, "markdown").text.splitlines() if line.startswith("| ds")]
    assert rows[0].startswith("| ds10 | 3,753 | 41 % ")
    assert "uneven" in rows[0]
    assert rows[1].startswith("| ds03 ")
    assert "lacks an index" in rows[1]
    page = ldapdiag(*show, "html").text
    assert page.index("Servers side by side") < page.index("lacks an index") < page.index("Filter shapes")
    assert len(ldapdiag(*show, "csv", "--table", "servers").text.splitlines()) == 11
    (_, differs) = ldapdiag(*show, "csv", "--table", "differing-searches").text.splitlines()
    assert differs.startswith("ds03,(employeeNumber=?),")


def test_two_products_are_not_compared(tmp_path: Path) -> None:
    """Slapd notes nothing: its searches are no proof of an index that 389-ds lacks."""
    LoggedServer(name="ds1", connections=300, lacks_index=True).write(tmp_path)
    (tmp_path / "slapd1").mkdir()
    lines = []
    for number in range(300):
        at = f"2026-09-21T{number // 75:02}:{number % 60:02}:00.000000+00:00 slapd1 slapd[1]: conn={number}"
        lines += [
            f"{at} fd=12 ACCEPT from IP=10.0.0.1:{40000 + number} (IP=0.0.0.0:389)",
            f'{at} op=1 SRCH base="dc=example,dc=com" scope=2 deref=0 filter="(employeeNumber={number})"',
            f"{at} op=1 SEARCH RESULT tag=101 err=0 qtime=0.000010 etime=0.000500 nentries=1 text=",
            f"{at} fd=12 closed",
        ]
    (tmp_path / "slapd1" / "slapd.log").write_text("\n".join(lines) + "\n")
    report = ldapdiag("log", "--by", "server", tmp_path, "--format", "json").report
    assert {one["family"] for one in report["streams"]} == {"389ds", "openldap"}
    assert report["fleet"]["differing_searches"] == []


@examples.every(3)
@given(st.permutations(range(4)), st.integers(0, 3))
def test_names_and_order_do_not_matter(tmp_path_factory, order: list[int], lacking: int) -> None:
    servers = [
        LoggedServer(name=f"s{number}", connections=100 + number, lacks_index=number == lacking) for number in order
    ]
    fleet = fleet_of(tmp_path_factory.mktemp("fleet"), *servers)
    assert [one["server"] for one in fleet["differing_searches"]] == [f"s{lacking}"]
    assert [one["name"] for one in fleet["servers"]] == ["s0", "s1", "s2", "s3"]
