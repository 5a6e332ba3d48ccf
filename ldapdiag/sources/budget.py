"""A budget: the bytes that may still be read, shared by all who read them at once."""

from __future__ import annotations

from threading import Lock

RUN_BYTES = 1 << 30
"""Of all that the targets of one run say: it is in memory until it is judged or saved."""


class Budget:
    """What is left of a number of bytes."""

    def __init__(self, left: int) -> None:
        self.left = left
        self._lock = Lock()

    def take(self, size: int) -> bool:
        """Take so many bytes out of it; False, and nothing is taken, where fewer are left."""
        with self._lock:
            if size > self.left:
                return False
            self.left -= size
            return True
