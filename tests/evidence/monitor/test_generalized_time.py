from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.monitor.generalized_time import parse

MOMENT = datetime(2026, 11, 20, 8, 46, 50, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("20261120084650Z", MOMENT),
        ("20261120084650.983834Z", MOMENT + timedelta(microseconds=983834)),
        ("20261120094650+0100", MOMENT),
        ("20261120034650-05", MOMENT),
        ("202611200846Z", MOMENT - timedelta(seconds=50)),
    ],
)
def test_reads_what_servers_print(text: str, moment: datetime) -> None:
    assert parse(text) == moment


@pytest.mark.parametrize(
    "text", ["", "20261120084650", "20261320084650Z", "00010101000000+2359", "99991231235959-2359", "x" * 99]
)
def test_reads_nothing_else(text: str) -> None:
    assert parse(text) is None


@given(st.from_regex(r"[0-9]{10,16}([.,][0-9]{1,9})?(Z|[+-][0-9]{2,4})"))
def test_never_raises(text: str) -> None:
    parse(text.strip())
