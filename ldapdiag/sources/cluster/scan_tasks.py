"""Scan tasks: parts of a log that a worker reads, as plain values; and what the worker does with them.

A task is one batch of byte ranges, or the files of one group that are read from their beginning (batches.groups; parts
of large objects are such files), so that tasks depend on the logs alone. It has paths and addresses, never a descriptor
or a secret.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.cluster.executor import TaskError, difference, installation
from ldapdiag.sources.files.compressed import packed, unpacked
from ldapdiag.sources.files.open_files import OpenFile
from ldapdiag.sources.logs import batches, native
from ldapdiag.sources.logs.access_log import chunks_in, no_cycles
from ldapdiag.sources.logs.batches import Batch, BatchScan
from ldapdiag.sources.logs.chunks import USUAL, ByteRange, KeptOpen
from ldapdiag.sources.logs.merging import Remarks
from ldapdiag.sources.logs.scanning import ChunkError, Scanned, explained, read_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.sources.logs.chunks import Chunk
    from ldapdiag.sources.logs.log_files import LogFile
    from ldapdiag.sources.logs.period import Period

ONE_MTIME_NS = 2_000_000_000
"""Coarsest resolution of a file's time (FAT), which one side may see and the other not."""
HEAD_BYTES = 1024
"""A file that has grown has the same first bytes; one that has replaced it has not: they contain times."""


class AnotherInstallationError(TaskError):
    """The worker has other versions than the client, or no native scanner."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file as the client has seen it; inodes of a file server may differ between machines."""

    path: str
    bytes: int
    mtime_ns: int
    head: str
    """Digest of its first HEAD_BYTES."""

    @staticmethod
    def of(path: str, file: OpenFile) -> RemoteFile:
        """Return a file that is open here; another one may be at its path by now. OSError propagates to the caller."""
        status = file.status
        return RemoteFile(path, status.st_size, status.st_mtime_ns, _digest(file, status.st_size))

    def opened(self) -> OpenFile | None:
        """Return the file; None if another one is there. It may have grown. OSError propagates to the caller."""
        file = OpenFile(self.path)
        status = file.status
        same = status.st_size == self.bytes and abs(status.st_mtime_ns - self.mtime_ns) <= ONE_MTIME_NS
        grown = status.st_size > self.bytes and status.st_mtime_ns >= self.mtime_ns
        return file if (same or grown) and _digest(file, self.bytes) == self.head else None


def _digest(file: OpenFile, size: int) -> str:
    return hashlib.sha256(file.read_at(0, min(size, HEAD_BYTES))).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanTask:
    """What a worker scans."""

    label: str
    """File and bytes, for messages."""
    versions: dict[str, str]
    """Of the client."""
    scanner: Scanner
    period: Period | None
    files: dict[str, RemoteFile] = field(default_factory=dict)
    """By the location in the byte ranges, or by the path of a whole file."""
    chunks: tuple[Chunk, ...] = ()
    """The byte ranges of one batch."""
    whole: tuple[LogFile, ...] = ()
    """The files of one group, instead of byte ranges."""
    cost: int
    """Bytes of files."""

    @property
    def effort(self) -> int:
        """Return the bytes that are scanned, about."""
        sizes = ((file.input.size_bytes or 0, file.input.compressed) for file in self.whole)
        return sum(size * (batches.SHRINKS if is_packed else 1) for size, is_packed in sizes) or self.cost


@dataclass(slots=True, kw_only=True)
class ScanResult:
    """What a worker returns."""

    parts: list[Scanned] = field(default_factory=list)
    """Results in order, with their counts."""
    remarks: Remarks = field(default_factory=Remarks)
    """About the files of a group."""
    crash: str = ""
    """Why the scan ended before the end of the task."""

    def packed(self) -> bytes:
        """Return it as bytes, whose size Dask knows."""
        return packed(self)

    @staticmethod
    def unpacked(data: bytes) -> ScanResult:
        """Return the result that was packed. It comes from our own task."""
        return cast("ScanResult", unpacked(data))


def check_installation(task: ScanTask) -> None:
    """Raise AnotherInstallationError if this worker has other versions than the client."""
    if found := difference(task.versions, installation()):
        raise AnotherInstallationError(task.label, found)
    if task.scanner is Scanner.NATIVE and (trouble := native.installed()).module is None:
        raise AnotherInstallationError(task.label, trouble.trouble or "no native scanner")


def scan(task: ScanTask) -> bytes:
    """Scan the parts of a task, on a worker; return a packed ScanResult. Raise AnotherInstallationError."""
    check_installation(task)
    with no_cycles():
        return _result(task).packed()


def read(task: ScanTask, result: ScanResult) -> Iterator[Scanned]:
    """Yield the records or counts of a task in order; add remarks to the result. Raise ChunkError."""
    chunks = _chunks(task, result)
    if task.scanner is Scanner.NATIVE:
        yield from _scanned(task, chunks)
    else:
        for chunk in chunks:
            with explained(chunk):
                scanned = read_whole(chunk, task.period)
            yield scanned
    yield from result.parts


def _chunks(task: ScanTask, result: ScanResult) -> Iterator[Chunk]:
    return _carried(task, result) if task.whole else _ranges(task, result)


def _result(task: ScanTask) -> ScanResult:
    result = ScanResult()
    try:
        result.parts += _scanned(task, _chunks(task, result))
    except ChunkError as error:
        result.crash = str(error)
    return result


def _ranges(task: ScanTask, result: ScanResult) -> Iterator[Chunk]:
    """Yield the byte ranges of a task, in files that are opened here."""
    opened: dict[str, OpenFile] = {}
    for chunk in task.chunks:
        found = chunk.byte_range
        if found is None:
            yield chunk
            continue
        remote = task.files[found.location]
        if remote.path not in opened:
            with explained(chunk):
                file = remote.opened()
            if file is None:
                result.parts.append(Scanned(chunk=chunk, replaced=True, ended=True))
                return
            opened[remote.path] = file
        status = opened[remote.path].status
        location = f"/proc/{os.getpid()}/fd/{opened[remote.path].descriptor}"
        inode = (status.st_dev, status.st_ino)
        here = ByteRange(location if Path(location).exists() else remote.path, inode, found.start, found.length)
        yield replace(chunk, byte_range=replace(here, shrunk=found.shrunk))


def _carried(task: ScanTask, result: ScanResult) -> Iterator[Chunk]:
    """Yield the chunks of whole files, which are read from their beginning."""
    for path, remote in task.files.items():
        with suppress(OSError):  # it becomes a gap when it is read
            if remote.opened() is None:
                raise ChunkError(f"{path} was replaced by another file before it was read")
    sizes = batches.sizes(batches.MOST_BYTES) if task.scanner is Scanner.NATIVE else USUAL
    yield from chunks_in(task.whole, KeptOpen(1), task.period, sizes, result.remarks)


def _scanned(task: ScanTask, chunks: Iterator[Chunk]) -> Iterator[Scanned]:
    """Yield the results of chunks in order, up to the one that ends the stream; raise ChunkError."""
    consecutive = _Batches(chunks)
    while (first := consecutive.following) is not None:
        with explained(first), native.guarded():
            scan_of_batch = BatchScan(first.bare, task.period, native.watch(), lambda: False)
            for result in scan_of_batch.results(consecutive.batch()):
                yield result
                if result.ended:
                    return


class _Batches:
    """Chunks by batch, read as they are consumed."""

    def __init__(self, chunks: Iterator[Chunk]) -> None:
        self._chunks = chunks
        self.following = next(chunks, None)
        """The first chunk that is not consumed."""

    def batch(self) -> Iterator[Chunk]:
        """Yield the chunks of the next batch."""
        if self.following is None:
            return
        batch = Batch(self.following.bare)
        while True:
            batch.count(self.following)
            yield self.following
            self.following = next(self._chunks, None)
            if self.following is None or not batch.takes(self.following, batches.MOST_BYTES + batches.SLACK):
                return
