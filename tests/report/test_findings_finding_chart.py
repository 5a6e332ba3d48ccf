"""The chart of a finding: one without -v, all with it."""

from __future__ import annotations

from typing import Any

from ldapdiag.report.charts.of_finding import both_ends, idle_times
from ldapdiag.report.charts.terminal_charts import bar_rows, strip_rows
from ldapdiag.report.findings import finding_chart

ENDS = {"server": "10.77.1.2:389", "client": "10.77.2.2", "client_hosts": ["app1"], "matched": 2, "ghosts": 8}
AGES = {"edges_seconds": [0, 5, 10, 15], "live": [2, 0, 0], "ghosts": [0, 3, 5], "longest_live_seconds": 3.0}
OBSERVED = ENDS | {
    "server_count": 10,
    "client_count": 2,
    "idle_ages": AGES | {"box_action": "drops its state after", "lower_seconds": None, "upper_seconds": 5},
}


def rows(observed: dict[str, Any], check: str = "ghost-connections", *, verbose: bool = False) -> list[str]:
    finding = {"check": check, "server": "ldap", "observed": observed}
    return list(finding_chart(finding, (), 88, verbose=verbose))


def test_ghosts_show_both_ends_and_with_verbose_their_idle_times() -> None:
    ends, idle = (
        both_ends([OBSERVED | {"server": "ldap", "held": 2, "stranded": 0, "severed": 0}]),
        idle_times(OBSERVED),
    )
    assert ends is not None
    assert idle is not None
    assert rows(OBSERVED) == list(bar_rows(ends, 88, verbose=False))
    both = [*bar_rows(ends, 88, verbose=True), *strip_rows(idle, 88, verbose=True)]
    assert rows(OBSERVED, verbose=True) == both


def test_candidates_of_an_access_log_stand_for_the_idle_times() -> None:
    row = {"cut_per_day": 0, "most_cut_per_day": 1, "peak": 5, "freed_seconds": 7200, "held_seconds": 60}
    row |= {"first_client": None, "first_account": None, "timeout_seconds": 300}
    timeouts = {"idle_ages": OBSERVED["idle_ages"], "recommended_seconds": 300, "current_seconds": 0}
    assert rows(timeouts, "idle-timeout")[2].split()[0] == "held"
    replayed = timeouts | {"replay": [row], "log_seconds": 86_400}
    assert not any("held │" in one for one in rows(replayed, "idle-timeout"))
    assert any("held │" in one for one in rows(replayed, "idle-timeout", verbose=True))


def test_a_finding_without_numbers_has_no_chart() -> None:
    assert rows({}) == []
    assert rows({"more_findings": 7}, verbose=True) == []
