"""Where reports go, and in which format: the options --format and --output, and the endings of file names.

Files that reports are written to: checked before anything is read, and replaced as a whole where possible.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from enum import StrEnum
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.output import outputs_share_terminal, standard_output
from ldapdiag.errors import UsageError
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.report.color import Color

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import TextIO


class ReportFormat(StrEnum):
    """Output formats of a report."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"
    HTML = "html"
    JUNIT = "junit"
    OPENMETRICS = "openmetrics"
    NAGIOS = "nagios"


DOCUMENTS = (ReportFormat.TEXT, ReportFormat.JSON, ReportFormat.MARKDOWN, ReportFormat.CSV, ReportFormat.HTML)
"""The formats of every report; the others are for programs that read some reports."""
ENDINGS = {
    ".txt": ReportFormat.TEXT,
    ".json": ReportFormat.JSON,
    ".md": ReportFormat.MARKDOWN,
    ".csv": ReportFormat.CSV,
    ".html": ReportFormat.HTML,
    ".xml": ReportFormat.JUNIT,
    ".prom": ReportFormat.OPENMETRICS,
}
"""The format of a file by the ending of its name."""

STANDARD_OUTPUT = Path("-")


FormOption = Annotated[
    ReportFormat | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Write the report in this format; default by the ending of FILE, else text.",
        show_default=False,
        rich_help_panel=Panel.OUTPUT,
    ),
]
OutputOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the report to FILE instead of standard output, in the format of its ending "
        f"({', '.join(end for end, one in ENDINGS.items() if one in DOCUMENTS)}); - is standard output; repeatable.",
        show_default=False,
        rich_help_panel=Panel.OUTPUT,
    ),
]
ColorOption = Annotated[
    Color,
    typer.Option(
        "--color",
        metavar="WHEN",
        help="Colour the text; auto: on a terminal, as NO_COLOR and FORCE_COLOR ask.",
        rich_help_panel=Panel.OUTPUT,
    ),
]


class Output(NamedTuple):
    """Where a report is written, and how."""

    form: FormOption = None
    output: OutputOption = None
    color: ColorOption = Color.AUTO

    def destinations(self, offered: Collection[ReportFormat] = DOCUMENTS) -> tuple[Destination, ...]:
        """Return where to write a report. Raises UsageError, before anything is read, if it cannot be written there."""
        form, outputs = self.form, self.output
        if form and form not in offered:
            raise UsageError(f"--format {form}: this command has none; use one of {', '.join(offered)}")
        if not outputs:
            return (Destination(form=form or ReportFormat.TEXT, path=None),)
        _check_contradictions(form, outputs)
        found = tuple(
            Destination(form=_format_of(path, form, offered, alone=len(outputs) == 1), path=_file(path))
            for path in outputs
        )
        for one in found:
            if one.form is ReportFormat.NAGIOS and one.path is not None:
                raise UsageError(f"--output {one.path}: nagios reads standard output; omit --output")
            check_file(one.path)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A file, or standard output, and the format of the report that is written there."""

    form: ReportFormat
    path: Path | None
    """None: standard output."""


def _check_contradictions(form: ReportFormat | None, outputs: Sequence[Path]) -> None:
    """Raise UsageError for a file that is named twice, and a format that no file would have."""
    named: set[Path] = set()
    for path in outputs:
        where = path if path == STANDARD_OUTPUT or is_special(path) else path.resolve()
        if where in named:
            raise UsageError(f"--output {path} is given twice; give each file once")
        named.add(where)
    if form and len(outputs) > 1 and all(path.suffix.lower() in ENDINGS for path in outputs):
        raise UsageError(f"--format {form} contradicts the endings of several files; omit it, or give one --output")


def _file(path: Path) -> Path | None:
    return None if path == STANDARD_OUTPUT else path


def _format_of(
    path: Path, form: ReportFormat | None, offered: Collection[ReportFormat], *, alone: bool
) -> ReportFormat:
    """Return the format of one output: that of --format for a single file, else that of the ending."""
    ending = path.suffix.lower()
    by_ending = ENDINGS.get(ending)
    if by_ending and not (form and alone):
        if by_ending not in offered:
            known = ", ".join(end for end, one in ENDINGS.items() if one in offered)
            raise UsageError(f"--output {path}: this command writes no {by_ending}; use one of {known}")
        return by_ending
    if form is None and ending and not is_special(path):
        known = ", ".join(end for end, one in ENDINGS.items() if one in offered)
        raise UsageError(f"--output {path}: no format has the ending {ending}; use one of {known}, or add --format")
    return form or ReportFormat.TEXT


def check_table(table: str | None, written: Sequence[Destination]) -> None:
    """Raise UsageError for a --table that no output would contain."""
    if table and all(one.form is not ReportFormat.CSV for one in written):
        raise UsageError(f"--table {table} is for CSV; add --format csv, or an --output that ends with .csv")


def check_followed(written: Sequence[Destination]) -> None:
    """Raise UsageError for a format that cannot be written again and again to standard output."""
    for one in written:
        if one.path is None and one.form not in {ReportFormat.TEXT, ReportFormat.JSON}:
            raise UsageError(f"--follow writes text or json to standard output; for {one.form} give --output FILE")


def contains_gaps(written: Sequence[Destination]) -> bool:
    """Return whether a report contains what was not read: a table of CSV does not."""
    return any(one.form is not ReportFormat.CSV for one in written)


def text_on_terminal(written: Sequence[Destination]) -> bool:
    """Return whether the report is shown on the terminal that also shows errors, where nothing should appear twice."""
    return outputs_share_terminal() and any(one.path is None and one.form is ReportFormat.TEXT for one in written)


def deliver(write: Callable[[ReportFormat, TextIO], object], written: Sequence[Destination]) -> bool:
    """Write a report to every destination; return whether standard output, where it is one, is still open.

    Raises UsageError if one cannot be written, after the others are.
    """
    is_open, failures = True, []
    for one in written:
        try:
            if one.path is not None:
                write_file(one.path, partial(write, one.form))
                continue
            is_open = False
            with standard_output(as_utf_8=one.form is not ReportFormat.TEXT) as stream:
                write(one.form, stream)
                stream.flush()
                is_open = True
        except UsageError as error:
            failures.append(str(error))
    if failures:
        raise UsageError("; ".join(failures))
    return is_open


DESCRIPTORS = (Path("/dev"), Path("/proc"))
"""Where names stand for open files: /dev/stdout, /proc/self/fd/1. Replacing such a file would not reach its reader."""


def is_special(path: Path) -> bool:
    """Return whether a path is a pipe, a device or an open file, which has no name to replace."""
    absolute = path.absolute()
    return any(absolute.is_relative_to(folder) for folder in DESCRIPTORS) or (
        path.exists() and not path.is_file() and not path.is_dir()
    )


def check_file(path: Path | None) -> None:
    """Raise UsageError, before anything is read, if a report cannot be written to a file; None is standard output."""
    if path is None or is_special(path):
        return
    try:
        is_new = not path.exists()
        with path.open("ab"):
            pass
        if is_new:
            path.resolve().unlink()  # of a symbolic link its target, which the line above made
    except OSError as error:
        raise _unwritable(path, error) from error


def write_file(path: Path, write: Callable[[TextIO], object]) -> None:
    """Write a report to a file, which keeps its content until the new one is complete, where possible."""
    text = StringIO()
    write(text)
    content = text.getvalue().encode("utf-8", "backslashreplace")
    try:
        if not _replace(path, content):
            path.write_bytes(content)
    except OSError as error:
        raise _unwritable(path, error) from error


def _replace(path: Path, content: bytes) -> bool:
    """Replace a file by one with this content; return False where that would change more than the content.

    That is so for pipes and devices, files with further names (hard links) or another owner, and in a folder that
    allows no new file.
    """
    from secrets import token_hex  # noqa: PLC0415  import late: with OpenSSL

    target = path.resolve()
    before = target.stat() if target.exists() else None
    if is_special(path) or (before and (before.st_nlink > 1 or before.st_uid != os.geteuid())):
        return False
    partial = target.with_name(f".{target.name[:100]}.{token_hex(4)}.partial")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError:
        return False
    try:
        with os.fdopen(descriptor, "wb") as file:
            if before:
                os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        partial.replace(target)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return True


def _unwritable(path: Path, error: OSError) -> UsageError:
    reason = (error.strerror or str(error)).lower()
    return UsageError(f"cannot write the report to {path}: {reason}; choose another --output")
