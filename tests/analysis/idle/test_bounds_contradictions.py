"""When a setting and a measurement contradict each other, and what the report states of it."""

from __future__ import annotations

import pytest

from ldapdiag.analysis.idle.bounds import contradiction, exceeds, unexplained, younger_than
from ldapdiag.analysis.idle.box_timeouts import MiddleboxTimeout


def setting(seconds: float, longest: float | None = None) -> MiddleboxTimeout:
    return MiddleboxTimeout(
        middlebox="fw",
        lower_seconds=seconds,
        upper_seconds=longest or seconds,
        source="the timeout of fw",
        directions=frozenset({"a"}),
    )


@pytest.mark.parametrize(
    ("longer", "shorter", "expected"),
    [(9.016, 9, False), (10, 9, False), (10.1, 9, True), (330, 300, False), (331, 300, True)],
)
def test_durations_agree_within_a_tenth_or_a_second(longer: float, shorter: float, *, expected: bool) -> None:
    assert exceeds(longer, shorter) is expected


@pytest.mark.parametrize(
    ("seconds", "lower", "upper", "contradicted"),
    [
        (9, 8.0, 9.016, False),
        (432_000, None, 9.016, True),
        (432_000, 20.0, None, False),
        (3, 20.0, None, True),
        (3, 3.5, None, False),
        (300, None, 290.0, False),
    ],
)
def test_a_setting_is_contradicted_from_both_sides(
    seconds: float, lower: float | None, upper: float | None, *, contradicted: bool
) -> None:
    text = contradiction(setting(seconds), lower, upper)
    assert (text is not None) is contradicted
    assert text is None or f"{seconds:,} s" in text


def test_of_several_settings_that_may_hold_each_end_is_compared_with_its_own_measurement() -> None:
    assert contradiction(setting(300, 1800), 1700.0, None) is None
    assert contradiction(setting(300, 1800), None, 310.0) is None
    assert contradiction(setting(300, 1800), 2500.0, None) is not None


def test_a_ghost_that_is_younger_is_not_explained() -> None:
    assert younger_than(setting(60), (5.0, 58.0, 61.0)) == 1
    assert unexplained(setting(60), (5.0, 58.0)) is None
    assert unexplained(setting(60), ()) is None
    assert "1 ghost connection: the longest idle time is 5 s" in str(unexplained(setting(60), (5.0,)))
