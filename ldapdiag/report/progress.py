"""Progress of reading and collecting, on standard error, and only on a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from math import ceil
from typing import TYPE_CHECKING

from ldapdiag.report.color import Color, console_settings
from ldapdiag.report.neutral import make_encodable, neutral
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.progress import Progress, TaskID
    from rich.status import Status

    from ldapdiag.evidence.bundle import Gap
    from ldapdiag.evidence.cluster_work import ClusterWork

WIDTH = 28
"""Columns for the name of a target."""
SUMMARY_WIDTH = 40
"""Columns for the result of a target, before its duration."""


class TerminalProgress:
    """A permanent line for each target, and a status line for the current step."""

    def __init__(self, console: Console, status: Status) -> None:
        self.console = console
        self.status = status

    def __call__(self, path: str) -> None:
        """Show the file that is being read."""
        self._status_line(f"reading {path}")

    def answered(self, target: str, summary: str, seconds: float, gap: Gap | None = None) -> None:
        """Print the result of a target, and its first gap on a second line."""
        self._line(target, f"✔ {summary:{SUMMARY_WIDTH}}", f"{seconds:.1f} s")
        if gap:
            subject = "" if gap.target == target else f"{gap.target}: "
            self._line("", f"✘ {subject}{gap.reason}{_advice(gap)}", "")

    def failed(self, gap: Gap) -> None:
        """Print why a target gave no evidence, and what to try."""
        self._line(gap.target, f"✘ {gap.reason}{_advice(gap)}", "")

    def waiting(self, seconds: float) -> None:
        """Show the time until the second snapshot."""
        self._status_line(f"second snapshot in {ceil(seconds)} s")

    def measuring(self, what: str) -> None:
        """Show the measurement that begins."""
        self._status_line(f"measuring {what}")

    def _status_line(self, text: str) -> None:
        from rich.text import Text  # noqa: PLC0415  import late

        self.status.update(Text(neutral(text), no_wrap=True, overflow="ellipsis"))

    def _line(self, target: str, text: str, duration: str) -> None:
        from rich.text import Text  # noqa: PLC0415  import late

        line = f"{neutral(target):{WIDTH}} {neutral(text)}  {duration}".rstrip()
        self.console.print(Text(line), soft_wrap=True)


def _advice(gap: Gap) -> str:
    return f"; {gap.how}" if gap.how else ""


@contextmanager
def show_progress(color: Color = Color.AUTO) -> Iterator[TerminalProgress | None]:
    """Yield a progress display, None without a terminal; its status line is erased at the end."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415  import late

    make_encodable(sys.stderr)
    console = Console(stderr=True, highlight=False, **console_settings(color))
    with console.status("reading", spinner="line") as status:
        yield TerminalProgress(console, status)


class ByteProgress:
    """A bar of the bytes read, with the rate and the remaining time."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def begin(self, total_bytes: int | None) -> None:
        """Show the bar; `total_bytes` is None when the size is unknown."""
        self._progress.update(self._task, total=total_bytes, visible=True)

    def advance(self, size: int) -> None:
        """Count more bytes as read."""
        self._progress.advance(self._task, size)

    def work(self, work: ClusterWork) -> None:
        """Show what a cluster has done."""
        retried = f" · {number(work.retried)} retried" if work.retried else ""
        shown = f"{counted(work.tasks, 'task')} · {counted(work.workers, 'worker')}{retried}"
        self._progress.update(self._task, cluster=shown)


@contextmanager
def show_byte_progress(color: Color = Color.AUTO) -> Iterator[ByteProgress | None]:
    """Yield a progress bar, None without a terminal; it is erased at the end."""
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
        TextColumn("{task.fields[cluster]}", table_column=Column(no_wrap=True)),
    )
    console = Console(stderr=True, highlight=False, **console_settings(color))
    with Progress(*columns, console=console, transient=True) as progress:
        yield ByteProgress(progress, progress.add_task("reading", total=None, visible=False, cluster=""))
