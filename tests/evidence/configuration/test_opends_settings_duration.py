from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.configuration.opends_settings import seconds


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0 seconds", 0),
        ("0 ms", 0),
        ("300000 ms", 300),
        ("300 s", 300),
        ("5 m", 300),
        ("1 h 30 m", 5400),
        ("1h", 3600),
        ("2 minutes", 120),
        ("1.5 hours", 5400),
        ("1 milliseconds", 1),
        ("3 d", 259200),
        ("1 w", 604800),
    ],
)
def test_reads_what_dsconfig_and_config_ldif_print(text: str, amount: int) -> None:
    assert seconds(text) == amount


@pytest.mark.parametrize("text", ["", "-", "unlimited", "300", "5 parsecs", "s", "5 m or so", "9" * 300 + " s"])
def test_reads_nothing_else(text: str) -> None:
    assert seconds(text) is None


@given(st.text(max_size=60))
def test_never_raises(text: str) -> None:
    seconds(text)


@given(st.integers(0, 10**9))
def test_whole_seconds_read_back_in_every_unit(amount: int) -> None:
    assert seconds(f"{amount} s") == seconds(f"{amount * 1000} ms") == amount
