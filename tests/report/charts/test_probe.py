"""The charts of a probe: its medians and rates, from zero, and a note where the program limits the rate."""

from __future__ import annotations

from io import StringIO

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.storage.probe import MOST_COMMITTERS, MOST_MEASURED, latency_of
from ldapdiag.report.charts.probe import probe_charts
from ldapdiag.report.charts.terminal_charts import bar_rows

SECONDS = st.lists(st.floats(1e-6, 100), min_size=1, max_size=20)


def latency(seconds: list[float]) -> dict[str, float]:
    found = latency_of(seconds)
    return {name: getattr(found, name) for name in found.__slots__}


def sync(seconds: list[float]) -> dict[str, object]:
    return {"write": "append", "call": "fsync", "block_bytes": 4096, "sync": latency(seconds)}


def commits(committers: int, count: int, seconds: float) -> dict[str, object]:
    row = {"committers": committers, "commits": count, "syncs": 1, "seconds": seconds}
    return {**row, "commit": latency([0.01])}


def probe(syncs=(), rates=()) -> dict[str, object]:
    return {"directory": "/var/lib/ldap", "mount_point": "/var", "syncs": syncs, "commits": rates}


def test_nothing_measured_has_no_chart() -> None:
    assert list(probe_charts(probe())) == []


@given(st.lists(SECONDS, min_size=1, max_size=8), st.integers(40, 120))
def test_bars_are_the_medians_in_milliseconds_on_an_axis_from_zero(rows: list[list[float]], room: int) -> None:
    (chart,) = probe_charts(probe(syncs=[sync(seconds) for seconds in rows]))
    medians = [1000 * latency_of(seconds).p50_seconds for seconds in rows]
    drawn = [bar.value for bar in chart.groups[0].bars]
    assert all(abs(value - median) <= 0.006 * median for value, median in zip(drawn, medians, strict=True))
    assert chart.axis.ticks[0] == 0
    assert chart.axis.end >= max(drawn)
    assert len(chart.table.rows) == len(rows)
    assert all(len(row) == len(chart.table.columns) for row in chart.table.rows)
    shown = StringIO("\n".join(bar_rows(chart, room, verbose=True))).readlines()
    assert len(shown) == len(rows)
    assert all(len(line.rstrip("\n")) <= room for line in shown)


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(0, 10**6), st.floats(0.1, 10)), min_size=1, max_size=6))
def test_a_rate_that_the_program_limits_is_noted_as_a_lower_bound(rows: list[tuple[int, int, float]]) -> None:
    (chart,) = probe_charts(probe(rates=[commits(*row) for row in rows]))
    rates = [round(count / seconds) for _, count, seconds in rows]
    assert [bar.value for bar in chart.groups[0].bars] == rates
    assert bool(chart.notes) == any(
        of > MOST_COMMITTERS or count / seconds > MOST_MEASURED for of, count, seconds in rows
    )


def test_the_sentence_has_every_number_and_the_note_the_longest() -> None:
    slow = {**sync([0.02, 0.0219, 0.04]), "call": "fdatasync"}
    chart, rates = probe_charts(probe(syncs=[sync([0.01]), slow], rates=[commits(1, 66, 1.5), commits(80, 9000, 1.5)]))
    assert chart.title == "Time of a sync on /var, median"
    assert chart.sentence == "append 4 KiB, fsync: 10 ms; append 4 KiB, fdatasync: 21.9 ms."
    assert chart.notes == ("The longest sync took 40 ms (append 4 KiB, fdatasync).",)
    assert rates.sentence == "1 committer: 44; 80 committers: 6,000."
    assert rates.notes[0].startswith("Above 5,000 per second or 40 committers (80 committers) the rate is a lower")
