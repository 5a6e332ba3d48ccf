"""Allocation: keep freed memory of what was read for the next read, where the C library would give it back each time.

glibc maps large blocks afresh, and the kernel clears their pages: that takes as long as to receive or copy them.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Parameters of mallopt(3)."""
LARGE = 64 << 20


@cache
def keep_freed_memory() -> None:
    """Let the allocator reuse large blocks, once for the process; other C libraries than glibc have no mallopt."""
    import ctypes  # noqa: PLC0415  import late: a small log needs none

    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        for parameter in (MMAP_THRESHOLD, TRIM_THRESHOLD):
            library.mallopt(parameter, LARGE)
