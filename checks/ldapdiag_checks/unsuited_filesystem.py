"""unsuited-filesystem: databases on file systems that are not made for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.storage.server_storage import ServerStorage
from ldapdiag.analysis.storage.volume import Volume
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.storage import DirectorySize
from ldapdiag.evidence.storage.settings import StorageSettings
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.volumes.volume_remedies import add_directory_index, move_data

SUITED = frozenset({"ext2", "ext3", "ext4", "ext2/ext3", "xfs", "btrfs", "zfs", "ufs", "jfs", "jfs2", "f2fs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a file system is not suited."""

    name: str
    severity: Severity
    words: str
    sentence: str
    crowded: DirectorySize | None = None


@check(group="storage", number=MainNumber("names", "names in the largest folder", "value"))
def judge(
    storage: ServerStorage,
    server: Instance,
    *,
    medium_names: Annotated[int, Threshold("names", "so many in a directory without an index are medium")] = 20000,
    low_names: Annotated[int, Threshold("names", "so many or more are low")] = 5000,
) -> Iterator[Verdict]:
    """Databases on file systems that are not made for them.

    ## What it looks at
    The type of each file system with the database, the transaction log or the changelog, as the server's own process
    sees it (/proc/PID/mountinfo: in a container it differs from the host's), and on ext2, ext3 and ext4 whether
    directories are indexed (dir_index in tune2fs -l), with the number of names in the server's folders.

    ## Severity
    By default:

    - high: a network file system (NFS, CIFS, Ceph …); or a file system in memory.
    - medium: overlay, the writable layer of a container; or 20,000 names or more in a directory without an index.
    - low: 5,000 names or more in a directory without an index.

    ## Why it matters
    The databases map their files into memory and rely on locks and on the order of writes between processes of one
    host. LMDB forbids remote file systems (lmdb.h), the guide of Berkeley DB calls them a common mistake; with the
    mount option soft a time-out becomes an I/O error in the middle of a write. What is in an overlay is deleted with
    the container, and the first write to a file of the image copies it whole. Without dir_index each look-up of a name
    reads the directory from its beginning: 50,000 files took 160 s to make instead of 3 s.

    ## What to do
    Move the data to ext4 or XFS on a local disk or a block device (iSCSI, a volume of the cloud), in a container to a
    mounted volume. Export and backup files may be on NFS.

    ## When it is harmless
    A test server that is made anew from a file. dir_index is without effect where a folder has few names, as those of
    databases have.
    """
    volumes = [one for one in storage.volumes if one.lasting_paths]
    if not volumes:
        reason = f"the file systems with the data of {server.name} are not in the evidence"
        yield NotJudged(
            subject=server.name, reason=reason, missing=storage.missing or (StorageSettings.kind,), how=storage.how
        )
    for volume in volumes:
        yield _of_volume(volume, _problem(volume, medium_names, low_names), storage, server)


def _of_volume(volume: Volume, problem: Problem | None, storage: ServerStorage, server: Instance) -> Verdict:
    subject = f"{volume.mount_point} of {server.name}"
    if problem is not None:
        return _finding(volume, problem, storage, server)
    if volume.fs_type not in SUITED:
        return NotJudged(subject=subject, reason=f"whether {volume.fs_type} suits the database is not known", how=None)
    unindexed = _is_unindexed(volume)
    if unindexed and not volume.directories:
        return NotJudged.without(
            DirectorySize,
            subject,
            f"{volume.mount_point} has no dir_index, and the numbers of names in its folders are not known",
        )
    most = max((directory.names for directory in volume.directories), default=0)
    few = f" without dir_index, with at most {most:,} names in a directory: nothing to gain" if unindexed else ""
    return Clear(subject=subject, reason=f"{volume.name} is a local file system for disks{few}")


def _problem(volume: Volume, medium: int, low: int) -> Problem | None:
    if not volume.local:
        soft = " Its option soft makes an I/O error of a time-out." if volume.options.soft else ""
        return Problem(
            name="network",
            severity=Severity.HIGH,
            words="a network file system",
            sentence=f"The data is on {volume.source}, over a network: locks, mapped files and the order of writes are "
            f"not those of a local disk, on which the database relies.{soft}",
        )
    if volume.in_memory:
        return Problem(
            name="memory",
            severity=Severity.HIGH,
            words=f"in memory ({volume.in_memory})",
            sentence="The data is in memory: it is gone when the host stops, and it takes memory from the caches.",
        )
    if volume.fs_type == "overlay":
        return Problem(
            name="overlay",
            severity=Severity.MEDIUM,
            words="the writable layer of a container",
            sentence="The data is deleted with the container, and the first write to a file of the image copies it "
            "whole.",
        )
    crowded = max(volume.directories, key=lambda one: one.names, default=None)
    if crowded is None or crowded.names < low or not _is_unindexed(volume):
        return None
    return Problem(
        name="no-directory-index",
        severity=Severity.MEDIUM if crowded.names >= medium else Severity.LOW,
        words=f"{crowded.names:,} names in a directory without an index",
        sentence=f"{crowded.path} has {crowded.names:,} names, and the file system no dir_index: each look-up reads "
        "the directory from its beginning.",
        crowded=crowded,
    )


def _is_unindexed(volume: Volume) -> bool:
    """Return whether the superblock shows that directories have no index."""
    features = volume.superblock.features if volume.superblock else frozenset()
    return bool(features) and "dir_index" not in features


def _finding(volume: Volume, problem: Problem, storage: ServerStorage, server: Instance) -> Finding:
    roles = list(dict.fromkeys(str(role) for role, _ in volume.lasting_paths))
    cure = (
        add_directory_index(server.host, volume.mount_point)
        if problem.crowded
        else move_data(server.host, volume.contents, volume.mount_point)
    )
    return Finding(
        subject=f"{volume.mount_point} of {server.name}",
        severity=problem.severity,
        confidence=Confidence.CERTAIN,
        title=f"{volume.name} with the {volume.contents} is {problem.words}"
        if not problem.crowded
        else f"{volume.name} has {problem.words}",
        detail=problem.sentence,
        observed={
            "server": server.name,
            "mount_point": volume.mount_point,
            "file_system": volume.fs_type,
            "source": volume.source,
            "roles": roles,
            "problem": problem.name,
            "directory": problem.crowded.path if problem.crowded else None,
            "names": problem.crowded.names if problem.crowded else None,
        },
        server=server.name,
        hosts=(server.host,),
        remedies=(cure,),
        origins=storage.origins,
    )
