"""`--format nagios`: a run as a plug-in, which ends with a status line on standard output and the status as exit code.

The exit code 2 of an invalid command line, or of evidence that cannot be read, would be critical there: it is unknown.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NAME = "nagios"
OPTION = "--format"


def is_asked(arguments: Sequence[str]) -> bool:
    """Return whether a command line asks for the output of a plug-in."""
    return f"{OPTION}={NAME}" in arguments or (OPTION, NAME) in pairwise(arguments)


def run(main: Callable[[], None]) -> None:
    """Run a program that ends by SystemExit: without a status line of its own, with the status unknown."""
    from ldapdiag.report.monitoring.nagios import NAMES, unknown  # noqa: PLC0415  import late
    from ldapdiag.report.neutral import make_encodable  # noqa: PLC0415

    output, errors = StringIO(), StringIO()
    with suppress(SystemExit), redirect_stdout(output), redirect_stderr(errors):
        main()
    text = output.getvalue()
    if not text.startswith("LDAP "):
        reasons = errors.getvalue().strip().splitlines() or ["it ended without a diagnosis"]
        text = unknown(reasons[-1].removeprefix("ldapdiag: "))
    sys.stderr.write(errors.getvalue())
    make_encodable(sys.stdout)
    sys.stdout.write(text)
    sys.exit(NAMES.index(text.split()[1]))  # whatever has failed since it was written
