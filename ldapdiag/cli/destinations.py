"""Where reports go, and in which format: the options --format and --output, and the endings of file names.

Files that reports are written to: checked before anything is read, and replaced as a whole where possible.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from enum import StrEnum
from errno import EACCES, EISDIR, EMLINK
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ldapdiag.cli.commands import Panel
from ldapdiag.cli.output import outputs_share_terminal, standard_output
from ldapdiag.errors import UsageError
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.report.color import Color

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
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
    Panel.OUTPUT.option(
        "--format", metavar="FORMAT", help="Write the report in this format; default by the ending of FILE, else text."
    ),
]
OutputOption = Annotated[
    list[Path] | None,
    Panel.OUTPUT.option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the report to FILE instead of standard output, in the format of its ending "
        f"({', '.join(end for end, one in ENDINGS.items() if one in DOCUMENTS)}); - is standard output; repeatable.",
    ),
]
ColorOption = Annotated[
    Color,
    Panel.OUTPUT.option(
        "--color", metavar="WHEN", help="Colour the text; auto: on a terminal, as NO_COLOR and FORCE_COLOR ask."
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

    Files are all replaced, or all kept. Raises UsageError if a destination cannot be written, after the others are.
    """
    is_open, failures = True, []
    named = [(one.path, partial(write, one.form)) for one in written if one.path is not None]
    apart = [[one] for one in named if is_special(one[0])]
    for files in ([one for one in named if not is_special(one[0])], *apart):
        try:
            write_files(files)
        except UsageError as error:
            failures.append(str(error))
    for one in written:
        if one.path is not None:
            continue
        try:
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
MEMORY = Path("/dev/shm")  # noqa: S108  no file is made there unasked
"""A folder of ordinary files there."""


def is_special(path: Path) -> bool:
    """Return whether a path is a pipe, a device or an open file, which has no name to replace."""
    absolute = path.absolute()
    stands_for_another = any(absolute.is_relative_to(folder) for folder in DESCRIPTORS)
    return (stands_for_another and not absolute.is_relative_to(MEMORY)) or (
        path.exists() and not path.is_file() and not path.is_dir()
    )


def check_file(path: Path | None) -> None:
    """Raise UsageError, before anything is read, if a report cannot be written to a file; None is standard output."""
    if path is None or is_special(path):
        return
    try:
        _partial(path.resolve()).unlink()
    except OSError as error:
        raise _unwritable(path, error) from error


def write_files(files: Iterable[tuple[Path, Callable[[TextIO], object]]]) -> None:
    """Write reports to files. Each file keeps its content until all of them are complete on the disk.

    Raises UsageError; then every file is as it was, but for pipes, devices and open files, which cannot be replaced.
    """
    complete: list[tuple[Path, Path, Path]] = []
    path = Path()
    try:
        for path, write in files:
            text = StringIO()
            write(text)
            content = text.getvalue().encode("utf-8", "backslashreplace")
            if is_special(path):
                path.write_bytes(content)
                continue
            target = path.resolve()
            beside = _partial(target)
            complete.append((path, beside, target))
            with beside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for path, beside, target in complete:  # noqa: B007  named in an error
            beside.replace(target)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        for _, beside, _ in complete:
            with suppress(OSError):
                beside.unlink(missing_ok=True)


def _partial(target: Path) -> Path:
    """Make an empty file beside a file, with its owner and permissions, that can replace it; raise OSError.

    A file with further names (hard links) is refused: they would keep the former content.
    """
    from secrets import token_hex  # noqa: PLC0415  import late: with OpenSSL

    if target.is_dir():
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    before = target.stat() if target.exists() else None
    if before and before.st_nlink > 1:
        raise OSError(EMLINK, f"it has {before.st_nlink} names (hard links), of which one would be replaced")
    if before and not os.access(target, os.W_OK):
        raise PermissionError(EACCES, os.strerror(EACCES))
    beside = target.with_name(f".{target.name[:100]}.{token_hex(4)}.partial")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        if before and hasattr(os, "geteuid"):  # on Windows a file has the permissions of its folder
            if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(descriptor, before.st_uid, before.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
    except OSError:
        beside.unlink()
        raise
    finally:
        os.close(descriptor)
    return beside


def _unwritable(path: Path, error: OSError) -> UsageError:
    reason = (error.strerror or str(error)).lower()
    kept = "its content is as it was; " if path.is_file() and not is_special(path) else ""
    return UsageError(f"cannot write the report to {path}: {reason}; {kept}choose another --output")
