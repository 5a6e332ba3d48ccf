"""The file of an earlier report, for --baseline."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

from ldapdiag.baseline.reading import report_of
from ldapdiag.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.baseline.reported import Reported

MOST_BYTES = 256 << 20
"""Ten times the largest report that the limit of verdicts allows in tests."""


def earlier_report(path: Path) -> Reported:
    """Return the report of a file. Raises UsageError if it cannot be read, or is no report of a known version."""
    try:
        return report_of(_parsed(path))
    except OSError as error:
        raise UsageError(f"cannot read the baseline {path}: {error.strerror or error}") from error
    except UsageError as error:
        raise UsageError(f"the baseline {path} cannot be used: {error}") from None


def _parsed(path: Path) -> object:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise UsageError("it is no regular file")
    if status.st_size > MOST_BYTES:
        raise UsageError(f"it has {status.st_size >> 20:,} MiB, more than any report")
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    try:
        parsed: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else f"it is no JSON: {error}"
        raise UsageError(reason) from error
    return parsed
