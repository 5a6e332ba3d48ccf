"""Dialect: one grammar of access logs."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.log.date_order import Stamp
    from ldapdiag.evidence.log.scan import Scan


def cut_at_line(data: bytes, at: int) -> int:
    """Return the end of the last whole line that ends at or before `at`; 0 if there is none."""
    return data.rfind(b"\n", 0, at) + 1


class Scanner(StrEnum):
    """The implementation that reads a log. Both give the same result."""

    PYTHON = "python"
    """The reference, for every dialect."""
    NATIVE = "native"
    """The same in Rust, for the most frequent dialects."""

    @classmethod
    def of(cls, used: Iterable[Scanner]) -> Scanner:
        """Return the scanner to report for several logs: the native one, if it read any."""
        return cls.NATIVE if cls.NATIVE in set(used) else cls.PYTHON


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A grammar. The lines of a log belong to one dialect, except those that a client has forged."""

    name: str
    """Short and stable; `dialect` in the JSON."""
    family: Family
    recognised: Callable[[bytes], int]
    """Returns how many of the first lines of a file are of this dialect."""
    scan: Callable[[bytes, Scan], None]
    """Reads whole records."""
    cut: Callable[[bytes, int], int] = cut_at_line
    """Returns the end of the last whole record that ends at or before a position; 0 if there is none."""
    anywhere: bool = True
    """`cut` needs only the two bytes at the position, so a file can be cut without reading it from the start."""
    is_export: bool = False
    """Events that another program exported: each names its host, and the newest may be the first."""
    stamps: Callable[[bytes], Iterator[Stamp]] | None = None
    """Yields the dates that may be read in two ways; None: there are none."""
    times: Callable[[bytes, Scan], Iterator[int]] | None = None
    """Yields when whole records were written, and reads the header; None: only `scan` shows it, which takes longer."""
