"""Remedies for where and how a server's files lie: access times, fragmentation, a disk for the log, broken disks.

The remedy for writes that wait for the disk that loses nothing: a disk whose sync is faster.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.volumes.volume_remedies import DATASET, DEVICE_NAME, MOUNT_POINT, VERIFIED

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Family
    from ldapdiag.servers.commands.server_address import ServerAddress


MADE_OF_OTHERS = ("dm-", "loop", "md", "zram")
"""Devices that are no disks begin so: they have no state of their own."""


def use_relatime(host: str, mount_point: str, dataset: str) -> Remedy:
    """Mount a file system with relatime, the kernel's default, now and from now on; of ZFS, set its property."""
    known = (DATASET.fullmatch(dataset) if dataset else MOUNT_POINT.fullmatch(mount_point)) is not None
    text = (
        f"mount -o remount,relatime {quote(mount_point)}\n"
        f"grep -n {quote(mount_point)} /etc/fstab    # remove strictatime from its options\n{VERIFIED}"
    )
    undo = f"mount -o remount,strictatime {quote(mount_point)}"
    verify = f"findmnt -no OPTIONS {quote(mount_point)}    # relatime"
    if dataset:
        text, undo, verify = (
            f"zfs set relatime=on {dataset}",
            f"zfs inherit relatime {dataset}",
            f"zfs get relatime {dataset}",
        )
    return Remedy(
        title=f"Mount {mount_point} with relatime",
        target=host,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if known else RemedyKind.ADVICE,
        text=text if known else "Mount it with relatime, the default of the kernel.",
        changes="A read writes an access time at most once a day, or after a change of the file.",
        risk="A program on this volume that needs the exact time of each access no longer has it (old mail readers).",
        undo=undo if known else "Mount it with strictatime.",
        verify=verify if known else "findmnt    # relatime",
    )


def write_anew(host: str, fs_type: str) -> Remedy:
    """Advise to write the files of a database anew, in one piece."""
    copy_on_write = (
        " On btrfs first make a new folder for the files with chattr +C, which applies only to files made in it; such "
        "files have neither checksums nor compression, and synced appends left as many pieces with it as without."
    )
    return Remedy(
        title="Write the database anew, in one piece",
        target=host,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=(
            "In a maintenance window, after a backup: stop the server, export and import the database (or copy its "
            f"files, LMDB by mdb_copy -c), and start it.{copy_on_write if fs_type == 'btrfs' else ''}"
        ),
        changes="Reads of the whole database (scans, exports, backups, the first after a start) have fewer seeks.",
        risk="The server is not available meanwhile, and needs space for a second copy. On an SSD little is gained.",
        undo="Put the former files back.",
        verify="filefrag DATABASE_FILES    # fewer extents",
        needs=Needs.RESTART,
    )


def separate_log(host: str, roles: str) -> Remedy:
    """Advise to move the transaction log or the changelog to a disk of its own."""
    return Remedy(
        title="Give the transaction log a disk of its own, if writes wait for the disk",
        target=host,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=(
            "Measure first: commit-bound-writes shows whether writes wait for the disk. If so, and the disk has other "
            f"work, put one of {roles} on a volume of another disk, with barriers and a journal: stop the server, "
            "move the folder, set its path in the configuration, and start the server."
        ),
        changes="A flush of the log no longer waits for writes of the database to the same disk.",
        risk=(
            "The server needs both volumes: each of them may fail or run full, and a backup has to contain both at one "
            "moment. Wrong for a server with few writes, which gains nothing."
        ),
        undo="Stop the server, move the folder back, and set the former path.",
        verify="iostat -x 5    # w_await and f_await of both disks while changes are written",
        needs=Needs.RESTART,
    )


def examine_disk(host: str, devices: tuple[str, ...]) -> Remedy:
    """Return the commands that show the state of disks, and what to do with a database above a broken one."""
    names = [name for name in devices if DEVICE_NAME.fullmatch(name) and not name.startswith(MADE_OF_OTHERS)]
    return Remedy(
        title="Examine the disk, and do not trust the database until it is verified",
        target=host,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if names else RemedyKind.ADVICE,
        text="\n".join(f"smartctl -a {quote(f'/dev/{name}')}" for name in names)
        or "Look at the state of the disks (smartctl -a), of the array and of the storage network.",
        changes=(
            "The commands only read. Replace a failing disk, then initialise the database from another replica or a "
            "backup."
        ),
        risk="None by reading. Before a restart of the server, back up what can be read.",
        undo="None needed.",
        verify="dmesg -T | grep -i 'I/O error'    # no new messages",
    )


def faster_disk(server: ServerAddress, what: str, how: str, family: Family) -> Remedy:
    """Put a part of the server's data on another disk; `how` is a sentence with the setting."""
    return Remedy(
        title=f"Put {what} on a disk with a faster sync",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text="Disks with a write cache that survives a power cut (SSDs with power-loss protection, controllers with a "
        "battery or flash) sync in less than 1 ms, spinning disks in 5 to 20 ms. Measure both volumes first: "
        f"ldapdiag storage --probe DIRECTORY. Then, with the server stopped: {how}",
        changes="Each write waits for the sync of the new disk. No acknowledged change is lost by it in a power cut.",
        risk="The server is stopped while files are copied. Keep the old files until it has started and answered. The "
        "new volume needs write barriers: a disk that is fast without them loses acknowledged changes.",
        undo="",
        verify="",
        family=family,
        needs=Needs.RESTART,
    )
