from __future__ import annotations

import pytest

from ldapdiag.analysis.idle.drain_choice import at_least, at_most


@pytest.mark.parametrize(("seconds", "above", "below"), [(300, 300, 300), (301, 600, 300), (4, 5, None), (61, 90, 60)])
def test_values_are_round(seconds: float, above: int, below: int | None) -> None:
    assert (at_least(seconds), at_most(seconds)) == (above, below)


def test_the_longest_value_is_a_day() -> None:
    assert at_least(10**9) == at_most(10**9) == 86400
