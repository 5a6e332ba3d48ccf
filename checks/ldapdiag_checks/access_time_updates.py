"""access-time-updates: volumes on which each read writes an access time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.storage.options import MEMORY
from ldapdiag.analysis.storage.server_storage import ServerStorage
from ldapdiag.analysis.storage.volume import Volume
from ldapdiag.check import check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.storage import MountTable
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.servers.volumes.layout_remedies import use_relatime
from ldapdiag.servers.volumes.volume_remedies import on_its_host

NOTHING = {
    "noatime": "noatime: no read writes an access time, nothing to gain",
    "relatime": "relatime, the kernel's default since 2.6.30 (2009): a read writes an access time at most once a day, "
    "so noatime would gain nothing",
}


@check(group="storage")
def judge(
    storage: ServerStorage,
    server: Instance,
    *,
    low_names: Annotated[int, Threshold("names", "so many in one directory make it low")] = 1000,
) -> Iterator[Verdict]:
    """Volumes on which each read writes an access time.

    ## What it looks at
    The option for access times of each volume that the server uses. Linux prints relatime or noatime; it prints no word
    at all for strictatime, so the absence of both shows it in a mount table of the kernel (/proc/PID/mountinfo,
    /proc/mounts), and in no other.

    ## Severity
    By default:

    - low: strictatime where a folder of the server has 1,000 names or more.
    - info: strictatime elsewhere.

    ## Why it matters
    With strictatime each read of a file makes its inode dirty, and the inode is written with the next commit of the
    journal. Reading 10,000 small files took 15 to 20 % longer on ext4, and wrote 5 MiB; with relatime the second pass
    wrote nothing. A directory server keeps a few large files open or mapped, so it gains next to nothing.

    ## What to do
    Mount the volume with relatime. noatime gains nothing beyond that.

    ## When it is harmless
    Nearly always on the volume of a database; and with lazytime, with which a read alone writes nothing for hours.
    """
    if not storage.volumes:
        reason = f"the volumes of {server.name} are not in the evidence"
        yield NotJudged.without(MountTable, server.name, reason, how=storage.how)
    for volume in storage.volumes:
        yield _of_volume(volume, storage, server, low_names)


def _of_volume(volume: Volume, storage: ServerStorage, server: Instance, low_names: int) -> Verdict:
    subject, options = f"{volume.mount_point} of {server.name}", volume.options
    if not volume.local or volume.fs_type in MEMORY:
        where = "by the file server" if not volume.local else "in memory"
        return Clear(subject=subject, reason=f"{volume.fs_type}: access times are kept {where}, nothing to gain")
    if options.atime in NOTHING:
        return Clear(subject=subject, reason=NOTHING[options.atime])
    if options.atime is None:
        reason = f"the evidence does not show the option for access times of {volume.mount_point}"
        return NotJudged.without(MountTable, subject, reason)
    if options.lazytime:
        return Clear(
            subject=subject, reason="strictatime with lazytime: a read alone writes nothing for hours, nothing to gain"
        )
    cure = use_relatime(server.host, volume.mount_point, volume.source if volume.fs_type == "zfs" else "")
    crowded = any(directory.names >= low_names for directory in volume.directories)
    return Finding(
        subject=subject,
        severity=Severity.LOW if crowded else Severity.INFO,
        confidence=Confidence.CERTAIN,
        title=f"{volume.name} is mounted with strictatime: each read of a file writes its access time",
        detail=(
            "A directory server keeps a few large files open, so it gains little from relatime; scripts and backups "
            "that read many files gain 15 to 20 %. noatime gains nothing beyond relatime."
        ),
        observed={
            "server": server.name,
            "mount_point": volume.mount_point,
            "file_system": volume.fs_type,
            "roles": [str(role) for role in volume.roles],
        },
        server=server.name,
        hosts=(server.host,),
        remedies=(on_its_host(cure, volume.source) if volume.in_container else cure,),
        origins=storage.origins,
    )
