"""The destination of a capture, checked before an hour of collecting: it is free, writable, and has space."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.errors import UsageError
from ldapdiag.sources.files.unreadable import legible

if TYPE_CHECKING:
    from typing import BinaryIO

LEAST_FREE_BYTES = 16 << 20
"""A capture of a few hosts without access logs fits into this."""

PROBE_BYTES = 1 << 16
"""Written once, because a file system over its quota reports free space."""


class FullError(OSError):
    """A destination that accepts no more bytes; what it contains by then is kept."""


class Guarded:
    """A file being written: its errors differ from those of the evidence that is copied into it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes | memoryview) -> int:
        """Write all bytes. Raise FullError if the destination refuses them."""
        left = memoryview(data).cast("B")
        size = len(left)
        while left:
            left = left[self._some(left) :]
        return size

    def _some(self, data: memoryview) -> int:
        try:
            return self._file.write(data)
        except OSError as error:
            raise FullError(error.errno, error.strerror) from error

    def flush(self) -> None:
        """Do nothing: the file has no buffer."""

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._file.tell()


def refused(path: Path, error: OSError) -> UsageError:
    """Return the error of a destination that cannot be written."""
    return UsageError(
        f"cannot write {legible(path)}: {(error.strerror or str(error)).lower()}; choose another --output"
    )


def check(path: Path) -> None:
    """Raise UsageError if nothing can be created at a path, or if there is too little space."""
    if path.is_dir() and path.is_mount():
        how = f"name an archive or a folder in it, as in {legible(path / 'capture.tar.gz')}"
        raise UsageError(f"cannot replace {legible(path)}: it is a mount point; {how}")
    folder = path.absolute().parent
    probe = folder / f".{path.name}.{secrets.token_hex(4)}.probe"
    try:
        free = _free_bytes(folder)
        _probe(probe)
    except OSError as error:
        raise refused(path, error) from error
    if free is not None and free < LEAST_FREE_BYTES:
        room = f"{free / (1 << 20):.1f} MiB free, and a capture needs {LEAST_FREE_BYTES >> 20} MiB or more"
        raise UsageError(f"cannot write {legible(path)}: its file system has {room}; choose another --output")


def _probe(probe: Path) -> None:
    descriptor = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            Guarded(file).write(bytes(PROBE_BYTES))
            os.fsync(file.fileno())
    finally:
        probe.unlink(missing_ok=True)


def _free_bytes(folder: Path) -> int | None:
    """Return the space that this user may fill; None where the system does not report it."""
    if not hasattr(os, "statvfs"):
        return None
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize
