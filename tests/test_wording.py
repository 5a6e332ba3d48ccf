"""Numbers in sentences: no exponent, whatever their size."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ldapdiag.wording import between, bound, duration, percent, rounded, seconds, shown_time, size


@given(value=st.floats(1e-3, 1e9))
@example(999.6)
@example(12_345.6)
def test_seconds_have_no_exponent(value: float) -> None:
    shown = seconds(value)
    assert "e" not in shown
    assert float(shown.removesuffix(" s").replace(",", "")) == pytest.approx(value, rel=0.006)


@given(value=st.floats(1e-3, 1e9))
@example(99.6)
@example(120.0)
def test_two_digits_have_no_exponent(value: float) -> None:
    assert float(rounded(value).replace(",", "")) == pytest.approx(value, rel=0.06)
    assert "e" not in rounded(value)


@given(value=st.floats(1e-6, 1e9))
@example(1_234_567.0)
@example(0.00001)
def test_a_bound_has_no_exponent(value: float) -> None:
    shown = bound(value)
    assert "e" not in shown
    assert float(shown.removesuffix(" s").replace(",", "")) == pytest.approx(value, rel=1e-3, abs=1e-6)


def test_both_bounds_share_their_unit() -> None:
    assert between(0.096, 1_234_567) == "0.096 to 1,234,567 s"


@pytest.mark.parametrize(
    ("share", "shown"), [(0.0, "0 %"), (0.001, "<1 %"), (0.58, "58 %"), (0.999, "99 %"), (1.0, "100 %")]
)
def test_a_share_has_a_space_before_its_sign(share: float, shown: str) -> None:
    assert percent(share) == shown


SECONDS = {"µs": 1e-6, "ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86_400}


@given(seconds=st.floats(1e-6, 1e9))
@example(0.99999)
@example(999.6 * 86_400)
def test_a_duration_names_its_unit_and_keeps_three_digits(seconds: float) -> None:
    assert len(duration(seconds)) <= 9
    found = re.fullmatch(r"([\d,.]+) (µs|ms|s|min|h|d)", duration(seconds))
    assert found
    assert float(found[1].replace(",", "")) * SECONDS[found[2]] == pytest.approx(seconds, rel=0.006)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (7.1e-06, "7.1 µs"),
        (1e-9, "0 s"),
        (0.0142, "14.2 ms"),
        (30, "30 s"),
        (300, "300 s"),
        (975, "16.2 min"),
        (7200, "2 h"),
        (259_200, "3 d"),
    ],
)
def test_durations_read_as_in_a_manual(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "0.977 KiB"),
        (1 << 20, "1 MiB"),
        (1_500_000, "1.43 MiB"),
        (12 << 30, "12 GiB"),
        (1 << 62, "4096 PiB"),
    ],
)
def test_a_size_has_a_unit_and_three_digits(value: int, text: str) -> None:
    assert size(value) == text


def test_times_are_utc_and_other_text_is_left_as_it_is() -> None:
    assert shown_time("2026-11-20T08:57:42.874000Z") == "2026-11-20 08:57:42 UTC"
    assert (shown_time("soon"), shown_time(None)) == ("soon", "")
