"""Remedies for a volume that is full, or nearly: what fills it, and what may be removed. None deletes anything."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.volumes.volume_remedies import DEVICE_PATH, MOUNT_POINT

NOT_BY_HAND = (
    "Remove no file in the folders of the database, its transaction log or its changelog: the server needs each of "
    "them, and removes what it no longer needs by itself."
)


def find_contents(host: str, mount_point: str, *, in_container: bool) -> Remedy:
    """Return the commands that show what takes the space and the inodes of a volume."""
    known = MOUNT_POINT.fullmatch(mount_point) is not None
    point = quote(mount_point)
    text = (
        f"df -PkT {point}; df -Pi {point}\n"
        f"du -xk {point} | sort -n | tail -n 20    # KiB of each folder\n"
        f"du -x --inodes {point} | sort -n | tail -n 20    # files of each folder\n"
        f"lsof +L1 {point}    # deleted files that a process keeps open: their space is free when it closes them"
    )
    remedy = Remedy(
        title=f"Find what fills {mount_point}",
        target=host,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if known else RemedyKind.ADVICE,
        text=text if known else "Run df, du -x and lsof +L1 on the mount point of the volume.",
        changes="The commands only read.",
        risk="du reads every folder of the volume, which takes minutes with millions of files.",
        undo="None needed.",
        verify=f"df -PkT {point}" if known else "df -PkT    # the row of the volume",
    )
    if not (in_container and known):
        return remedy
    where = (
        f"The mount point is a path in a container. In the container, or from its host by nsenter -t PID -m:\n{text}"
    )
    return replace(remedy, kind=RemedyKind.ADVICE, text=where)


def make_room(host: str, mount_point: str, source: str, *, reserved_percent: float) -> Remedy:
    """Advise what to remove, to move and to enlarge; of ext file systems also the blocks that are reserved for root."""
    device = quote(source) if DEVICE_PATH.fullmatch(source) else "DEVICE"
    reserved = (
        f" On an ext file system, tune2fs -m 1 {device} makes most of the {reserved_percent:.0f} % that are reserved "
        f"for root available at once (undo: tune2fs -m {reserved_percent:.0f} {device})."
        if reserved_percent >= 2  # of which 1 % stays
        else ""
    )
    return Remedy(
        title=f"Make room on {mount_point}",
        target=host,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=f"Move old exports, backups, core files and rotated logs to another volume first. {NOT_BY_HAND}{reserved} "
        "Then enlarge the volume (of LVM: lvextend -r), or move the logs to a volume of their own. Do not restart the "
        "server before there is room: it may need space to start.",
        changes="The server can write again.",
        risk="A log that is moved is no longer where other programs look for it.",
        undo="Move the files back.",
        verify="df -PkT PATH    # of the volume",
        needs=Needs.NONE,
    )
