"""Inputs: a file, a member of an archive, a stream, or the answer of a target; one thing to read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from ldapdiag.evidence.origin import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One thing to read."""

    path: str
    """Its name in the report: folder/file."""
    folder: str
    """Distinguishes folders of one name; the last part of it is the host's name."""
    label: str
    """Its name in messages, by which a person finds it."""
    source: Callable[[], BinaryIO] = field(repr=False)
    """Opens it for reading; the caller closes it."""
    named: bool = False
    """True when the operator named this very file."""
    taken: Span | None = None
    """When it was captured, by the clock of the collector; None where that is unknown."""
    asked: str = ""
    """What printed these bytes, for the manifest: `ss -tanoiep on app1`."""
    location: str | None = None
    """The file on this host that holds it, and nothing else; None for what is no regular file."""

    def open(self) -> BinaryIO:
        """Open it for reading; the caller closes it. OSError is the caller's."""
        return self.source()
