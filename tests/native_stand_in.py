"""What `ldapdiag_native` offers, by the reference: for tests of what is done with it when there is trouble.

Its buffer is small, and it grows heavy soon.
"""

from __future__ import annotations

import os
import sys
from io import FileIO
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.log.dialects import GRAMMAR_VERSION, named
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.sources.logs import native
from ldapdiag.sources.logs.period import Period, Place, WholeRecords
from ldapdiag.sources.logs.records import whole_lines
from ldapdiag.sources.logs.stream_counts import ReferenceCounts

if TYPE_CHECKING:
    import pytest

    from ldapdiag.evidence.log.segment import Segment

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


class Part(WholeRecords):
    """Records that it has taken, which it calls a Segment."""

    is_state = False

    def reset_counts(self) -> None:
        object.__setattr__(self, "is_state", True)


class Counts(ReferenceCounts):
    """The counts of a stream, which it calls a Segment, too."""

    def __init__(self, _: dict[str, int]) -> None:
        super().__init__()

    def merge(self, part: Any) -> None:
        if part.is_state:
            self.merge_state(part)
        else:
            super().merge(part)

    def finished(self, **_: bool) -> Segment:
        return super().finished(goes_on=True)


class Scan:
    def __init__(self, dialect: str, *, since: int | None = None, until: int | None = None, **_: Any) -> None:
        self._dialect = named(dialect)
        self._period = Period(since, until)
        self._parts: list[tuple[Place, bytes]] = []
        self._bytes = 0

    def feed(self, data: bytes) -> None:
        data = whole_lines(data)
        self._bytes += len(data)
        for place, some in self._period.divide(self._dialect, data, Hints()):
            if self._parts and self._parts[-1][0] is place:
                self._parts.append((place, self._parts.pop()[1] + some))
            else:
                self._parts.append((place, some))

    def read(self, location: str, inode: tuple[int, int], start: int, end: int, watch: Watch) -> Read:
        with FileIO(location) as stream:
            status = os.fstat(stream.fileno())
            if inode != (status.st_dev, status.st_ino):
                return Read(None)
            while start < end and not (watch.stopped or self.is_heavy):
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

    def take(self) -> list[tuple[Place, Part]]:
        self._bytes, parts, self._parts = 0, self._parts, []
        return [(place, Part(self._dialect, data, Hints())) for place, data in parts]


def put_in(monkeypatch: pytest.MonkeyPatch, **other: object) -> None:
    """Let it stand in for the native scanner; `other` is what it should have instead."""
    module = ModuleType("ldapdiag_native")
    classes = {"Scan": Scan, "Segment": Counts, "Watch": Watch}
    has = {"GRAMMAR_VERSION": GRAMMAR_VERSION, "DIALECTS": ("389-text",), **classes}
    vars(module).update(has | other)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(native, "segment_of", lambda piece, _: piece)
    monkeypatch.setattr(native, "installed", getattr(native.installed, "__wrapped__", native.installed))
