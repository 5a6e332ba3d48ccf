"""Format: one file format of evidence, how to recognise it and how to read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.origin import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The first lines of a file, by which its format is recognised."""

    name: str
    """The file's name. Only files that contain nothing but numbers or times are recognised by it."""
    lines: tuple[str, ...]
    """Complete lines; the last line of the file is included only if the whole file was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A file format. Exactly one format recognises a file; tests ensure that."""

    name: str
    """A short, stable identifier: 'ss', 'netstat', 'ldif'."""
    title: str
    """The noun for such a file in a sentence: 'a socket table of ss'."""
    recognises: Callable[[Head], bool]
    read: Callable[[Document], Iterable[Fact]] | None
    """None: the format contains no evidence for a diagnosis; the title gives the reason."""
