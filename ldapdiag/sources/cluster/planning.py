"""Planning: a stream as scan tasks, the same batches as threads scan, in order."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.cluster.executor import installation
from ldapdiag.sources.cluster.scan_tasks import RemoteFile, ScanTask
from ldapdiag.sources.files.open_files import FileRange
from ldapdiag.sources.logs import batches, native
from ldapdiag.sources.logs.access_log import chunks_in, total_bytes
from ldapdiag.sources.logs.batches import Batch, groups
from ldapdiag.sources.logs.chunks import USUAL, KeptOpen, has_byte_ranges
from ldapdiag.sources.logs.merging import Remarks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.logs.chunks import Chunk
    from ldapdiag.sources.logs.log_files import LogFile
    from ldapdiag.sources.logs.period import Period
    from ldapdiag.sources.logs.streams import Stream


class Plan:
    """The tasks of a stream."""

    def __init__(self, stream: Stream, period: Period | None, scanner: Scanner) -> None:
        """`scanner` is the one that workers use, if it reads the dialect."""
        self.stream = stream
        self.remarks: list[tuple[int, Remarks]] = []
        """What planning shows about files, each with the number of the task that is next."""
        reads = scanner is Scanner.NATIVE and native.reads(stream.dialect.name)
        self.scanner = Scanner.NATIVE if reads else Scanner.PYTHON
        self.period = period
        self.bytes = total_bytes(stream.files) or 0
        """As they are stored, compressed or not."""
        self._most = batches.batch_bytes(self.bytes)
        self._planned = 0
        self._files: dict[str, RemoteFile] = {}
        """Of the byte ranges, by their location."""

    def tasks(self) -> Iterator[ScanTask]:
        """Yield the tasks in order; files with byte ranges are looked at meanwhile."""
        whole: list[LogFile] = []
        ranges: list[Chunk] = []
        batch: Batch | None = None
        group = 0
        for file, number in groups(self._files_within()):
            if has_byte_ranges(file):
                if whole:
                    yield self._of_group(whole)
                    whole = []
                for chunk in self._ranges_of(file):
                    if batch is None or not batch.takes(chunk, self._most):
                        if ranges:
                            yield self._of_ranges(ranges)
                        batch, ranges = Batch(chunk.bare), []
                    batch.count(chunk)
                    ranges.append(chunk)
                continue
            if ranges:
                yield self._of_ranges(ranges)
                batch, ranges = None, []
            if whole and number != group:
                yield self._of_group(whole)
                whole = []
            whole.append(file)
            group = number
        yield from (self._of_group(whole) for _ in whole[:1])
        yield from (self._of_ranges(ranges) for _ in ranges[:1])

    def _files_within(self) -> Iterator[LogFile]:
        """Yield the files up to the first one that begins after the period."""
        until = self.period.until if self.period else None
        for file in self.stream.files:
            if until is not None and file.first_time > until:
                return
            yield file

    def _ranges_of(self, file: LogFile) -> Iterator[Chunk]:
        remarks = Remarks()
        self.remarks.append((self._planned, remarks))
        sizes = batches.sizes(self._most) if self.scanner is Scanner.NATIVE else USUAL
        with KeptOpen(1) as kept_open:
            for chunk in chunks_in([file], kept_open, self.period, sizes, remarks):
                if chunk.byte_range is not None and file.input.file_range is not None:
                    path = _absolute(file.input.file_range.location)
                    if path not in self._files:
                        self._files |= _remote(file.input)
                    yield replace(chunk, byte_range=replace(chunk.byte_range, location=path, inode=(0, 0)))
                else:
                    yield chunk

    def _of_ranges(self, chunks: Sequence[Chunk]) -> ScanTask:
        first, last = chunks[0], chunks[-1]
        named = {chunk.byte_range.location for chunk in chunks if chunk.byte_range}
        end = last.at + (last.byte_range.length if last.byte_range else len(last.data))
        return self._task(
            label=f"{first.label}, from byte {first.at:,} to byte {end:,}{_of(first.label, last.label)}",
            files={path: self._files[path] for path in named},
            chunks=tuple(chunks),
            cost=sum(chunk.cost for chunk in chunks),
        )

    def _of_group(self, files: Sequence[LogFile]) -> ScanTask:
        inputs = [file.input for file in files]
        remote: dict[str, RemoteFile] = {}
        for one in inputs:
            with suppress(OSError):  # it becomes a gap when it is read
                remote |= _remote(one)
        first, last, at = inputs[0].label, inputs[-1].label, files[0].part_at
        extent = f"from its beginning to the end{_of(first, last)}"
        if at is not None:
            extent = f"from byte {at:,} to byte {at + (inputs[0].size_bytes or 0):,}"
        return self._task(
            label=f"{first}, {extent}",
            files=remote,
            whole=tuple(replace(file, input=_remotely_opened(file.input)) for file in files),
            cost=sum(one.size_bytes or 0 for one in inputs),
        )

    def _task(self, **more: object) -> ScanTask:
        self._planned += 1
        return ScanTask(versions=installation(), scanner=self.scanner, period=self.period, **more)  # type: ignore[arg-type]


def _of(first: str, last: str) -> str:
    return "" if first == last else f" of {last}"


def is_remotely_readable(file: LogFile) -> bool:
    """Return whether another process can open a file: no stream, no member of an archive, nothing in memory."""
    return base(file.input) is not None


def base(one: Input) -> FileRange | None:
    """Return the file or object below all layers of an input; None if it has no place of its own."""
    below = getattr(one.source, "__self__", None)
    return below if isinstance(below, FileRange) and one.spool is None and not one.below else None


def location_of(file: LogFile) -> str:
    """Return the absolute path or the URL of a file that another process can open."""
    found = base(file.input)
    return "" if found is None else _absolute(found.location) if found.is_local else found.location


def _absolute(path: str) -> str:
    return str(Path(path).absolute())


def _remote(one: Input) -> dict[str, RemoteFile]:
    """Return the file of an input by its path, as it is open here; none for an object. OSError propagates."""
    found = base(one)
    file = found.local_file() if found else None
    path = _absolute(found.location) if found else ""
    return {} if file is None else {path: RemoteFile.of(path, file)}


def _remotely_opened(one: Input) -> Input:
    """Return an input that any process can open, by its absolute path."""
    found = base(one)
    if found is None or not found.is_local:
        return one
    there = replace(found, location=_absolute(found.location))
    ranged = replace(one.file_range, location=there.location) if one.file_range else None
    return replace(one, source=there.stream, file_range=ranged, carrier=None)
