"""Paths in messages: as encodable text, and the gap for one that cannot be opened."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap

if TYPE_CHECKING:
    from pathlib import Path

ADVICE = {
    errno.ENOENT: "check the spelling",
    errno.ENOTDIR: "check the spelling",
    errno.EACCES: "run as a user who may read it, or ask its owner for a copy",
    errno.EPERM: "run as a user who may read it, or ask its owner for a copy",
    errno.ELOOP: "this link points to itself; name the intended file",
    errno.EBADF: "nothing is connected to standard input; pipe the evidence into it, or name a file",
    errno.EISDIR: "name the folder itself",
}
"""The next step, by errno."""


def legible(path: str | Path) -> str:
    r"""Return a path as text that can be encoded: bytes of a file name that are not UTF-8 become \\xNN."""
    return os.fsencode(path).decode(errors="backslashreplace")


def unreadable(path: str | Path, error: OSError) -> Gap:
    """Return the gap of a path that cannot be opened: what was attempted, why it failed, what to do."""
    absent = error.errno in {errno.ENOENT, errno.ENOTDIR}
    reason = f"cannot read it: {(error.strerror or str(error)).lower()}"
    return Gap(
        target=legible(path),
        reason="there is no such file or folder" if absent else reason,
        how=getattr(error, "how", None)  # an ObjectError has its own
        or ADVICE.get(error.errno or 0, "check that cat can read it, or ask for another copy"),
    )
