"""Where the commands write: standard output, a file, and standard error for what could not be read."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from ldapdiag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import TextIO

    from ldapdiag.evidence.bundle import Gap, PassedOver

ALIKE = 3
"""Lines about files with one and the same trouble, before the rest of them is counted."""


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Lend standard output. A reader that leaves early (head, a pager) is no error; a full disk is one, in a line."""
    from ldapdiag.report.encodable import make_encodable  # noqa: PLC0415  import late

    if sys.stdout is None:  # closed by whoever started us
        raise UsageError("cannot write the report: standard output is closed; use --output FILE")
    make_encodable(sys.stdout)
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()
    except OSError as error:
        _silence()
        raise UsageError(f"cannot write the report to standard output: {error.strerror}") from error


def on_one_screen() -> bool:
    """Tell whether a person reads both outputs on one terminal, where nothing should stand twice."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr))


def _silence() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not stumble over it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_file(path: Path, text: str) -> None:
    """Write a report to a file the operator named."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the report to {path}: {error.strerror}; choose another --output") from error


def complain(problem: object) -> None:
    """Write one line to standard error."""
    from ldapdiag.report.neutral import neutral  # noqa: PLC0415  import late

    typer.echo(f"ldapdiag: {neutral(str(problem))}", err=True)


def tell(troubles: Iterable[Gap | PassedOver]) -> None:
    """Say on standard error what could not be read and why, a line each; many alike are counted."""
    alike: dict[str, list[Gap | PassedOver]] = defaultdict(list)
    for trouble in troubles:
        alike[trouble.reason].append(trouble)
    for reason, several in alike.items():
        for trouble in several[:ALIKE]:
            how = getattr(trouble, "how", None)
            complain(f"{trouble.target.removesuffix(':')}: {reason}{f'; {how}' if how else ''}")
        if len(several) > ALIKE:
            complain(f"and {len(several) - ALIKE} more: {reason}")
