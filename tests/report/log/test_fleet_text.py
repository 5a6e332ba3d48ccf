"""The sentences of the fleet view."""

from __future__ import annotations

import pytest

from ldapdiag.report.log.fleet_text import differences


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
