"""Onsets: a step where and in which part it is, a line, or neither."""

from __future__ import annotations

import pytest

from ldapdiag.analysis.log.trends import Onset, onset_of

PART = 1000


def onset(rates: list[float]) -> Onset | None:
    return onset_of([PART] * len(rates), [int(rate * PART) for rate in rates])


@pytest.mark.parametrize("place", range(2, 14))
@pytest.mark.parametrize("fraction", [0.25, 0.5, 0.75])
def test_a_step_is_found_in_its_part(place: int, fraction: float) -> None:
    found = onset([1] * place + [1 * fraction + 5 * (1 - fraction)] + [5] * (15 - place))
    assert found == Onset(place, pytest.approx(fraction))


def test_a_line_is_no_step() -> None:
    assert onset([1 + place for place in range(16)]) == Onset(None)


def test_a_wave_is_neither() -> None:
    assert onset([1, 5] * 8) is None


def test_parts_of_the_log_that_are_cut_count_by_their_length() -> None:
    lengths = [10, *[PART] * 14, 10]
    assert onset_of(lengths, [length * (1 if place < 8 else 4) for place, length in enumerate(lengths)]) in (
        Onset(8, 0.0),
        Onset(7, 1.0),
    )


@pytest.mark.parametrize("count", range(1, 5))
def test_few_parts_have_no_step(count: int) -> None:
    found = onset([1] * (count // 2) + [9] * (count - count // 2))
    assert found is None or found.place is None
