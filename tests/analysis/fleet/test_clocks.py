"""Clocks: a shift that the generator made is found with its size; a log of another time is no shift."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

import examples
from analysis.fleet.test_comparison_moved_clients import log_of
from ldapdiag.analysis.fleet.replicas import fleet_of
from ldapdiag.analysis.log.workload import Workload
from ldapdiag.evidence.log.dialects import named, scan_stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.analysis.fleet.replicas import Fleet, Replica
    from ldapdiag.evidence.log.segment import Segment

SECOND = 10**9
HOUR = 3600
BEGIN, END = 4 * HOUR, 8 * HOUR
JOBS = tuple((f"10.0.2.{number}", BEGIN + 1200 + number * 700, BEGIN + 5400 + number * 900) for number in range(8))
"""Clients that begin and end within the log."""
Uses = list[tuple[int, str]]


def uses(server: str, begin: int = BEGIN, end: int = END) -> Uses:
    """Return the connections of a server: of one client all the time, and of jobs, each about every 30 s."""
    choose = examples.choices(server)
    found = []
    for client, since, until in (("10.0.1.1", begin, end), *JOBS):
        at = float(since)
        while (at := at + choose.expovariate(1 / 30)) < until:
            found.append((int(at), client))
    return [use for use in found if begin <= use[0] < end]


def counted(of: Uses) -> Segment:
    return scan_stream(named("389-text"), log_of(of))


usual = cache(lambda server: counted(uses(server)))


def fleet(**servers: Uses | Segment) -> Fleet:
    segments = {name: counted(each) if isinstance(each, list) else each for name, each in servers.items()}
    return fleet_of((name, Workload(segment)) for name, segment in segments.items())


def with_others(last: Uses) -> tuple[Fleet, Replica]:
    compared = fleet(a=usual("a"), b=usual("b"), c=usual("c"), last=last)
    assert [one.name for one in compared.replicas[:3] if one.clock or one.not_compared] == []
    assert compared.common is not None
    return compared, compared.replicas[3]


@pytest.mark.parametrize("ahead", [-HOUR, 1200, HOUR, 12 * HOUR])
def test_a_shift_is_found_with_its_size_and_the_server_is_compared(ahead: int) -> None:
    compared, last = with_others([(second + ahead, client) for second, client in uses("last")])
    assert last.clock is not None
    assert last.clock.is_certain
    assert abs(last.clock.ahead - ahead * SECOND) <= last.clock.uncertainty <= 180 * SECOND
    assert (last.not_compared, last.silences) == ("", ())
    assert compared.common is not None
    assert compared.common.length > 0.9 * (END - BEGIN) * SECOND


DIFFERENT: dict[str, Callable[[], Uses]] = {
    "began later": lambda: uses("last", begin=BEGIN + HOUR),
    "ended earlier": lambda: uses("last", end=END - HOUR),
    "joined later": lambda: [use for use in uses("last") if use[0] > BEGIN + 2 * HOUR or use[1] == "10.0.1.1"],
    "drained": lambda: [use for use in uses("last") if use[0] < BEGIN + 2 * HOUR or use[1] == "10.0.1.1"],
    "silent": lambda: [use for use in uses("last") if not BEGIN + HOUR < use[0] < BEGIN + 2 * HOUR],
}


@pytest.mark.parametrize("how", DIFFERENT)
def test_a_log_of_another_time_is_no_shift(how: str) -> None:
    _, last = with_others(DIFFERENT[how]())
    assert (last.clock, last.not_compared) == (None, "")


@pytest.mark.parametrize("begin", [0, 2000, HOUR, -10 * HOUR])
def test_jobs_that_come_here_later_on_purpose_are_not_shifted(begin: int) -> None:
    """The log itself begins and ends with the others', or begins at a time that has nothing to do with the jobs."""
    moved = [(second + HOUR, client) for second, client in uses("last") if client != "10.0.1.1"]
    rest = (use for use in uses("last", begin=BEGIN + min(begin, 0)) if use[1] == "10.0.1.1")
    _, last = with_others([use for use in (*rest, *moved) if BEGIN + begin <= use[0] < END])
    assert last.clock is not None
    assert not last.clock.is_certain
    assert "whether its clock is wrong is not judged" in last.not_compared


def test_jobs_that_walk_from_server_to_server_show_no_clock() -> None:
    walking = {f"ds{place}": [(second + place * HOUR, client) for second, client in uses("w")] for place in range(5)}
    assert [one.clock for one in fleet(**walking).replicas] == [None] * 5


@pytest.mark.parametrize("names", ["ab", "abcd", "abcdef"])
def test_half_of_the_servers_show_that_clocks_differ_not_which_is_wrong(names: str) -> None:
    late = names[len(names) // 2 :]
    shifted = {
        name: [(second + HOUR, client) for second, client in uses(name)] if name in late else usual(name)
        for name in names
    }
    compared = fleet(**shifted)
    clocks = {one.name: one.clock for one in compared.replicas if one.clock}
    assert "".join(clocks) == late
    assert all(one.is_half and one.is_certain for one in clocks.values())
    assert all(abs(one.ahead - HOUR * SECOND) <= one.uncertainty <= 300 * SECOND for one in clocks.values())
    assert compared.common is not None
    assert compared.common.length > 0.9 * (END - BEGIN) * SECOND


@pytest.mark.parametrize(("begin", "end"), [(HOUR, 0), (0, -HOUR), (0, -60), (0, 0)])
def test_a_log_that_begins_late_or_ends_early_is_named_with_the_time(begin: int, end: int) -> None:
    compared, last = with_others(uses("last", begin=BEGIN + begin, end=END + end))
    assert (last.late > 0, last.early > 0) == (begin >= HOUR, end <= -HOUR)
    assert last.late == pytest.approx(begin * SECOND, abs=60 * SECOND)
    assert last.early == pytest.approx(-min(end, 0) // HOUR * HOUR * SECOND, abs=60 * SECOND)
    assert [(one.late, one.early) for one in compared.replicas[:3]] == [(0, 0)] * 3


def test_a_server_of_another_time_without_common_clients_is_left_out_with_the_reason() -> None:
    own = [(second + 3 * HOUR, "10.9.9.9") for second in range(BEGIN, END, 10)]
    compared, last = with_others(own)
    assert last.clock is None
    assert last.not_compared == "its log has 58.7 min of the 3.97 h that the logs of the others have in common"
    assert compared.common is not None
    assert compared.common.length > 0.9 * (END - BEGIN) * SECOND


def test_half_of_the_servers_at_another_time_are_not_compared() -> None:
    other = {name: [(second + 6 * HOUR, f"10.8.0.{name}") for second, _ in uses(name)] for name in "12"}
    assert fleet(a=usual("a"), b=usual("b"), **{f"x{name}": each for name, each in other.items()}).common is None


@pytest.mark.parametrize("until", [HOUR, 4 * HOUR])
def test_a_log_of_the_quiet_hours_alone_shows_no_server_without_load(until: int) -> None:
    """By day each has 225 times the load of the night; the rest of a log of the night may be missing."""
    night, day = range(BEGIN + 450, BEGIN + 6 * HOUR, 900), range(BEGIN + 6 * HOUR, BEGIN + 9 * HOUR, 4)
    others = dict.fromkeys("abc", counted([(second, "10.0.1.1") for second in (*night, *day)]))
    last = fleet(**others, last=[(second, "10.0.1.1") for second in night if second < BEGIN + until]).replicas[3]
    assert not last.is_idle
    assert "it is idle, or the rest of its log is missing" in last.not_compared


@pytest.mark.parametrize(("every", "is_idle"), [(3600, True), (60, False)])
def test_a_server_with_a_few_operations_does_not_shorten_the_time_of_the_others(every: int, *, is_idle: bool) -> None:
    """Within minutes they show no rate: the rest of the log may be missing."""
    compared, last = with_others([(BEGIN + 500 + every * number, "10.0.1.1") for number in range(3)])
    assert (last.is_idle, last.silences) == (is_idle, ())
    assert is_idle or "it is idle, or the rest of its log is missing" in last.not_compared
    assert compared.common is not None
    assert compared.common.length > 0.9 * (END - BEGIN) * SECOND
