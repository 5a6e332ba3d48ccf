"""When a host booted: who -b, uptime, uptime -s, /proc/uptime, btime."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.evidence.host_formats import boot_time
from reading import facts_of

BOOTED = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "file", "booted", "zoned", "rounding"),
    [
        ("         system boot  2026-11-20 08:00\n", "any.txt", BOOTED, False, 60),
        ("2026-11-20 08:00:00\n", "uptime-s.txt", BOOTED, False, 1),
        ("2026-11-20 09:00:00\n+0100\n", "booted.txt", BOOTED, True, 1),
        ("btime 1795161600\n", "stat.txt", BOOTED, True, 1),
    ],
)
def test_a_time(text, file, booted, zoned, rounding) -> None:
    (fact,) = facts_of(text, path=f"app1/{file}")
    assert (fact.booted, fact.zoned, fact.rounding_seconds, fact.up_seconds) == (booted, zoned, rounding, None)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (" 09:24:51 up 3 days,  2:03,  1 user,  load average: 0.00, 0.01, 0.05\n", 3 * 86400 + 2 * 3600 + 180),
        (" 09:24:51 up 5 min,  0 users,  load average: 0.00, 0.01, 0.05\n", 300),
        ("09:24:51 up 1 day, 22 min,  2 users,  load average: 0.00, 0.01, 0.05\n", 86400 + 1320),
        (" 9:24am  up 12 day(s),  1:07,  1 user,  load average: 0.03, 0.02, 0.02\n", 12 * 86400 + 3600 + 420),
        ("264348.22 1043.20\n", 264348.22),
    ],
)
def test_a_time_since(text, seconds) -> None:
    (fact,) = facts_of(text, path="app1/uptime.txt")
    assert (fact.up_seconds, fact.booted, fact.zoned) == (seconds, None, True)


@pytest.mark.parametrize("text", ["2026-11-20 08:00:00\n", "264348.22 1043.20\n"])
def test_a_bare_value_needs_the_name_of_the_file(text) -> None:
    form = recognise(head_of("notes.txt", text.encode(), whole=True))
    assert form is None or form.name != "boot-time"


def test_an_impossible_time_is_counted() -> None:
    assert facts_of("         system boot  2026-13-20 08:00\n") == []


@given(st.text())
def test_no_text_makes_it_raise(text) -> None:
    facts_of(text, form=boot_time.FORMAT)
