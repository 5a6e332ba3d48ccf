"""Output of the commands: the report to standard output or a file, errors and gaps to standard error."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TYPE_CHECKING

import typer

from ldapdiag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

    from ldapdiag.evidence.bundle import Gap, PassedOver

MAX_ALIKE = 3
"""Lines for files with the same reason; further ones are counted."""


@contextmanager
def standard_output(*, as_utf_8: bool = False) -> Iterator[TextIO]:
    """Yield standard output. A reader that closes it early (head, a pager) is not an error; a full disk is.

    `as_utf_8`: whatever the locale, as a file is written; a page states this encoding.
    """
    from ldapdiag.report.neutral import make_encodable  # noqa: PLC0415  import late

    if sys.stdout is None:  # closed by the parent process
        raise UsageError("cannot write the report: standard output is closed; use --output FILE")
    make_encodable(sys.stdout)
    if as_utf_8 and isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()
    except OSError as error:
        _silence()
        raise UsageError(f"cannot write the report to standard output: {_reason(error)}; use --output FILE") from error


def outputs_share_terminal() -> bool:
    """Return whether both outputs are terminals, where nothing should appear twice."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr))


def _silence() -> None:
    """Discard the buffered output, so that the interpreter does not fail to write it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def print_error(problem: object) -> None:
    """Write one line to standard error."""
    from ldapdiag.report.neutral import neutral  # noqa: PLC0415  import late

    typer.echo(f"ldapdiag: {neutral(str(problem))}", err=True)


def print_gaps(gaps: Iterable[Gap | PassedOver]) -> None:
    """Write each gap as a line to standard error; many with the same reason are counted."""
    alike: dict[str, list[Gap | PassedOver]] = defaultdict(list)
    for gap in gaps:
        alike[gap.reason].append(gap)
    for reason, several in alike.items():
        for gap in several[:MAX_ALIKE]:
            how = getattr(gap, "how", None)
            print_error(f"{gap.target.removesuffix(':')}: {reason}{f'; {how}' if how else ''}")
        if len(several) > MAX_ALIKE:
            print_error(f"and {len(several) - MAX_ALIKE} more: {reason}")
