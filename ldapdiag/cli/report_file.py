"""Files that reports are written to: checked before anything is read, and replaced as a whole where possible."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

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
    target = path.resolve()
    before = target.stat() if target.exists() else None
    if is_special(path) or (before and (before.st_nlink > 1 or before.st_uid != os.geteuid())):
        return False
    partial = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.partial")
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
