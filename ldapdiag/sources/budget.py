"""Budgets: limit the bytes that several readers together may read or decompress."""

from __future__ import annotations

from threading import Lock

RUN_BYTES = 1 << 30
"""Limit for the answers of all targets of one run, which stay in memory until they are analysed or saved."""


EXCEEDED = "contains more than"
"""How the reason begins if there are more bytes than a budget allows."""


class Budget:
    """The remainder of a number of bytes."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.left = most
        self._lock = Lock()

    @property
    def exceeded(self) -> str:
        """Return the reason why an input with more bytes is not read to its end."""
        return f"{EXCEEDED} {self.most >> 30} GiB; the remainder is not read"

    def take(self, size: int) -> bool:
        """Subtract `size` bytes; return False, and subtract nothing, if fewer are left."""
        with self._lock:
            if size > self.left:
                return False
            self.left -= size
            return True
