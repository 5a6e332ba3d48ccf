"""Progress: what is being read and asked, on stderr, and only where a person watches."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from math import ceil
from typing import TYPE_CHECKING

from ldapdiag.report.encodable import make_encodable
from ldapdiag.report.neutral import neutral

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.progress import Progress, TaskID
    from rich.status import Status

    from ldapdiag.evidence.bundle import Gap

WIDTH = 28
"""Columns for a target's name, before what it said."""


class Watched:
    """A line for each target, which stays, and one for what goes on just now."""

    def __init__(self, console: Console, status: Status) -> None:
        self.console = console
        self.status = status

    def __call__(self, path: str) -> None:
        """Show the file that is read."""
        self._now(f"reading {path}")

    def answered(self, target: str, told: str, seconds: float, gap: Gap | None = None) -> None:
        """Leave a line on what a target said, and behind it the first that it did not."""
        lacking = ""
        if gap:
            of = "" if gap.target == target else f"{gap.target}: "
            lacking = f"; but {of}{gap.reason}{_advice(gap)}"
        self._line(target, f"✔ {told}", f"{seconds:.1f} s{lacking}")

    def failed(self, gap: Gap) -> None:
        """Leave a line on why a target said nothing, and what to try."""
        self._line(gap.target, f"✘ {gap.reason}{_advice(gap)}", "")

    def waiting(self, seconds: float) -> None:
        """Show for how long nothing will happen."""
        self._now(f"second look in {ceil(seconds)} s")

    def _now(self, text: str) -> None:
        from rich.text import Text  # noqa: PLC0415  import late

        self.status.update(Text(neutral(text), no_wrap=True, overflow="ellipsis"))

    def _line(self, target: str, told: str, aside: str) -> None:
        from rich.text import Text  # noqa: PLC0415  import late

        line = f"{neutral(target):{WIDTH}} {neutral(told)}  {neutral(aside)}".rstrip()
        self.console.print(Text(line), soft_wrap=True)


def _advice(gap: Gap) -> str:
    return f". {gap.how}" if gap.how else ""


@contextmanager
def reading() -> Iterator[Watched | None]:
    """Yield who is to hear of progress, None where nobody watches; its line of the moment is gone at the end."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415  import late

    make_encodable(sys.stderr)
    console = Console(stderr=True, highlight=False)
    with console.status("reading", spinner="line") as status:
        yield Watched(console, status)


class BytesRead:
    """A bar of the bytes that have been read, with their rate and the time left."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def begin(self, total_bytes: int | None) -> None:
        """Show how far the reading is; None: nobody knows how much there is."""
        self._progress.update(self._task, total=total_bytes, visible=True)

    def advance(self, size: int) -> None:
        """Show that so many bytes more have been read."""
        self._progress.advance(self._task, size)


@contextmanager
def reading_bytes() -> Iterator[BytesRead | None]:
    """Yield who is to hear how far a long reading is, None where nobody watches; the bar is gone at the end."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415  import late
    from rich.progress import (  # noqa: PLC0415  import late
        BarColumn,
        FileSizeColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.table import Column  # noqa: PLC0415  import late

    make_encodable(sys.stderr)
    columns = (
        TextColumn("reading"),
        BarColumn(),
        FileSizeColumn(Column(no_wrap=True)),
        TransferSpeedColumn(Column(no_wrap=True)),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True, highlight=False), transient=True) as progress:
        yield BytesRead(progress, progress.add_task("reading", total=None, visible=False))
