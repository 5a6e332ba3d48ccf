"""Selection of scanners: the native one for the dialects that it supports, the reference for all others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.logs import native
from ldapdiag.sources.logs.scanning import InOrder

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldapdiag.sources.logs.scanning import Scanning
    from ldapdiag.sources.logs.streams import Stream

MOST_THREADS = 8
"""More threads only wait for the one that merges, and each needs memory."""


class Scanners:
    """The scanners of a set of streams."""

    def __init__(
        self,
        threads: int | None = None,
        scanner: Scanner | None = None,
        meanwhile: Callable[[], object] | None = None,
    ) -> None:
        """Choose a scanner; raise NoNativeError if `scanner` is native and not usable.

        `meanwhile` is called once in this thread while other threads scan.
        """
        self._meanwhile = meanwhile
        self._native = native.chosen(scanner) is Scanner.NATIVE
        self._count = threads or min(_cores(), MOST_THREADS)
        self._started: dict[bool, Scanning] = {}

    def of(self, stream: Stream) -> Scanning:
        """Return the scanning of a stream, started at its first use."""
        fast = self._native and native.reads(stream.dialect.name)
        if fast not in self._started:
            self._started[fast] = self._threads() if fast else InOrder()
        return self._started[fast]

    def _threads(self) -> Scanning:
        from ldapdiag.sources.logs.threads import Threads  # noqa: PLC0415  import late: a small log needs to start fast

        return Threads(self._count, self._meanwhile)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
