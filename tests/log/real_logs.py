"""Real logs that the native scanner reads, known by their content: our captures, the shared corpus; and the vectors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from conftest import CAPTURES, CORPUS
from ldapdiag.evidence.log.dialects import named, recognise
from log.cuts import text
from log.scanners import NATIVE
from log.vectors import LOGS as VECTORS

if TYPE_CHECKING:
    from ldapdiag.evidence.log.dialect import Dialect

LARGEST = 4 << 20
HEAD = 150_000
"""Bytes of which every cut is worth a look."""
NO_LOGS = {".html", ".md", ".pcap", ".png", ".py", ".sh", ".xz", ".zip"}

EXCERPTS = {
    "opendj-docs-joined.access": "examples of several manuals, of which some end a connection before they bind it",
    "389-1.2-wiki-audit-events.access": "examples of events, each of which opens the connections of another again",
    "ping-summarize-text.access": "a line of each kind, and all of connection 1, which is closed again and again",
    "389-1.3-wiki-console-login.access": "three examples, whose connections have the same numbers",
    "389-3.x-wiki-json-pretty.access.json": "an object of each kind, of many servers' connection 1",
}
"""Documentation, not what a server wrote: a number is opened again, which the native scanner sees by its cuts."""


@dataclass(frozen=True)
class RealLog:
    """A log, and what it is written in."""

    path: Path
    dialect: Dialect

    def __str__(self) -> str:
        return "/".join(self.path.parts[-3:])

    @property
    def data(self) -> bytes:
        """All of it."""
        return text(self.path)

    @cached_property
    def head(self) -> bytes:
        """Its first records, or all of a small log."""
        size = len(self.data)
        return self.data if size <= HEAD else self.data[: self.dialect.cut(self.data, HEAD)]

    @cached_property
    def ends(self) -> list[int]:
        """Where records of the head end: the places where it may be cut."""
        found, at = set(), 0
        while at := self.head.find(b"\n", at) + 1:
            found.add(self.dialect.cut(self.head, min(at + 1, len(self.head))))
        return sorted(found - {0, len(self.head)})


def _found() -> list[RealLog]:
    files = (path for root in (CAPTURES, CORPUS) for path in sorted(root.rglob("*")) if path.is_file())
    logs = {log.data: log for path in files if (log := _native(path))}
    return list(logs.values())


def _native(path: Path) -> RealLog | None:
    if path.name in EXCERPTS or path.suffix in NO_LOGS or path.stat().st_size > LARGEST:
        return None
    try:
        dialect = recognise(text(path)[:8_192])
    except (OSError, EOFError):
        return None
    return RealLog(path, dialect) if dialect and dialect.name in NATIVE else None


REAL_LOGS = _found()
ALL_LOGS = [*REAL_LOGS, *(RealLog(path, named(path.parent.name)) for path in VECTORS)]
