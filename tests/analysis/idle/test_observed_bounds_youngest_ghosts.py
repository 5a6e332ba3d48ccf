"""What the youngest ghosts of a path show: a bound if a middlebox dropped them for certain, else a remark."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

import facts
from facts import START, direction
from ldapdiag.analysis.idle.bounds import PathBounds, bound_idle
from ldapdiag.analysis.pairing.carriers import Carriers
from ldapdiag.analysis.pairing.client_history import ClientHistory, Since
from ldapdiag.evidence.origin import Span

THROUGH_FW = Carriers(by_table=frozenset({"fw"}))
LONG_AGO = Since(span=Span(start=START - timedelta(days=9), end=START - timedelta(days=9)))
KNOWN = ClientHistory(booted=LONG_AGO, started=LONG_AGO, owned=True)


def path(history: ClientHistory = KNOWN, **traits: Any) -> PathBounds:
    """Return the bounds of a path with three ghosts that a middlebox dropped, all other evidence as given."""
    known = {
        "server_count": 5,
        "ghosts": 3,
        "ghost_ages": (11.5, 11.9, 40.0),
        "ages_of_running": (11.5, 11.9, 40.0),
        "probes_unanswered": 3,
        "carriers": THROUGH_FW,
    }
    ghosts = direction(**known | traits)
    ghosts = replace(ghosts, evidence=replace(ghosts.evidence, client=history))
    (found,) = bound_idle(facts.pairing(ghosts), facts.host(), facts.lifetime(), ()).paths
    return found


def test_the_youngest_two_that_agree_bound_the_timeout_loosely() -> None:
    found = path()
    assert (found.lower_seconds, found.upper_seconds, found.loose, found.drop_seen) == (None, 11.5, True, False)
    assert found.source == "the youngest ghosts, whose clients have run since"
    assert found.remarks == ()


def test_a_restart_of_a_middlebox_that_was_not_read_explains_them_as_well() -> None:
    """A firewall of 3600 s that restarted 11 s ago leaves ghosts of 11.5 s."""
    found = path(carriers=Carriers())
    assert found.upper_seconds is None
    assert "because a restart of the middlebox would explain it as well" in found.remarks[0]


def test_a_measured_bound_is_better() -> None:
    found = path(idle_before_loss=(4.0, 4.0))
    assert (found.upper_seconds, found.loose, found.remarks) == (4.0, False, ())


def test_a_loose_bound_gives_no_advice() -> None:
    bounds = bound_idle(
        facts.pairing(
            direction(server_count=2, ghosts=2, ages_of_running=(90.0, 90.0), probes_unanswered=2, carriers=THROUGH_FW)
        ),
        facts.host(),
        facts.lifetime(),
        (),
    )
    assert bounds.paths[0].upper_seconds == 90
    assert bounds.silent_drop_seconds is None


@pytest.mark.parametrize(
    ("traits", "because"),
    [
        ({"history": ClientHistory(started=LONG_AGO, owned=True)}, "when app1 booted (uptime)"),
        ({"history": ClientHistory(booted=LONG_AGO)}, "when the processes started that own its connections"),
        ({"history": ClientHistory(booted=LONG_AGO, started=LONG_AGO)}, "when the processes started"),
        ({"probes_unanswered": 0}, "whether a middlebox dropped them"),
    ],
    ids=["boot", "processes", "owners", "style"],
)
def test_whatever_is_not_known_makes_it_a_remark(traits: dict[str, Any], because: str) -> None:
    found = path(ages_of_running=(), **traits)
    assert found.upper_seconds is None
    (remark,) = found.remarks
    assert "The youngest ghost from app1 was idle for 12 s: this supports a timeout" in remark
    assert because in remark


def test_no_two_that_agree_bound_nothing() -> None:
    found = path(ghost_ages=(10.0, 90.0), ages_of_running=(10.0, 90.0))
    assert found.upper_seconds is None
    assert found.remarks[0].endswith("because no two ghosts of clients that have run since agree.")


@pytest.mark.parametrize("evidence", [{"before_boot": 3}, {"before_start": 3}, {"not_opened": 3}], ids=str)
def test_ghosts_of_a_client_that_is_gone_show_nothing_of_the_timeout(evidence: dict[str, int]) -> None:
    found = path(**evidence)
    assert (found.upper_seconds, found.remarks) == (None, ())
