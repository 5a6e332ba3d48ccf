"""Selection of scanners: the native one for the dialects that it supports, the reference for all others."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.logs import native
from ldapdiag.sources.logs.batches import SHRINKS
from ldapdiag.sources.logs.scanning import InProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ldapdiag.sources.logs.log_files import LogFile
    from ldapdiag.sources.logs.scanning import Scanning
    from ldapdiag.sources.logs.streams import Stream

SMALL = 16 << 20
"""Bytes that one process scans in the time that starting worker processes takes."""

MOST_WORKERS = 8
"""More workers only wait for the process that merges, and each needs memory."""


class Scanners:
    """The scanners of a set of files; a context manager that ends the worker processes."""

    def __init__(
        self,
        files: Sequence[LogFile],
        workers: int | None = None,
        scanner: Scanner | None = None,
        meanwhile: Callable[[], object] | None = None,
    ) -> None:
        """Choose scanners by the files; raise NoNativeError if `scanner` is native and not usable.

        `meanwhile` is called once in this thread while other threads scan.
        """
        self._meanwhile = meanwhile
        self._native = native.chosen(scanner) is Scanner.NATIVE
        self._count = workers or min(_cores(), MOST_WORKERS)
        slow = [file for file in files if not self._is_native(file)]
        self._alone = self._count < 2 or _work(slow) < SMALL
        self._started: dict[bool, Scanning] = {}
        self._ending = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    def of(self, stream: Stream) -> Scanning:
        """Return the scanning of a stream, started at its first use."""
        fast = self._is_native(stream.files[0])
        if fast not in self._started:
            self._started[fast] = self._threads() if fast else InProcess() if self._alone else self._workers()
        return self._started[fast]

    def _is_native(self, file: LogFile) -> bool:
        return self._native and native.reads(file.dialect.name)

    def _threads(self) -> Scanning:
        from ldapdiag.sources.logs.threads import Threads  # noqa: PLC0415  import late: a small log needs to start fast

        return Threads(self._count, self._meanwhile)

    def _workers(self) -> Scanning:
        from ldapdiag.sources.logs.workers import Workers  # noqa: PLC0415  import late: multiprocessing is slow

        return self._ending.enter_context(Workers(self._count))


def _work(files: Sequence[LogFile]) -> int:
    """Return the estimated number of (decompressed) bytes to scan."""
    work = 0
    for file in files:
        size = file.input.size_bytes
        if size is None:
            size = 0 if file.last_time is not None else SMALL
        work += size * (SHRINKS if file.input.compressed else 1)
    return work


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
