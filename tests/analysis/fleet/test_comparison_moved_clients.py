"""Clients that moved: those that the generator moved are named with the time, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command import ldapdiag
from fleet_logs import BASE, QUICK, search, stamp
from ldapdiag.analysis.fleet.comparison import moved_clients
from ldapdiag.analysis.fleet.replicas import fleet_of
from ldapdiag.analysis.log.workload import Workload
from ldapdiag.evidence.log.dialects import named, scan_stream

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.analysis.fleet.comparison import MovedClients

HOURS = 3600
END = 4 * HOURS
STAYING = [(second, "10.0.1.1") for second in range(0, END + 1, 60)]
"""A client that uses the server all the time, which is so the common time."""


def log_of(uses: list[tuple[int, str]]) -> bytes:
    """Return the log of short connections: second and client of each."""
    lines = ["\t389-Directory/2.3.1 B2022.349.0000", "\tds.example.com:389 (/etc/dirsrv/slapd-ds)", ""]
    for number, (second, client) in enumerate(sorted(uses), 1):
        at = stamp(second)
        lines.append(f"{at} conn={number} fd=64 slot=64 connection from {client} to 10.0.9.9")
        lines += search(at, number, 0, f"(ou={BASE})", QUICK, "")
        lines.append(f"{at} conn={number} op=1 UNBIND")
        lines.append(f"{at} conn={number} op=1 fd=64 Disconnect - Cleanly Closed Connection - U1")
    return "".join(f"{line}\n" for line in lines).encode()


def moved(**uses: list[tuple[int, str]]) -> tuple[MovedClients, ...] | None:
    segments = {name: scan_stream(named("389-text"), log_of(each)) for name, each in uses.items()}
    return moved_clients(fleet_of((name, Workload(segment)) for name, segment in segments.items()))


def every(seconds: int, begin: int, end: int, *clients: str) -> list[tuple[int, str]]:
    return [(second, client) for second in range(begin, end, seconds) for client in clients]


MANY = tuple(f"10.0.2.{number}" for number in range(1, 39))


def test_clients_that_moved_together_are_one_statement(tmp_path: Path) -> None:
    logs = {
        "ds4": STAYING + every(60, 2 * HOURS + 30, END, *MANY),
        "ds5": STAYING + every(60, 0, 2 * HOURS, *MANY),
    }
    for name, uses in logs.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "access").write_bytes(log_of(uses))
    ran = ldapdiag("log", "--by", "server", tmp_path, "--format", "json").report["fleet"]
    (move,) = ran["moved_clients"]
    assert (set(move["clients"]), move["from"], move["to"]) == (set(MANY), "ds5", "ds4")
    assert (move["begin"][:19], move["end"][:19]) == ("2026-09-21T01:59:00", "2026-09-21T02:00:30")
    assert (
        "38 clients moved from ds5 to ds4 at 2026-09-21 01:59:00 UTC"
        in ldapdiag("log", "--by", "server", tmp_path).text
    )


def test_a_silence_of_the_first_server_is_named() -> None:
    before, after = every(60, 0, 2 * HOURS, *MANY), every(60, 2 * HOURS, END, *MANY)
    ds5 = [use for use in STAYING if not 2 * HOURS <= use[0] < 3 * HOURS] + before
    (move,) = moved(ds4=STAYING + after, ds5=ds5) or ()
    assert move.silent


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (every(60, 0, END, "c"), every(60, 2 * HOURS, END, "c")),  # uses one all the time
        (every(60, 0, HOURS, "c") + every(60, 3 * HOURS, END, "c"), every(60, HOURS, 3 * HOURS, "c")),  # comes back
        (every(60, 0, HOURS, "c"), every(60, 3 * HOURS, END, "c")),  # was away for long
        (every(60, 0, 120, "c"), every(60, 120, END, "c")),  # hardly used the first
        (every(1800, 0, 2 * HOURS, "c"), every(1800, 2 * HOURS, END, "c")),  # too few connections: chance
    ],
)
def test_others_did_not_move(here: list[Any], there: list[Any]) -> None:
    assert moved(ds4=STAYING + there, ds5=STAYING + here) == ()


def test_a_client_of_a_third_server_did_not_move() -> None:
    first, then = every(60, 0, 2 * HOURS, "c"), every(60, 2 * HOURS, END, "c")
    assert len(moved(ds4=STAYING + then, ds5=STAYING + first, ds6=STAYING) or ()) == 1
    assert moved(ds4=STAYING + then, ds5=STAYING + first, ds6=[*STAYING, (9000, "c")]) == ()


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(["ds4", "ds5"]), st.integers(0, END)), max_size=60))
def test_who_uses_both_all_the_time_never_moved(drawn: list[tuple[str, int]]) -> None:
    """At the beginning and at the end both servers are used; between, whatever is drawn."""
    both = [(0, "c"), (END, "c")]
    logs = {name: STAYING + both + [(second, "c") for of, second in drawn if of == name] for name in ("ds4", "ds5")}
    assert moved(**logs) == ()
