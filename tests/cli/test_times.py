"""Times on the command line: what each form means in logs that end at a certain time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

from ldapdiag.cli import times
from ldapdiag.cli.app import app
from ldapdiag.errors import UsageError
from ldapdiag.sources.logs.period import Period
from log_lines import at

END = at(2 * 3600)
"""The logs end on Friday 2026-11-20 at 10:00 UTC."""
BERLIN = ZoneInfo("Europe/Berlin")


def seconds(hours: int, minutes: int, second: int = 0) -> int:
    """Return the time of day of that Friday, in UTC."""
    return at((hours - 8) * 3600 + minutes * 60 + second)


def since(text: str, zone: ZoneInfo | None = None, end: int = END) -> int | None:
    return times.asked_period(text, None, zone).by_end(end).since


def until(text: str, zone: ZoneInfo | None = None, end: int = END) -> int | None:
    return times.asked_period(None, text, zone).by_end(end).until


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-20T08:00", at(0)),
        ("2026-11-20T08:00:00Z", at(0)),
        ("2026-11-20 09:00:01+01:00", at(1)),
        ("2026-11-20T08:00:00.25", at(0.25)),
        ("2026-11-20T08:00:00.123456789+00:00", at(0) + 123456789),
        ("2026-11-20", at(-8 * 3600)),
        ("20261120", at(-8 * 3600)),
        ("20/Nov/2026:09:55:00 +0100", seconds(8, 55)),
        ("[20/Nov/2026:09:55:00.123 +0100]", seconds(8, 55) + 123_000_000),
        ("[20/Nov/2026:09:55:00 +0000", seconds(9, 55)),
        ("20/November/2026:09:55:00", seconds(9, 55)),
        ("Nov 20 09:55:00", seconds(9, 55)),
        ("Nov 9 09:55:00", seconds(9, 55) - 11 * 86_400 * 10**9),
        ("Dec 31 23:59:59", int(datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()) * 10**9),
        ("6b000aac.1b749727", 0x6B000AAC * 10**9 + 0x1B749727),
        ("6b000aac", 0x6B000AAC * 10**9),
        ("1795168500", seconds(9, 55)),
        ("1795168500.5", seconds(9, 55) + 5 * 10**8),
        ("09:55", seconds(9, 55)),
        ("9:55", seconds(9, 55)),
        ("10:00", END),
        ("10:00:01", seconds(10, 0, 1) - 86_400 * 10**9),
        ("09:55:30.25", seconds(9, 55, 30) + 250_000_000),
        ("-1h", seconds(9, 0)),
        ("-1h30m", seconds(8, 30)),
        ("-90s", seconds(9, 58, 30)),
        ("-2d", END - 2 * 86_400 * 10**9),
        ("today", at(-8 * 3600)),
        ("yesterday", at(-32 * 3600)),
    ],
)
def test_each_form_begins_where_it_is_in_the_logs(text: str, expected: int) -> None:
    assert since(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-19", at(-8 * 3600) - 1),
        ("2026-11-20T08:00", at(1) - 1),
        ("20/Nov/2026:08:00:00 +0000", at(1) - 1),
        ("2026-11-20T08:00:00.25", at(0.25)),
        ("yesterday", at(-8 * 3600) - 1),
        ("-30m", seconds(9, 30)),
        ("Nov 20 09:55:00", seconds(9, 55, 1) - 1),
    ],
)
def test_until_includes_the_day_or_the_second_that_it_names(text: str, expected: int) -> None:
    assert until(text) == expected


@pytest.mark.parametrize("text", ["2026-11-20T09:00", "20/Nov/2026:09:00:00", "Nov 20 09:00:00", "09:00"])
def test_without_a_zone_a_time_is_in_that_of_the_option(text: str) -> None:
    assert since(text, BERLIN) == seconds(8, 0)


def test_a_day_begins_at_midnight_of_the_zone() -> None:
    after_midnight_in_berlin = seconds(23, 30)

    assert since("today", BERLIN, after_midnight_in_berlin) == seconds(23, 0)
    assert since("today", None, after_midnight_in_berlin) == seconds(0, 0)


def test_an_hour_that_the_clock_shows_twice_is_included_twice() -> None:
    first = int(datetime(2026, 10, 25, 0, 30, tzinfo=UTC).timestamp()) * 10**9

    assert since("2026-10-25T02:30", BERLIN) == first
    assert until("2026-10-25T02:30:00", BERLIN) == first + 3601 * 10**9 - 1


def test_a_time_of_day_after_since_is_the_next_one() -> None:
    night = times.asked_period("23:30", "00:10").by_end(END)

    assert night == Period(seconds(0, 0) - 1800 * 10**9, seconds(0, 10, 1) - 1)
    assert times.asked_period("09:00", "10:30").by_end(END) == Period(seconds(9, 0), seconds(10, 30, 1) - 1)


@given(st.integers(0, 86_399), st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001  drawn in UTC
def test_a_time_of_day_is_in_the_last_day_of_the_logs(clock: int, end: datetime) -> None:
    text = f"{timedelta(seconds=clock)}"
    ended = int(end.replace(tzinfo=UTC).timestamp()) * 10**9

    begin = since(text, None, ended)

    assert begin is not None
    assert begin % (86_400 * 10**9) == clock * 10**9
    assert ended - 86_400 * 10**9 < begin <= ended


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026-11-20T25:00", "2026-11-20T08:00\n", "9.55", "25:00", "1h", "-1y", "-h", "+1h",
     "20/Foo/2026:09:55:00", "Foo 20 09:55:00", "Nov 31 09:55:00", "6b000aag", "09:60", "[", "-99999999999999w"],
)  # fmt: skip
def test_others_are_refused_with_what_is_understood(text: str) -> None:
    with pytest.raises(UsageError, match=r"not understood; use 09:55 .* or a stamp of the log"):
        times.asked_period(text)


def test_a_period_that_ends_before_it_begins_is_refused() -> None:
    for begin, end in (("2026-11-20T09:00", "2026-11-20T08:59"), ("-1h", "-2h"), ("today", "yesterday")):
        with pytest.raises(UsageError, match=f"--until {end} is before --since {begin}"):
            times.asked_period(begin, end).by_end(END)


def test_no_time_is_no_limit() -> None:
    assert times.asked_period(None) is None
    assert times.zone("--zone", None) is None


def test_zones_have_names_or_offsets() -> None:
    zone = times.zone("--zone", "-03:30")

    assert str(times.zone("--zone", "Europe/Berlin")) == "Europe/Berlin"
    assert zone is not None
    assert zone.utcoffset(None) == timedelta(hours=-3, minutes=-30)


class TestDuration:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("300", 300),
            ("0.5", 0.5),
            ("5m", 300),
            ("1h30m", 5400),
            ("1.5h", 5400),
            ("250ms", 0.25),
            ("1d", 86_400),
        ],
    )
    def test_is_a_number_of_seconds_or_has_units(self, text, expected):
        assert times.DurationOption()(text) == expected

    @pytest.mark.parametrize(("text", "expected"), [("30", 30), ("4w", 28), ("48h", 2)])
    def test_of_an_option_in_days_is_in_days(self, text, expected):
        assert times.DurationOption(unit="d", whole=True)(text) == expected

    @pytest.mark.parametrize("text", ["", "m", "5x", "-5", "5 m", "nan", "inf", "1e3", "5m3", "٥", "0x10", "9" * 20])
    def test_anything_else_is_refused(self, text):
        with pytest.raises(times.NoDurationError, match=r"takes seconds or 5m, as in 300; .* is neither"):
            times.DurationOption()(text)

    @pytest.mark.parametrize("text", ["0", "61m", "1.5", "1ms"])
    def test_one_out_of_range_or_with_a_fraction_is_refused(self, text):
        with pytest.raises(times.NoDurationError, match=r"3,600 seconds|fraction"):
            times.DurationOption(least=1, most=3600, whole=True)(text)


def test_every_option_in_seconds_or_days_takes_the_same_forms():
    group = get_command(app)
    options = [
        one for command in group.commands.values() for one in command.params if one.metavar in {"SECONDS", "DAYS"}
    ]
    assert len(options) > 8
    assert [one.opts for one in options if not isinstance(getattr(one.type, "func", None), times.Duration)] == []
