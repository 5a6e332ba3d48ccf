"""What is worth an index: absolute limits, halved beside a search that reaches them."""

from __future__ import annotations

import pytest

from audits import UNINDEXED, Audit


@pytest.mark.parametrize(
    ("times", "took", "asked"), [(20, 0.006, True), (20, 0.004, False), (15, 0.006, False), (1, 1.1, True)]
)
def test_by_the_average_and_the_time_in_all(times, took, asked) -> None:
    audit = Audit()
    audit.asks("(objectClass=person)", times=20, took=0.0001)
    audit.asks("(displayName=joe)", UNINDEXED, times=times, took=took)
    assert bool(audit.found("missing-index")) is asked


def test_the_time_of_others_makes_no_difference() -> None:
    """A share of all time would ask for an index now, and for the next one when this time is gone."""
    audit = Audit()
    audit.has("uid", "eq")
    audit.asks("(uid=joe)", times=1000, took=1)
    audit.asks("(displayName=joe)", UNINDEXED, times=40, took=0.1)
    assert set(audit.found("missing-index")) == {"displayName"}


def test_what_is_close_is_done_in_the_same_go() -> None:
    audit = Audit()
    audit.asks("(displayName=joe)", UNINDEXED, times=20, took=0.004)
    assert audit.found("missing-index") == {}
    audit.asks("(employeeNumber=5)", UNINDEXED, times=20, took=0.1)
    assert set(audit.found("missing-index")) == {"displayName", "employeeNumber"}


def test_a_long_log_needs_more() -> None:
    audit = Audit()
    audit.asks("(displayName=joe)", UNINDEXED, times=20, took=0.02)
    assert set(audit.found("missing-index")) == {"displayName"}
    audit.log.now += 24 * 3600
    audit.asks("(objectClass=person)", times=20, took=0.0001)
    assert audit.found("missing-index") == {}
