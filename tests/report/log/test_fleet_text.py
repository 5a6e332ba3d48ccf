"""The sentences of the fleet view."""

from __future__ import annotations

import pytest

from ldapdiag.report.log.fleet_text import differences, time_sentences


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        (4.9, "4 s of the 4 s more are the wait for a worker thread"),
        (1.0, "1 s of the 4 s more are the wait for a worker thread"),
        (None, "the logs do not say how long it waited for a worker thread"),
    ],
)
def test_a_wait_is_no_longer_than_what_it_explains(wait: float | None, expected: str) -> None:
    """A median of 5 s here with 4.9 s of waits, and 1 s there without: the search itself is faster here."""
    search = {
        "server": "ds1",
        "shape": "(uid=?)",
        "base": "dc=example",
        "bases": 1,
        "scope": "sub",
        "lacks_index": False,
        "median_seconds": 5.0,
        "others_median_seconds": 1.0,
        "others": ["ds2", "ds3"],
        "wait_seconds": wait,
        "others_wait_seconds": 0.0,
    }
    (sentence,) = differences({"differing_searches": [search], "servers_by_version": {}})
    assert sentence.endswith(expected)


@pytest.mark.parametrize("shifted", [True, False])
def test_jobs_that_one_server_has_later_are_no_clock_that_is_wrong(shifted: bool) -> None:  # noqa: FBT001  a parameter
    clock = {"half": True, "shifted": shifted, "ahead_seconds": 3600.0, "has_zone": True, "clients": 8}
    server = {"not_compared": None if shifted else "not certain", "begins_late_seconds": 0, "ends_early_seconds": 0}
    servers = [server | {"name": "a", "clock": None, "not_compared": None}, server | {"name": "b", "clock": clock}]
    said = " ".join(time_sentences({"servers": servers, "servers_without_records": []}))
    assert ("clocks" in said) == shifted
    assert ("not certain" in said) != shifted
