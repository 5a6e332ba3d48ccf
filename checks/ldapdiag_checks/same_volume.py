"""same-volume: database, transaction log and changelog on the same disk.

Which parts of a server's data are on one volume, or on volumes of the same disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.storage.server_storage import ServerStorage
from ldapdiag.analysis.storage.volume import in_words
from ldapdiag.analysis.storage.write_service import WriteRate, write_rate
from ldapdiag.check import check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.storage import BlockDevices, MountTable
from ldapdiag.evidence.storage.settings import LASTING, StorageSettings
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.volumes.layout_remedies import separate_log
from ldapdiag.wording import rounded

if TYPE_CHECKING:
    from ldapdiag.analysis.storage.volume import Volume
    from ldapdiag.evidence.storage.settings import Role

NO_FAULT = (
    "This is no fault. A disk of its own for the log helps only if writes wait for the disk (commit-bound-writes), and "
    "another volume on the same disk does not help."
)


@check(group="storage")
def judge(
    storage: ServerStorage,
    server: Instance,
    traffic: Traffic | None = None,
    *,
    low_per_second: Annotated[float, Threshold("/s", "so many changes or more are low")] = 20.0,
    info_per_second: Annotated[float, Threshold("/s", "so many or more are info; fewer are clear")] = 1.0,
) -> Iterator[Verdict]:
    """Database, transaction log and changelog on the same disk.

    ## What it looks at
    The volumes of the database, the transaction log and the changelog, and the disks below them (LVM, md and partitions
    are followed), with the changes per second in the access log. Two volumes on one disk are as one.

    ## Severity
    By default:

    - low: 20 changes per second or more.
    - info: 1 change per second or more.

    Fewer are clear: nothing to gain.

    ## Why it matters
    It is no fault: it is the default of every product, and simple to back up. But a flush for the transaction log
    makes the disk write everything else that is in its cache, and the file system its journal, so with many changes the
    log waits for the pages of the database. LMDB and the append-only logs of OpenDJ have no transaction log of their
    own.

    ## What to do
    Look at commit-bound-writes first. If writes wait for the disk, a disk of its own for the transaction log or the
    changelog helps; a second volume on the same disk does not.

    ## When it is harmless
    Where writes are rare, or the disks are SSDs with power-loss protection; and always for safety: everything on
    one volume is backed up and restored at one moment.
    """
    roles = list(dict.fromkeys(role for volume in storage.volumes for role in volume.roles if role in LASTING))
    lost = [one for one in storage.unplaced if one.lasting]
    if not roles or lost:
        kinds = (StorageSettings.kind,) if storage.settings is None else (MountTable.kind,)
        reason = f"the volumes of the data of {server.name} are not all in the evidence"
        yield NotJudged(subject=server.name, reason=reason, missing=kinds, how=storage.how)
        return
    if len(roles) == 1:
        reason = f"its data is in one place ({roles[0]}): there is nothing to separate"
        yield Clear(subject=server.name, reason=reason)
        return
    shared = shared_disks(storage)
    unknown = next((volume for volume in storage.volumes if volume.lasting_paths and not volume.disk_known), None)
    if not shared and unknown is not None:
        reason = f"{' and '.join(roles)} are on different volumes, and {unknown.disk_unknown}"
        yield NotJudged.without(BlockDevices, server.name, reason)
    elif not shared:
        yield Clear(subject=server.name, reason=f"{' and '.join(roles)} are on different disks")
    for one in shared:
        yield _of_disks(one, write_rate(traffic), storage, server, (low_per_second, info_per_second))


def _of_disks(
    shared: SharedDisks, rate: WriteRate | None, storage: ServerStorage, server: Instance, limits: tuple[float, float]
) -> Verdict:
    low, info = limits
    points = ", ".join(volume.mount_point for volume in shared.volumes)
    what = in_words(shared.roles)
    subject = f"{points} of {server.name}"
    if rate is None:
        reason = f"{what} are on one disk, and no access log of 10 s or more shows how many changes there are"
        return NotJudged.without(AccessLog, subject, reason)
    if rate.per_second < info:
        reason = (
            f"{what} are on one disk, and with {rounded(rate.per_second)} changes per second there is nothing to gain"
        )
        return Clear(subject=subject, reason=reason)
    disks = f" ({', '.join(shared.devices)})" if shared.devices else ""
    rate_words = f"{rounded(rate.per_second)} changes"
    one_disk = "volumes of the same disk" if len(shared.volumes) > 1 else "one volume"
    return Finding(
        subject=subject,
        severity=Severity.LOW if rate.per_second >= low else Severity.INFO,
        confidence=Confidence.CERTAIN,
        title=f"{what.capitalize()} of {server.name} are on {one_disk}{disks}, with {rate_words} per second",
        detail="\n".join(
            [
                f"Volumes: {', '.join(one.name for one in shared.volumes)}.",
                rate.sentence(None),
                NO_FAULT,
            ]
        ),
        observed={
            "server": server.name,
            "roles": [str(role) for role in shared.roles],
            "mount_points": [volume.mount_point for volume in shared.volumes],
            "devices": list(shared.devices),
            "changes_per_second": round(rate.per_second, 3),
        },
        server=server.name,
        hosts=(server.host,),
        remedies=(separate_log(server.host, what),),
        origins=storage.origins,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDisks:
    """Volumes with parts of a server's data that lie on common disks; one volume is common to all on it."""

    volumes: tuple[Volume, ...]
    roles: tuple[Role, ...]
    """Those of the data, two or more."""
    devices: tuple[str, ...]
    """The common disks; empty: unknown."""


def shared_disks(storage: ServerStorage) -> tuple[SharedDisks, ...]:
    """Return the groups of volumes that share a disk and have two parts of the data or more."""
    groups: list[list[Volume]] = []
    for volume in (one for one in storage.volumes if one.lasting_paths):
        near = [group for group in groups if any(_share(volume, other) for other in group)]
        groups = [group for group in groups if group not in near]
        groups.append([*(one for group in near for one in group), volume])
    found = (_shared(group) for group in groups)
    return tuple(one for one in found if len(one.roles) > 1)


def _share(one: Volume, other: Volume) -> bool:
    """Return whether two volumes have a disk, or a file system, in common."""
    if one.device and one.device == other.device:
        return True
    return not {disk.name for disk in one.devices}.isdisjoint(disk.name for disk in other.devices)


def _shared(group: list[Volume]) -> SharedDisks:
    disks = [{disk.name for disk in one.devices} for one in group]
    common = (
        set.union(*disks)
        if len(group) == 1
        else {name for names in disks for name in names if sum(name in others for others in disks) > 1}
    )
    roles = dict.fromkeys(role for one in group for role in one.roles if role in LASTING)
    return SharedDisks(volumes=tuple(group), roles=tuple(roles), devices=tuple(sorted(common)))
