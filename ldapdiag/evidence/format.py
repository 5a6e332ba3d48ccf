"""Format: one grammar of evidence, how to recognise it and how to read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.origin import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The beginning of a file, enough to tell what it is."""

    name: str
    """The file's name: only a file of bare numbers or times may be known by it."""
    lines: tuple[str, ...]
    """Whole lines; the last one only if the file ends there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One grammar. Exactly one format recognises a file; a test holds them to it."""

    name: str
    """Short and stable: 'ss', 'netstat', 'ldif'."""
    title: str
    """What a file of it is called in a sentence: 'a socket table of ss'."""
    recognises: Callable[[Head], bool]
    read: Callable[[Document], Iterable[Fact]] | None
    """None: known, and of no use to a diagnosis; the title says why."""
