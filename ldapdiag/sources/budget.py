"""A budget: the bytes that may still be read or decompressed, shared by all readers that draw on it."""

from __future__ import annotations

from threading import Lock

RUN_BYTES = 1 << 30
"""Of the answers of all targets of one run: they are in memory until they are judged or saved."""


class Budget:
    """The remainder of a number of bytes."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.left = most
        self._lock = Lock()

    def take(self, size: int) -> bool:
        """Take so many bytes out of it; False, and nothing is taken, where fewer are left."""
        with self._lock:
            if size > self.left:
                return False
            self.left -= size
            return True
