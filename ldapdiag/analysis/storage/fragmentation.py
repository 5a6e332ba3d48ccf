"""Fragmentation: in how many pieces the files of a database lie on a volume, and when that number shows nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.analysis.storage.volume import Volume
    from ldapdiag.evidence.storage import FileExtents

MIB = 1 << 20
SMALLEST = MIB
"""Bytes of a file that counts: the pieces of a smaller one cost nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragmentation:
    """The pieces of the large files of one volume."""

    files: tuple[FileExtents, ...]
    """Those whose extents count, the most pieces per MiB first."""
    left_out: tuple[str, ...] = ()
    """Why others do not count."""

    @property
    def extents(self) -> int:
        """Return the number of pieces of all files."""
        return sum(one.extents or 0 for one in self.files)

    @property
    def mebibytes(self) -> float:
        """Return how much the files allocate, in MiB."""
        return sum(allocated(one) for one in self.files) / MIB

    @property
    def per_mebibyte(self) -> float:
        """Return the pieces per MiB."""
        return self.extents / self.mebibytes if self.files else 0.0


def fragmentation(volume: Volume) -> Fragmentation:
    """Return the pieces of a volume's files: of what they allocate, because the file of LMDB is sparse.

    btrfs and ZFS store compressed data in pieces of at most 128 KiB, so their number shows no fragmentation.
    """
    counted = [one for one in volume.extents if one.extents is not None and allocated(one) >= SMALLEST]
    packed = bool(volume.options.compression)
    kept = [one for one in counted if not one.compressed and not packed]
    return Fragmentation(
        files=tuple(sorted(kept, key=lambda one: (-(one.extents or 0) / allocated(one), one.path))),
        left_out=tuple(_left_out(volume.extents, packed=packed)),
    )


def allocated(one: FileExtents) -> int:
    """Return the bytes that a file takes on its volume, its apparent size where only that is known."""
    return (one.bytes if one.allocated_bytes is None else one.allocated_bytes) or 0


def _left_out(files: Iterable[FileExtents], *, packed: bool) -> Iterable[str]:
    reasons = dict.fromkeys(one.unsupported for one in files if one.extents is None and one.unsupported)
    yield from reasons
    if packed or any(one.compressed for one in files):
        yield "compressed files lie in pieces of at most 128 KiB whatever their order on the disk"
