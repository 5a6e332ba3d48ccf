"""What `ldapdiag_native` offers, by the reference: for tests of what is done with it when there is trouble.

Its buffer is small, and it grows heavy soon.
"""

from __future__ import annotations

import os
import sys
from io import FileIO
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.dialects import GRAMMAR_VERSION, named, scan_chunk
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.evidence.log.merge import merge
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.sources.logs import native
from ldapdiag.sources.logs.period import Period
from ldapdiag.sources.logs.records import whole_lines

if TYPE_CHECKING:
    import pytest

BUFFER = 5_000
HEAVY = 20_000


class Watch:
    read = 0
    stopped = False

    def stop(self) -> None:
        self.stopped = True


class Read:
    def __init__(self, to: int | None, *, shrunk: bool = False) -> None:
        self.to = to
        self.shrunk = shrunk
        self.too_long: list[int] = []


class Scan:
    def __init__(self, dialect: str, *, since: int | None = None, until: int | None = None, **_: Any) -> None:
        self._dialect = named(dialect)
        self._period = Period(since, until)
        self._pieces: list[Segment | None] = [None, None]
        self._bytes = 0
        self.is_over = False

    def feed(self, data: bytes) -> None:
        data = whole_lines(data)
        self._bytes += len(data)
        before, within, self.is_over = self._period.divide(self._dialect, data, Hints())
        if within:
            self._period = Period(None, self._period.until)
        for number, some in enumerate((before, within)):
            if some:
                piece, total = scan_chunk(self._dialect, some), self._pieces[number]
                self._pieces[number] = piece if total is None else merge(total, piece)

    def read(self, location: str, inode: tuple[int, int], start: int, end: int, watch: Watch) -> Read:
        with FileIO(location) as stream:
            status = os.fstat(stream.fileno())
            if inode != (status.st_dev, status.st_ino):
                return Read(None)
            while start < end and not (watch.stopped or self.is_heavy or self.is_over):
                stream.seek(start)
                data = stream.read(min(BUFFER, end - start)) or b""
                watch.read += len(data)
                if len(data) < min(BUFFER, end - start):
                    self.feed(data)
                    return Read(start + len(data), shrunk=True)
                whole = data if start + len(data) == end else data[: data.rfind(b"\n") + 1]
                self.feed(whole)
                start += len(whole)
        return Read(start)

    @property
    def is_heavy(self) -> bool:
        return self._bytes > HEAVY

    def take(self) -> tuple[Segment | None, ...]:
        self._bytes, pieces, self._pieces = 0, self._pieces, [None, None]
        return tuple(pieces)


def put_in(monkeypatch: pytest.MonkeyPatch, **other: object) -> None:
    """Let it stand in for the native scanner; `other` is what it should have instead."""
    module = ModuleType("ldapdiag_native")
    has = {"GRAMMAR_VERSION": GRAMMAR_VERSION, "DIALECTS": ("389-text",), "Scan": Scan, "Watch": Watch}
    vars(module).update(has | other)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(native, "segment_of", lambda piece, _: piece)
    monkeypatch.setattr(native, "installed", getattr(native.installed, "__wrapped__", native.installed))
