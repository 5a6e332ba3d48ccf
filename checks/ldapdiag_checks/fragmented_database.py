"""fragmented-database: database files in many pieces.

Fragmentation: in how many pieces the files of a database lie on a volume, and when that number shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.storage.server_storage import ServerStorage
from ldapdiag.analysis.storage.volume import Volume
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.storage import FileExtents
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.traits import traits_of
from ldapdiag.servers.volumes.layout_remedies import write_anew
from ldapdiag.wording import counted, number, rounded

if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN = 5


@check(group="storage", number=MainNumber("per_mebibyte", "extents per MiB", "value"))
def judge(
    storage: ServerStorage,
    server: Instance,
    *,
    medium_per_mebibyte: Annotated[
        float, Threshold("/MiB", "so many pieces or more are medium, above a disk that rotates")
    ] = 16.0,
    low_per_mebibyte: Annotated[float, Threshold("/MiB", "more pieces are low")] = 1.0,
    least_pieces: Annotated[int, Threshold("pieces", "fewer in all are clear")] = 100,
) -> Iterator[Verdict]:
    """Database files in many pieces.

    ## What it looks at
    The extents of the server's database files of 1 MiB or more (filefrag -v, or FIEMAP), per MiB that they allocate:
    the file of LMDB is sparse, and its apparent size is what the map may reach. Compressed files of btrfs and ZFS lie
    in pieces of at most 128 KiB by design and do not count; ZFS and tmpfs do not report extents.

    ## Severity
    By default:

    - medium: 16 pieces per MiB or more (64 KiB each), 100 in all, above a disk that states that it rotates.
    - low: more than 1 piece per MiB, 100 in all.

    ## Why it matters
    On a disk that rotates, each piece may cost a seek of several ms when the whole database is read: by a scan, an
    export, a backup, or after a start. btrfs writes each synced append to a new place: six writers left 509 extents in
    files of 4 MiB, where ext4 left 14 and XFS 7. On an SSD about one piece per MiB and less is noise, and reads of
    single entries are as fast as before.

    ## What to do
    Write the database anew, or leave it: measure a full export before and after. Preallocated files do not fragment.

    ## When it is harmless
    On SSDs nearly always; where the database fits into memory; and for the append-only logs of OpenDJ and
    PingDirectory.
    """
    if traits_of(server.family).appends_only:
        reason = "its database is an append-only log, which the server writes anew by itself: nothing to gain"
        yield Clear(subject=server.name, reason=reason)
        return
    volumes = [one for one in storage.volumes if one.extents and one.lasting_paths]
    if not volumes:
        reason = f"the extents of the database files of {server.name} are not in the evidence"
        yield NotJudged.without(FileExtents, server.name, reason)
    for volume in volumes:
        found, rotational = fragmentation(volume), _rotational(volume)
        severity = None
        if found.per_mebibyte > low_per_mebibyte and found.extents >= least_pieces:
            small = found.per_mebibyte >= medium_per_mebibyte
            severity = Severity.MEDIUM if small and rotational else Severity.LOW
        yield _of_volume(volume, found, severity, storage, server)


def _of_volume(
    volume: Volume, found: Fragmentation, severity: Severity | None, storage: ServerStorage, server: Instance
) -> Verdict:
    subject = f"{volume.mount_point} of {server.name}"
    numbers = (
        f"{counted(found.extents, 'extent')} in {rounded(found.mebibytes)} MiB of {counted(len(found.files), 'file')}, "
        f"{rounded(found.per_mebibyte)} per MiB"
    )
    rotational = _rotational(volume)
    if severity is not None:
        return _finding(volume, found, severity, numbers, storage, server, rotational=rotational)
    if found.files:
        return Clear(subject=subject, reason=f"{numbers}: nothing to gain")
    if not found.left_out:
        return Clear(subject=subject, reason="no database file of 1 MiB or more: nothing to gain")
    reason = f"the extents of the files on {volume.name} show no fragmentation: {'; '.join(found.left_out)}"
    return NotJudged(subject=subject, reason=reason, how=None)


def _rotational(volume: Volume) -> bool | None:
    """Return whether a disk below states that it rotates; None: none states anything."""
    stated = {disk.rotational for disk in volume.devices} - {None}
    return any(stated) if stated else None


def _finding(
    volume: Volume,
    found: Fragmentation,
    severity: Severity,
    numbers: str,
    storage: ServerStorage,
    server: Instance,
    *,
    rotational: bool | None,
) -> Finding:
    worst = found.files[:SHOWN]
    disk = {True: "state that they rotate (disks of virtual machines often do so wrongly)", False: "do not rotate"}
    return Finding(
        subject=f"{volume.mount_point} of {server.name}",
        severity=severity,
        confidence=Confidence.CERTAIN if rotational is False or severity is Severity.LOW else Confidence.LIKELY,
        title=f"The database files on {volume.name} are in pieces: {numbers}",
        detail="\n".join(
            [
                *(
                    f"{one.path}: {number(one.extents or 0)} extents in {rounded(allocated(one) / MIB)} MiB."
                    for one in worst
                ),
                *([f"The disks {disk[rotational]}."] if rotational is not None else []),
                "Scans, exports, backups and the first reads after a start may be slower; single entries are not.",
            ]
        ),
        observed={
            "server": server.name,
            "mount_point": volume.mount_point,
            "file_system": volume.fs_type,
            "extents": found.extents,
            "mebibytes": round(found.mebibytes, 1),
            "per_mebibyte": round(found.per_mebibyte, 2),
            "rotational": rotational,
            "files": [
                {"path": one.path, "extents": one.extents, "mebibytes": round(allocated(one) / MIB, 1)} for one in worst
            ],
        },
        server=server.name,
        hosts=(server.host,),
        remedies=(write_anew(server.host, volume.fs_type),),
        origins=storage.origins,
    )


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
        return sum(file.extents or 0 for file in self.files)

    @property
    def mebibytes(self) -> float:
        """Return how much the files allocate, in MiB."""
        return sum(allocated(file) for file in self.files) / MIB

    @property
    def per_mebibyte(self) -> float:
        """Return the pieces per MiB."""
        return self.extents / self.mebibytes if self.files else 0.0


def fragmentation(volume: Volume) -> Fragmentation:
    """Return the pieces of a volume's files: of what they allocate, because the file of LMDB is sparse.

    btrfs and ZFS store compressed data in pieces of at most 128 KiB, so their number shows no fragmentation.
    """
    counted = [extent for extent in volume.extents if extent.extents is not None and allocated(extent) >= SMALLEST]
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
    reasons = dict.fromkeys(file.unsupported for file in files if file.extents is None and file.unsupported)
    yield from reasons
    if packed or any(file.compressed for file in files):
        yield "compressed files lie in pieces of at most 128 KiB whatever their order on the disk"
