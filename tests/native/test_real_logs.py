"""Real logs, whole and in chunks, by every way of reading: both scanners give the same Segments, in every field."""

from __future__ import annotations

import gzip
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest

import examples
from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.scan import Hints
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.sources.logs.merging import PeriodCounts
from ldapdiag.sources.logs.native import NativeCounts
from ldapdiag.sources.logs.period import Period, Place, WholeRecords
from ldapdiag.sources.logs.stream_counts import ReferenceCounts, StreamCounts
from log.comparable import plain
from log.real_logs import ALL_LOGS, REAL_LOGS, RealLog
from log.reports import rendered
from log.scanners import NATIVE_DIALECTS, added_up, fed, merged, native_scan, need_native, only_part, scanned
from log.vectors import HINTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ldapdiag.evidence.log.segment import Segment

PIECES = 40
MOST_SECONDS = len(examples.rounds(10))
"""Of a log, at which it is parted."""
STEP = 397
"""Bytes from one cut to the next; a prime, so that each kind of place is met."""


def tiered(logs: Sequence[RealLog]) -> list[Any]:
    """Return logs as parameters: at the desk the vectors and the first real log of each dialect, else all."""
    first = {log.dialect.name: log for log in reversed(REAL_LOGS)}.values()
    others = {log.path for log in REAL_LOGS} - {log.path for log in first}
    return [pytest.param(log, id=str(log), marks=[pytest.mark.long] if log.path in others else []) for log in logs]


each_log = pytest.mark.parametrize("log", tiered(ALL_LOGS))
each_cut_log = pytest.mark.parametrize(
    "log", tiered([*REAL_LOGS, *examples.some([log for log in ALL_LOGS if log not in REAL_LOGS], 3)])
)
"""Whole, each vector is read; where it is cut matters little to what it is a vector of."""
each_real_log = pytest.mark.parametrize("log", tiered(REAL_LOGS))


@pytest.fixture(autouse=True)
def _installed() -> None:
    need_native()


def both(log: RealLog, chunks: list[bytes]) -> tuple[Segment, Segment]:
    """Return the Segments of both scanners, which are found to be the same."""
    python, native = (merged(one, log.dialect, chunks, HINTS) for one in ("python", "native"))
    assert plain(native) == plain(python)
    return python, native


@each_log
def test_whole_it_is_one_answer(log: RealLog) -> None:
    python, native = both(log, [log.data])
    assert rendered(native) == rendered(python)


@each_cut_log
def test_both_scanners_agree_on_each_chunk_and_on_their_sum(log: RealLog) -> None:
    choose = examples.choices(f"{log}")
    cuts = sorted(choose.sample(log.ends, min(PIECES, len(log.ends))))
    chunks = [log.head[left:right] for left, right in pairwise([0, *cuts, len(log.head)])]
    for chunk in chunks:
        both(log, [chunk])
    python, native = both(log, chunks)
    assert rendered(native) == rendered(python)


@each_cut_log
def test_cut_anywhere_it_is_one_answer(log: RealLog) -> None:
    """The last line of a log that is being written ends anywhere, and a corner cut off may begin anywhere."""
    head = log.head[:6000]
    for place in range(len(log.dialect.name) % STEP, len(head), STEP):
        both(log, [head[:place]])
        both(log, [head[place:]])


@each_cut_log
def test_a_log_fed_in_chunks_is_the_same_as_fed_at_once(log: RealLog) -> None:
    for step in (1, 7, 1000):
        places = [0, *log.ends[::step], len(log.head)]
        chunks = (log.head[left:right] for left, right in pairwise(sorted(set(places))))
        assert plain(fed(log.dialect, chunks, HINTS)) == plain(fed(log.dialect, [log.head], HINTS))


@each_cut_log
def test_taken_in_between_it_adds_up_alike(log: RealLog) -> None:
    scan, parts = native_scan(log.dialect, HINTS), []
    chunks = [log.head[left:right] for left, right in pairwise([0, *log.ends[::13], len(log.head)])]
    for chunk in chunks:
        scan.feed(chunk)
        parts += [part for _, part in scan.take()]
    assert plain(added_up(parts)) == plain(merged("python", log.dialect, chunks, HINTS))


@each_real_log
def test_read_from_a_file_it_is_as_if_fed(log: RealLog, tmp_path: Path) -> None:
    file, watch = tmp_path / "log", need_native().Watch()
    file.write_bytes(log.data)
    status = file.stat()
    inode = (status.st_dev, status.st_ino)

    scan = native_scan(log.dialect, HINTS)
    read = scan.read(str(file), inode, 0, len(log.data), watch)
    assert (read.to, read.shrunk, read.too_long, watch.read) == (len(log.data), False, [], len(log.data))
    assert plain(only_part(scan)) == plain(fed(log.dialect, [log.data], HINTS))

    for left, right in pairwise([0, *log.ends[:: len(log.ends) // 20 + 1], len(log.head)]):
        read = scan.read(str(file), inode, left, right, watch)
        assert read.to == right
    assert plain(only_part(scan)) == plain(fed(log.dialect, [log.head], HINTS))
    assert scan.read(str(file), (inode[0], inode[1] + 1), 0, 9, watch).to is None


@each_real_log
def test_since_and_until_part_it_at_the_same_records(log: RealLog) -> None:
    whole = scanned("python", log.dialect, log.head, HINTS)
    if whole.first_time is None or whole.last_time is None:
        return
    first, last = whole.first_time // SECOND, whole.last_time // SECOND
    step = max(1, (last - first) // MOST_SECONDS)
    for since in range(first, last + 2, step):
        check_period(log, Period(since * SECOND))
        check_period(log, Period(None, since * SECOND))
        check_period(log, Period(since * SECOND, (since + 2 * step) * SECOND))


def check_period(log: RealLog, period: Period) -> None:
    """Compare the two parts, and their sum; a zone may be reported with either."""
    parts = period.divide(log.dialect, log.head, HINTS)
    scan = native_scan(log.dialect, HINTS, since=period.since, until=period.until)
    scan.feed(log.head)
    native = [(Place(place), part) for place, part in scan.take()]
    python = [(place, WholeRecords(log.dialect, part, HINTS)) for place, part in parts]
    assert [described(*one) for one in native] == [described(*one) for one in python]
    ours, theirs = within_alone(native, NativeCounts(), period), within_alone(python, ReferenceCounts(), period)
    assert plain(ours) == plain(theirs)
    assert rendered(ours) == rendered(theirs)


def described(place: Place, part: Any) -> Any:
    """Return where a part is, as it should be in both scanners."""
    return (place, part.lines, part.first_time, part.last_time)


def within_alone(parts: list[tuple[Place, Any]], counts: StreamCounts, period: Period) -> Segment:
    """Return what is counted within a period, as a reading does it."""
    within = PeriodCounts(counts, period)
    for place, part in parts:
        within.add(place, part)
    within.finish()
    return counts.finished()


@each_real_log
def test_a_log_decompressed_in_chunks_is_the_same_as_whole(log: RealLog) -> None:
    with gzip.open(BytesIO(gzip.compress(log.head, 1))) as stream:
        kept, chunks = b"", []
        while data := stream.read(5000):
            kept += data
            end = log.dialect.cut(kept, len(kept))
            chunks.append(kept[:end])
            kept = kept[end:]
    assert plain(fed(log.dialect, [*chunks, kept], HINTS)) == plain(fed(log.dialect, [log.head], HINTS))


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia"])
def test_a_clock_without_a_zone_is_read_by_that_of_the_machine(zone: str) -> None:
    """Around the hours that are there twice, and those that are not there."""
    (dialect,) = (one for one in NATIVE_DIALECTS if one.name == "openldap-syslog")
    days = ("Jan  1", "Mar 28", "Mar 29", "Apr  4", "Apr  5", "Sep 26", "Oct 24", "Oct 25", "Nov  1", "Dec 31")
    hours = [f"{hour:02}:{minute:02}:{hour:02}" for hour in range(24) for minute in (0, 29, 30, 59)]
    lines = [f"{day} {hour} vm slapd[3]: conn=1 op=0 UNBIND\n" for day in days for hour in hours]
    hints = Hints(year_end=HINTS.year_end, zone=ZoneInfo(zone))
    for line in lines:
        python, native = (scanned(one, dialect, line.encode(), hints) for one in ("python", "native"))
        assert native.first_time == python.first_time, line


def test_a_line_that_is_too_long_is_counted_and_the_next_is_read(tmp_path: Path) -> None:
    line = b"[20/Nov/2026:08:45:20.000000000 +0000] conn=1 op=%d UNBIND\n"
    file = tmp_path / "access"
    with file.open("wb") as stream:
        stream.write(line % 0 + b"x" * 10)
        stream.seek((64 << 20) + 1000)  # a hole: bytes of 0, and no end of a line
        stream.write(b"\n" + line % 1)
    scan = native_scan(named("389-text"))
    read = scan.read(str(file), None, 0, file.stat().st_size, need_native().Watch())
    segment = only_part(scan)
    assert (read.to, read.too_long) == (file.stat().st_size, [len(line % 0)])
    assert (segment.lines, segment.misread, sum(segment.operations)) == (3, 1, 2)


def test_a_file_that_has_shrunk_ends_where_it_ends(tmp_path: Path) -> None:
    line = b"[20/Nov/2026:08:45:20.000000000 +0000] conn=1 op=0 UNBIND\n"
    file = tmp_path / "access"
    file.write_bytes(line * 3)
    scan = native_scan(named("389-text"))
    read = scan.read(str(file), None, 0, 100 * len(line), need_native().Watch())
    assert (read.to, read.shrunk) == (3 * len(line), True)
    assert only_part(scan).lines == 3


def test_a_watch_ends_the_reading(tmp_path: Path) -> None:
    file = tmp_path / "access"
    file.write_bytes(b"[20/Nov/2026:08:45:20.000000000 +0000] conn=1 op=0 UNBIND\n" * 1000)
    watch = need_native().Watch()
    watch.stop()
    assert native_scan(named("389-text")).read(str(file), None, 0, file.stat().st_size, watch).to == 0
