"""Numbers in sentences: no exponent, whatever their size."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ldapdiag.wording import rounded, seconds


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
