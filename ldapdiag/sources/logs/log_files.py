"""Log files: recognise access logs by content, and sample the times and marks that determine their order."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.evidence.log.date_order import date_order
from ldapdiag.evidence.log.dialects import recognise
from ldapdiag.evidence.log.line_envelopes import refusal
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.evidence.log.syslog import TRADITIONAL
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.files.first_bytes import beginning_of, closed_archive
from ldapdiag.sources.files.input import HEAD_BYTES, Input
from ldapdiag.sources.files.unreadable import unreadable
from ldapdiag.sources.logs.interleaving import Concurrent, concurrent_writers
from ldapdiag.sources.logs.log_inputs import as_text, log_inputs
from ldapdiag.sources.logs.period import TAIL_BYTES, end_of, lines_of, place_of, samples_of
from ldapdiag.sources.logs.records import Records
from ldapdiag.sources.logs.samples import MOST_MARKS, ExportSampler, Sample, sample, sample_of, sample_of_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import tzinfo

    from ldapdiag.evidence.host_facts import EventThresholds
    from ldapdiag.evidence.log.date_order import DateOrder, Stamp
    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.scan import Scan
    from ldapdiag.sources.files.input import Found
    from ldapdiag.sources.files.open_files import FileRange
    from ldapdiag.sources.logs.separating import Server

NotALog = Gap | PassedOver
"""Why an input is not read: it is unreadable (Gap) or not an access log (PassedOver)."""

SAMPLED_BYTES = 1 << 13
SAMPLED_LINES = 32
"""Limits of what shows the times of a file at its beginning and at its end; HEAD_BYTES show the marks of a log."""

MOST_HEAD_BYTES = 1 << 20
"""Bytes searched for the opening of a connection; without one, the marks of a log are its operations."""

EMPTY = "is an empty file"

AS_XML = 'export the events as XML (wevtutil qe "Directory Service" /f:xml)'
CONTRADICTORY = (
    "has dates of two cultures: in some the day comes first and in others the month, so that none like {} can be read; "
    f"{AS_XML}, or those of each server into a file of its own"
)
USUAL = (
    "{} has dates like {}, and none shows whether the day or the month comes first; they are read with the {} first, "
    "as such times are mostly written. If its days are wrong, " + AS_XML
)

REGISTRY = b"\\Services\\"
"""In the head of an export that may have thresholds."""
MOST_OF_HEADER = 1 << 12

MARKS_WITHIN = 5_000
"""Limit of marks from the middle of a log that is compared with the beginning of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """A recognised log file."""

    input: Input
    """Without its head."""
    dialect: Dialect
    hints: Hints
    head: Sample
    """A sample of its first records; of a file that can be read again only so many that its times are known."""
    last_time: int | None
    """Time of the last record; None if only reading the whole file would show it."""
    concurrent: Concurrent = Concurrent()
    """The servers whose lines alternate in it."""
    together: str = ""
    """Why they are read as one, as the end of a sentence; empty if there is only one at a time."""
    server: Server | None = None
    """The server in the file of several whose lines these are; None: all lines of the file are read."""
    turns: tuple[tuple[int, int], ...] = ()
    """(offset, fold): from which record on an hour that the clock shows twice is the second one (1) or the first."""
    note: str = ""
    """A sentence on the part of its beginning that is not read, or on how its dates are; else empty."""
    part_at: int | None = None
    """Offset in its object, if it is a part of one (chunks.parts_of)."""

    @property
    def path(self) -> str:
        """The name in the report."""
        return self.input.path

    @property
    def first_time(self) -> int:
        """Time of the first record."""
        return self.head.first_time

    def may_be_of_one_server(self, other: LogFile) -> bool:
        """Return whether the lines of two files may be of one server, if one of them shares its file with others.

        A restart between two files changes the process, so that of a host with several servers is another one then.
        """
        servers = [one for one in (self.server, other.server) if one]
        mine, theirs = ((one.server.writers if one.server else one.concurrent.seen) for one in (self, other))
        if not servers or not mine or not theirs or mine & theirs:
            return True
        return not any(one.by_process for one in servers) and bool(
            {one[0] for one in mine} & {one[0] for one in theirs}
        )

    def begins_like(self, other: LogFile, here: Sample | None = None) -> bool:
        """Return whether another file begins with the same records as this one, or as its records of a sample.

        Lines of syslog of one record have one process, and in one dialect all of its answer. The processes that were
        seen are those of the beginning and others, so that in the middle of a log they say nothing.
        """
        here = here or self.head
        mine, theirs = ({process for _, process in one.concurrent.seen if process} for one in (self, other))
        if here is self.head and mine and theirs and mine.isdisjoint(theirs):
            return False
        return bool(here.agrees(other.head)) and not (self.dialect == other.dialect and here.contradicts(other.head))

    def hints_at(self, offset: int) -> Hints:
        """Return the hints of the records from an offset of the log on."""
        fold = next((fold for turn, fold in reversed(self.turns) if turn <= offset), self.hints.fold)
        return self.hints if fold == self.hints.fold else replace(self.hints, fold=fold)

    def pieces(self, data: bytes, offset: int) -> Iterator[tuple[bytes, Hints]]:
        """Yield records of the log, from an offset of it on, in pieces with the same hints."""
        at = offset
        for turn, _ in (*self.turns, (offset + len(data), 0)):
            if at < turn <= offset + len(data):
                yield data[at - offset : turn - offset], self.hints_at(at)
                at = turn

    def without(self, size: int) -> LogFile:
        """Return the description of the same log without its first `size` bytes."""
        turns = tuple((turn - size, fold) for turn, fold in self.turns if turn > size)
        return replace(self, hints=self.hints_at(size), turns=turns)

    def with_marks(self) -> LogFile:
        """Return the log with a sample of so many first records that its marks are known. OSError propagates."""
        found, head = self.input.file_range, self.head
        if found is None:
            return self
        for size in (HEAD_BYTES, MOST_HEAD_BYTES):
            data = found.read_at(found.start, size)
            head = sample_of(self.dialect, self.pieces(_whole(self.dialect, data), 0)) or head
            if head.openings or len(data) < size:
                break
        return replace(self, head=head)

    def with_period(self) -> LogFile:
        """Return an export with the period of all its events, which are in any order. OSError propagates."""
        if not self.dialect.is_export or self.input.spool is not None:
            return self
        sampler, records = ExportSampler(self.hints, MOST_MARKS), Records(self.dialect)
        with self.input.open() as opened:
            while data := opened.read(MOST_HEAD_BYTES):
                self.dialect.scan(records.whole(data), cast("Scan", sampler))
        self.dialect.scan(records.remainder(), cast("Scan", sampler))
        found = sampler.sample()
        return self if found is None else replace(self, head=found, last_time=found.last_time)

    def samples_at(self, time: int) -> Iterator[Sample]:
        """Yield samples of the records around a time; none if that requires reading all records before it.

        The first records come first; where they end shortly after the time, they have nothing to compare.
        """
        if self.head.first_time <= time <= self.head.last_time:
            yield self.head
        low, found = self.offset_of(time), self.input.file_range
        if low is not None and found is not None and (there := self.sample_from(found, low)):
            yield there

    def offset_of(self, time: int) -> int | None:
        """Return an offset shortly before the first record at a time; None if random access is impossible."""
        if self.input.file_range is None:
            return None
        low, high = self.input.file_range.bounds()
        if time <= self.head.last_time:
            return low
        while high - low > TAIL_BYTES:
            middle = (low + high) // 2
            found = self.input.file_range
            sampled = self.sample_from(found, middle, TAIL_BYTES // 4) or self.sample_from(found, middle)
            if sampled is None:
                return None
            low, high = (middle, high) if sampled.first_time < time else (low, middle)
        return low

    def sample_from(self, found: FileRange, offset: int, size: int = 2 * TAIL_BYTES) -> Sample | None:
        """Return a sample of the records from the first line break after an offset on; None if none has a time."""
        data = found.read_at(offset, size)
        begin = data.find(b"\n") + 1 if offset != found.start else 0
        log = self.input.file_range or found
        pieces = self.pieces(_whole(self.dialect, data[begin:]), offset + begin - log.start)
        return sample_of(self.dialect, pieces, MARKS_WITHIN)


class NotYet(PassedOver):
    """A file that has no record yet and can be followed."""


def find_logs(
    named: Iterable[str], zone: tzinfo | None = None, *, is_followed: bool = False
) -> Iterator[LogFile | NotALog]:
    """Yield the access logs among the named inputs, and the reasons for all others.

    `zone` applies to timestamps without one. Of a file into which several servers write, the lines of each are a log,
    unless it `is_followed`.
    """
    for name in named:
        for one in log_inputs(name):
            yield from logs_or_reason(one, zone, is_followed=is_followed)


def logs_or_reason(
    one: Found, zone: tzinfo | None = None, dialect: Dialect | None = None, *, is_followed: bool = False
) -> Iterator[LogFile | NotALog]:
    """Yield the logs in an input, or the reason why it is none; `dialect` saves recognising it again."""
    if not isinstance(one, Input):
        yield one
        return
    try:
        file = log_file(one, zone, dialect)
        yield from (file,) if is_followed or isinstance(file, NotALog) else by_server(file)
    except OSError as error:
        yield unreadable(one.label, error)


def by_server(file: LogFile) -> Sequence[LogFile | NotALog]:
    """Return a log, or the lines of each server in it as a log. OSError propagates to the caller."""
    several = bool(file.concurrent.writers)
    if not several and not (file.dialect.is_export and file.concurrent.seen):
        return (file,)
    if file.input.spool is not None:
        return (replace(file, together="a stream is not read more than once" if several else ""),)
    from ldapdiag.sources.logs.separating import MOST_SERVERS, separated  # noqa: PLC0415  import late: most logs have one

    found = separated(file.input, file.dialect, file.hints, file.concurrent.level)
    if len(found) > MOST_SERVERS:
        return (replace(file, together=f"at most {MOST_SERVERS} are read separately"),)
    if len(found) < 2:
        return (replace(file, concurrent=Concurrent(), together=""),)
    return tuple(_of_server(file, server, lines) for server, lines in found)


def _of_server(file: LogFile, server: Server, lines: Input) -> LogFile | NotALog:
    """Return the lines of a server in a file as a log, or why they are none. OSError propagates to the caller."""
    own = _sampled(lines.with_head(), file.dialect, file.hints, file.note)
    if not isinstance(own, LogFile):
        return own
    last_time = own.last_time if own.last_time is not None else server.last_time
    named = replace(own.input, path=f"{own.input.path} ({server.name})")
    return replace(own, input=named, last_time=last_time, server=server)


def _thresholds(found: Input) -> EventThresholds | None:
    """Return the thresholds of events 1644 in an export of the registry; None for another file, or a longer one."""
    if REGISTRY not in found.head or len(found.head) >= HEAD_BYTES:
        return None
    from ldapdiag.evidence.document import Document  # noqa: PLC0415  import late: most logs have none beside them
    from ldapdiag.evidence.formats import head_of  # noqa: PLC0415
    from ldapdiag.evidence.host_formats import windows_registry  # noqa: PLC0415

    if not windows_registry.recognises(head_of(found.name, found.head, whole=True)):
        return None
    lines = found.head.decode(errors="replace").splitlines()
    return next(iter(windows_registry.read(Document(path=found.label, source=lines))))


def log_file(found: Input, zone: tzinfo | None = None, dialect: Dialect | None = None) -> LogFile | NotALog:
    """Return an input as a log file, with the lines of all servers in it, or the reason why it is not one.

    `dialect` saves recognising it again. OSError propagates to the caller.
    """
    if not found.head:
        with found.open() as opened:
            trouble = "" if opened.read(1) else opened.trouble()
        return Gap(target=found.label, reason=trouble) if trouble else _without_record(found, EMPTY)
    if closed := closed_archive(found.head):
        return PassedOver(target=found.label, reason=closed)
    text = as_text(found)
    if isinstance(text, PassedOver):
        return text
    found, note = text
    head = lines_of(found.head[:HEAD_BYTES])
    dialect = dialect or recognise(head)
    if dialect is None:
        reason = refusal(found.head) or f"is not an access log ({beginning_of(found.head)})"
        if _is_header_only(found.head):
            return _without_record(found, reason)
        return PassedOver(target=found.label, reason=reason, thresholds=_thresholds(found))
    year_end = found.taken.end if found.taken else found.changed
    hints = Hints(year_end=year_end) if zone is None else Hints(year_end=year_end, zone=zone)
    if dialect.stamps is not None:
        order, example = _date_order(found, dialect, dialect.stamps)
        if not order.readings:
            return PassedOver(target=found.label, reason=CONTRADICTORY.format(example))
        hints = replace(hints, day_first=order.day_first)
        if order.is_usual and example:
            note = note or USUAL.format(found.label, example, "day" if order.day_first else "month")
    file = _sampled(found, dialect, hints, note)
    if not isinstance(file, LogFile):
        return file
    within = found.carrier.envelopes if found.carrier else ()
    concurrent = concurrent_writers(dialect, samples_of(found, head), within, file.hints)
    together = "they are not separated while it is followed" if concurrent.writers else ""
    return replace(file, concurrent=concurrent, together=together)


def _date_order(found: Input, dialect: Dialect, stamps_in: Callable[[bytes], Iterator[Stamp]]) -> tuple[DateOrder, str]:
    """Return whether 05/11 is the fifth of November in a file, and a date in it. OSError propagates to the caller."""
    example = ""

    def stamps() -> Iterator[Stamp]:
        nonlocal example
        records = Records(dialect)
        with found.open() as opened:
            data = opened.read(HEAD_BYTES)
            while data:
                for stamp in stamps_in(records.whole(data)):
                    example = example or f"{stamp[0]:02}/{stamp[1]:02}/{stamp[2]}"
                    yield stamp
                data = opened.read(HEAD_BYTES)
        yield from stamps_in(records.remainder())

    return date_order(stamps()), example


def _sampled(found: Input, dialect: Dialect, hints: Hints, note: str) -> LogFile | NotALog:
    """Return a log file with samples of its first and last records."""
    found, head, sampled = _head_sample(found, dialect, hints)
    if sampled is None:
        from ldapdiag.evidence.log.local_times import unread_time  # noqa: PLC0415  import late: most logs have records

        why = unread_time(head)
        return _without_record(found, f"is a log ({dialect.name}) without a usable record{why and '; its '}{why}")
    file = LogFile(
        input=replace(found.without_head(), budget=None),
        dialect=dialect,
        hints=hints,
        head=sampled,
        last_time=sampled.last_time if _is_all(found, head) else _last_time(found, dialect, hints),
        note=note,
    )
    if dialect.name != TRADITIONAL.name:
        return file
    knows_end = place_of(found) is not None or _is_all(found, head)
    dated = _dated(file, end_of(found, TAIL_BYTES) if knows_end else b"")
    is_same = dated.hints == file.hints and not dated.turns
    return file if is_same else _sampled_again(dated, found, head)


def _head_sample(found: Input, dialect: Dialect, hints: Hints) -> tuple[Input, bytes, Sample | None]:
    """Return an input, its first bytes and a sample of them, with marks unless the file can be read again for them."""
    can_wait = found.file_range is not None
    sampled_by = sample_of_times if can_wait else sample
    few = b"\n".join([*found.head[:SAMPLED_BYTES].split(b"\n", SAMPLED_LINES)[:SAMPLED_LINES], b""])
    for size in (*([len(few)] if can_wait else []), HEAD_BYTES, MOST_HEAD_BYTES):
        found = found.with_head(size) if size > HEAD_BYTES else found
        head = found.head[:size]
        sampled = sampled_by(dialect, _whole(dialect, head), hints)
        if _is_all(found, head) or (sampled and (can_wait or sampled.openings)):
            break
    return found, head, sampled


def _dated(file: LogFile, tail: bytes) -> LogFile:
    """Return a log file with what the order of its records shows: the year of the last ones, the turns of its clock.

    `tail` is empty if only reading the whole file would show it.
    """
    from ldapdiag.evidence.log.repeated_hours import (  # noqa: PLC0415  import late: most logs have the year and the zone
        last_time,
        repeated_hours,
        second_time,
    )

    written = file.hints.year_end
    if written is None:
        return file
    hints = replace(file.hints, year_end=min(written, last_time(tail, file.hints) or written))
    turns: list[tuple[int, int]] = []
    for hour in repeated_hours(hints.zone, file.first_time, hints.year_end or written):
        with suppress(OSError):  # reported when the file is read
            turns += second_time(_blocks(file, hour.begin), hour, hints, written)
    return replace(file, hints=hints, turns=tuple(turns))


def _blocks(file: LogFile, time: int) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines with their offsets in the log, from before a time on."""
    found = file.input.file_range
    at = (file.offset_of(time) or found.start) - found.start if found else 0
    rest = b""
    with (file.input.after(at) if found else file.input).open() as opened:
        while data := opened.read(HEAD_BYTES):
            data = rest + data
            end = data.rfind(b"\n") + 1
            if end:
                yield at, data[:end]
            at, rest = at + end, data[end:]
            if file.input.spool and not file.input.spool.always_keeps(at + 2 * HEAD_BYTES):
                return
    if rest:
        yield at, rest


def _sampled_again(file: LogFile, found: Input, head: bytes) -> LogFile:
    """Return a log file with the times that its records have since its hints or turns have changed."""
    sampled = sample_of(file.dialect, file.pieces(_whole(file.dialect, head), 0)) or file.head
    last_time = sampled.last_time if _is_all(found, head) else file.last_time
    if found.file_range is not None and not _is_all(found, head):
        start, end = found.file_range.bounds()
        tail = file.sample_from(found.file_range, max(start, end - TAIL_BYTES))
        last_time = tail.last_time if tail else last_time
    return replace(file, head=sampled, last_time=last_time)


def _is_all(found: Input, head: bytes) -> bool:
    return found.is_whole and len(found.head) == len(head)


def _is_header_only(head: bytes) -> bool:
    """Return whether all whole lines are empty or begin with a tab, as the header of each 389-ds file does."""
    whole = head.split(b"\n")[:-1]
    return len(head) < MOST_OF_HEADER and all(not line or line.startswith(b"\t") for line in whole)


def _without_record(found: Input, reason: str) -> PassedOver:
    grows = found.file_range is not None and found.file_range.length is None
    return NotYet(target=found.label, reason=reason) if grows else PassedOver(target=found.label, reason=reason)


def _last_time(found: Input, dialect: Dialect, hints: Hints) -> int | None:
    """Return the time of the last record; None if only reading the whole file would show it."""
    if place_of(found) is None and (found.compressed or not found.is_whole):
        return None
    for size in (SAMPLED_BYTES, TAIL_BYTES, 16 * TAIL_BYTES):
        lines = end_of(found, size)
        few = lines.rsplit(b"\n", SAMPLED_LINES + 1)[-SAMPLED_LINES - 1 :] if size == SAMPLED_BYTES else [lines]
        if sampled := sample_of_times(dialect, b"\n".join(few), hints):
            return sampled.last_time
    return None


def _whole(dialect: Dialect, data: bytes) -> bytes:
    """Return the whole records; all data if there is none."""
    return data[: dialect.cut(data, len(data))] or data
