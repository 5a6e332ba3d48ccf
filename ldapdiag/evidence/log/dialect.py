"""Dialect: one grammar of access logs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.log.scan import Scan


def cut_at_line(data: bytes, at: int) -> int:
    """Return the end of the last whole line that ends at or before `at`; 0 if there is none."""
    return data.rfind(b"\n", 0, at) + 1


class Scanner(StrEnum):
    """Who reads the records of a log. Both say the same of it."""

    PYTHON = "python"
    """The reference, for every dialect."""
    NATIVE = "native"
    """The same in Rust, for the dialects where speed matters."""

    @classmethod
    def of(cls, used: Iterable[Scanner]) -> Scanner:
        """Return whom to name for several logs: the native one, if it read any."""
        return cls.NATIVE if cls.NATIVE in set(used) else cls.PYTHON


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One grammar. Exactly one dialect recognises a log."""

    name: str
    """Short and stable; `dialect` in the JSON."""
    family: Family
    recognises: Callable[[bytes], bool]
    """Tells by the first bytes of a file."""
    scan: Callable[[bytes, Scan], None]
    """Reads whole records."""
    cut: Callable[[bytes, int], int] = cut_at_line
    """Returns where the last whole record ends at or before a place; 0 if there is none."""
    anywhere: bool = True
    """`cut` tells it from the two bytes at the border: a file can be cut without reading what comes before."""

    def __reduce__(self) -> tuple[object, ...]:
        from ldapdiag.evidence.log.dialects import named  # noqa: PLC0415  that module lists the dialects, this one says what one is

        return named, (self.name,)
