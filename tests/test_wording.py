"""Numbers in sentences: no exponent, whatever their size."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ldapdiag.wording import between, bound, percent, rounded, seconds


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
