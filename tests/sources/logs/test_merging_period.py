"""A forged record decides nothing about the records around it: a period has the counts of the log without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import log_lines
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.sources.logs import batches, chunks, merging
from ldapdiag.sources.logs.access_log import ScannedStream, read
from ldapdiag.sources.logs.merging import PeriodCounts
from ldapdiag.sources.logs.period import Period, Place, WholeRecords
from ldapdiag.sources.logs.stream_counts import ReferenceCounts
from log.comparable import plain
from log.scanners import need_native

if TYPE_CHECKING:
    from pathlib import Path

LINES = (log_lines.header() + log_lines.run(1, 300)).splitlines(keepends=True)
PERIODS = {"since": (100, None), "until": (None, 200), "both": (100, 200)}
SCANNERS = [(Scanner.PYTHON, 1), (Scanner.NATIVE, 1), (Scanner.NATIVE, 4)]
HOUR = 3600


def forged(hours: int) -> bytes:
    """Return a search with a wrong time, as a line feed in the filter of another one brings it into the log."""
    text = f'{log_lines.stamp(hours * HOUR)} conn=4711 op=3 SRCH base="o=forged" scope=2 filter="(a=b)" attrs=ALL\n'
    return text.encode()


def stream_of(path: Path, lines: list[bytes], period: str, scanner: Scanner, workers: int) -> ScannedStream:
    path.mkdir(exist_ok=True)
    (path / "access").write_bytes(b"".join(lines))
    since, until = (None if seconds is None else log_lines.at(seconds) for seconds in PERIODS[period])
    reading = read([str(path)], workers=workers, scanner=scanner, period=log_lines.period(since, until))
    return reading.streams[0]


@pytest.fixture(params=SCANNERS, ids=lambda param: f"{param[0]}-{param[1]}")
def scanner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Scanner, int]:
    """Return a scanner, and let it read in chunks of a few connections."""
    if request.param[0] is Scanner.NATIVE:
        need_native()
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 20_000)
    monkeypatch.setattr(batches, "LEAST_BYTES", 20_000)
    monkeypatch.setattr(batches, "SLACK", 0)
    return request.param


@pytest.mark.parametrize("period", ["until", "both"])
def test_a_record_far_after_the_period_is_left_out_wherever_it_is(
    tmp_path: Path, period: str, scanner: tuple[Scanner, int]
) -> None:
    alone = stream_of(tmp_path / "alone", LINES, period, *scanner).counts.finished()
    for place in (4, 300, 1200, len(LINES) // 2, 2100):
        lines = [*LINES[:place], forged(9999), *LINES[place:]]
        stream = stream_of(tmp_path / str(place), lines, period, *scanner)

        assert plain(stream.counts.finished()) == plain(alone)
        among = place < 1700
        expected = "1 line among those of the period have a time far outside" if among else ""
        assert any(expected in note for note in stream.notes) if expected else not stream.notes


@pytest.mark.parametrize("period", ["since", "both"])
def test_a_record_far_before_the_period_is_not_counted_wherever_it_is(
    tmp_path: Path, period: str, scanner: tuple[Scanner, int]
) -> None:
    alone = counts(stream_of(tmp_path / "alone", LINES, period, *scanner))
    for place in (4, 700, 1200, len(LINES) // 2, 2100):
        lines = [*LINES[:place], forged(-9999), *LINES[place:]]

        assert counts(stream_of(tmp_path / str(place), lines, period, *scanner)) == alone


def test_a_forged_time_inside_the_period_counts_alone(tmp_path: Path, scanner: tuple[Scanner, int]) -> None:
    """The records behind it are before the period: they show who is connected, and are not counted."""
    alone = stream_of(tmp_path / "alone", LINES, "since", *scanner).counts.finished()
    lines = [*LINES[:50], forged(1), *LINES[50:]]

    segment = stream_of(tmp_path / "forged", lines, "since", *scanner).counts.finished()

    assert segment.lines == alone.lines + 1
    assert sum(segment.operations) == sum(alone.operations) + 1
    assert [segment.results, segment.opened] == [alone.results, alone.opened]
    assert {client: row.operations for client, row in segment.clients.items() if client == b"10.0.0.1"} == {
        client: row.operations for client, row in alone.clients.items()
    }


def counts(stream: ScannedStream) -> list[Any]:
    segment = stream.counts.finished()
    shapes = {key: (row.requests, row.etime) for key, row in segment.shapes.items()}
    times = (segment.first_time, segment.last_time, segment.lines, segment.opened)
    return [*times, segment.operations, dict(segment.results), shapes, segment.accounts[b"uid=a"]]


def part(lines: int, time: int) -> WholeRecords:
    line = f'{log_lines.stamp(time)} conn=1 op=1 SRCH base="" scope=0 filter="(a=b)" attrs=ALL\n'
    return WholeRecords(named("389-text"), line.encode() * lines, Hints())


@pytest.mark.parametrize("cut", [(10,), (4, 6), (1, 8, 1)])
def test_many_later_records_in_a_row_end_the_reading_however_they_are_cut(
    monkeypatch: pytest.MonkeyPatch, cut: tuple[int, ...]
) -> None:
    monkeypatch.setattr(merging, "ENOUGH_LATER", 10)
    reading = PeriodCounts(ReferenceCounts(), Period(None, log_lines.at(5)))
    for some in cut:
        assert not reading.is_over
        reading.add(Place.LATER, part(some, 9))
    reading.add(Place.WITHIN, part(3, 4))
    reading.finish()

    assert reading.is_over
    assert reading.counts.finished().lines == 0


def test_records_a_moment_outside_the_period_are_a_disorder_that_no_note_names() -> None:
    reading = PeriodCounts(ReferenceCounts(), Period(log_lines.at(1), log_lines.at(5)))
    for place, time in [(Place.WITHIN, 4), (Place.LATER, 6), (Place.WITHIN, 5), (Place.BEFORE, 0), (Place.WITHIN, 2)]:
        reading.add(place, part(10 if place is Place.WITHIN else 1, time))

    assert (reading.counts.finished().lines, reading.note) == (30, "")
