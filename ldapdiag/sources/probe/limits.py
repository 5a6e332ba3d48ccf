"""How much a storage probe may write and how long it may take, and when it does not begin."""

from __future__ import annotations

import os
from dataclasses import field
from threading import Event, Lock
from time import monotonic

from ldapdiag.lazy_dataclass import NamedTuple, dataclass

GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeLimits:
    """The limits of one probe."""

    bytes: int = 128 << 20
    """That are written, all together; each measurement frees its own before the next."""
    seconds: float = 30.0
    blocks: int = 150
    """Writes per latency."""
    committers: tuple[int, ...] = (1, 10, 20, 40, 80)
    small_files: int = 2_000
    free_bytes: int = GIB
    """Below which it does not begin, and ends."""
    free_share: float = 0.1
    """The same as a part of the volume."""

    @property
    def step_seconds(self) -> float:
        """Return the time for one measurement: there are eight latencies, the committers and the small files."""
        return self.seconds / (8 + len(self.committers) + 5)


class FreeSpace(NamedTuple):
    """Of a file system, in bytes."""

    free: int
    """Without what is reserved for root."""
    total: int


def free_space(descriptor: int) -> FreeSpace:
    """Return the free space of the file system of an open file; total 0: it reports none."""
    status = os.fstatvfs(descriptor)
    return FreeSpace(status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize)


def low_space(space: FreeSpace, limits: ProbeLimits) -> str:
    """Return why there is too little free space, with the numbers; empty: there is enough."""
    free = _mebibytes(space.free)
    if space.free < limits.free_bytes:
        return f"{free} are free, less than {_mebibytes(limits.free_bytes)}"
    if space.free < limits.free_share * space.total:
        return f"{free} of {_mebibytes(space.total)} are free, less than {100 * limits.free_share:.0f} %"
    return ""


def _mebibytes(size: int) -> str:
    return f"{size >> 20:,} MiB"


@dataclass(slots=True)
class Allowance:
    """What a running probe may still do; used by several threads."""

    limits: ProbeLimits
    stop: Event
    """Set by Ctrl-C."""
    written: int = 0
    ended: str = ""
    """Why nothing more is permitted."""
    _until: float = field(init=False)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        """Start the clock."""
        self._until = monotonic() + self.limits.seconds

    def permits(self, size: int = 0) -> bool:
        """Return whether so many bytes may be written now, and count them; else `ended` has the reason."""
        if self.stop.is_set():
            self.end("it was interrupted")
        elif monotonic() >= self._until:
            self.end(f"the limit of {self.limits.seconds:g} s was reached")
        with self._lock:
            if not self.ended and self.written + size > self.limits.bytes:
                self.end(f"the limit of {_mebibytes(self.limits.bytes)} was reached")
            if not self.ended:
                self.written += size
        return not self.ended

    def end(self, reason: str) -> None:
        """Permit nothing more; the first reason is kept."""
        self.ended = self.ended or reason

    def check_space(self, descriptor: int) -> None:
        """End the probe where the volume has become too full."""
        if reason := low_space(free_space(descriptor), self.limits):
            self.end(reason)
