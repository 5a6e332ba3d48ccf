"""io-errors: errors of the disks under a directory server."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.storage.server_storage import ServerStorage
from ldapdiag.analysis.storage.volume import Volume, has_reused_name
from ldapdiag.check import MainNumber, check
from ldapdiag.evidence.storage import BlockDevices, DeviceError, KernelErrors, Mounted
from ldapdiag.evidence.storage.settings import StorageSettings
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.servers.volumes.layout_remedies import examine_disk
from ldapdiag.wording import counted

SHOWN = 5
DOUBT = (
    "A sync that failed once may succeed the next time although the data is not on the disk: the database is in doubt "
    "until it is verified."
)
STOPPED = ("read-only", "shut down", "journal aborted")
"""Words for the end of writing to a file system."""
REUSED = (
    "The kernel gives the name {devices} to one device after another, and the messages do not show when this volume "
    "was mounted: they may concern an earlier device of that name."
)
VERIFY = "verify the database, or initialise it from another replica; on ext file systems, tune2fs -l counts errors"


@check(group="storage", number=MainNumber("errors", "disk errors", "value"))
def judge(storage: ServerStorage, server: Instance) -> Iterator[Verdict]:
    """Errors of the disks under a directory server.

    ## What it looks at
    The kernel's messages (dmesg, journalctl -k) about failed reads, writes and flushes of the disks, partitions and
    logical volumes under each volume of the server, and of its file systems; the count of errors in the superblock of
    ext2, ext3 and ext4 (tune2fs -l); and whether the volume is read-only now. Messages about other disks of the host
    are counted, and are no finding about this server. Neither are messages from before the last mount on a device, if
    another file system was mounted there then (by its UUID); if the messages do not show which, the volume is not
    judged. Errors of a disk itself concern it whatever was mounted.

    ## Severity
    - critical: the volume with the database, the transaction log or the changelog is read-only or shut down.
    - high: errors of its disks.
    - medium: errors in the superblock only, or under the access log only.

    The finding is only possible, and at most high, if all messages are about a device whose name is reused (loop0) and
    none shows its last mount.

    ## Why it matters
    After a failed write Linux takes the page for clean: the next sync succeeds although the data is not on the disk,
    and the error is reported once ("Fsync Errors" in the wiki of PostgreSQL). So one error is enough to doubt the
    database, also where the server went on without a message.

    ## What to do
    Examine the disk, verify the database or initialise it from another replica, and replace the disk. Do not restart
    the server before there is a copy: a start reads what a running server still has in memory.

    ## When it is harmless
    Errors of a removable medium or an optical drive; an error that was corrected by the array (medium error of one disk
    of a mirror) still means that the disk has to be replaced.
    """
    if not storage.volumes:
        kinds = storage.missing or (StorageSettings.kind,)
        reason = f"the volumes of {server.name} are not in the evidence"
        yield NotJudged(subject=server.name, reason=reason, missing=kinds, how=storage.how)
    for volume in storage.volumes:
        yield _of_volume(volume, storage, server)


def _of_volume(volume: Volume, storage: ServerStorage, server: Instance) -> Verdict:
    subject, kernel = f"{volume.mount_point} of {server.name}", storage.kernel_messages
    in_superblock = (volume.superblock.error_count or 0) if volume.superblock else 0
    if volume.errors or in_superblock or volume.options.read_only:
        return _finding(volume, in_superblock, storage, server)
    if kernel is None:
        reason = f"the messages of the kernel of {server.host} are not in the evidence"
        return NotJudged.without(KernelErrors, subject, reason)
    others = storage.other_errors
    unknown = volume.disk_unknown if volume.local else ""
    unnamed = next((other.what for other in others if not other.device), "")
    if others and (unknown or unnamed):
        why = unknown or f"some do not name their device ({unnamed})"
        reason = f"the kernel reported {counted(len(others), 'error')} that may be of its disks: {why}"
        if not volume.local:
            return NotJudged(subject=subject, reason=reason, how="on the server: dmesg, its messages about the network")
        return NotJudged.without(BlockDevices, subject, reason)
    doubtful = tuple(error for error in volume.earlier_errors if error.mounted is Mounted.UNKNOWN_BEFORE)
    if doubtful:
        reason = (
            f"{_earlier(doubtful)}: the messages do not show whether this file system or another was mounted there then"
        )
        return NotJudged(subject=subject, reason=reason, missing=(), how=VERIFY)
    elsewhere = f"; {counted(len(others), 'error')} of other devices: {_devices(others)}" if others else ""
    if volume.earlier_errors:
        elsewhere += f"; {_earlier(volume.earlier_errors)}, while another file system was mounted there"
    since = "" if kernel.from_boot else ", which do not reach back to the boot"
    return Clear(
        subject=subject,
        reason=f"no error of its disks in {counted(kernel.lines_read, 'message')} of the kernel{since}{elsewhere}",
    )


def _earlier(errors: tuple[DeviceError, ...]) -> str:
    return f"{counted(len(errors), 'error')} of {_devices(errors)} from before the last mount"


def _devices(errors: tuple[DeviceError, ...]) -> str:
    names = sorted({error.device or "an unnamed device" for error in errors})
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")


def _finding(volume: Volume, in_superblock: int, storage: ServerStorage, server: Instance) -> Finding:
    errors, others = volume.errors, storage.other_errors
    kinds = list(dict.fromkeys(error.what for error in errors))
    possible = not (in_superblock or volume.options.read_only) and all(map(_of_unknown_age, errors))
    stopped = volume.options.read_only or any(map(_stops, errors))
    times = [error.when for error in errors if error.when is not None]
    shown = [
        *([f"read-only: {volume.name}"] if volume.options.read_only else []),
        *([f"{counted(len(errors), 'message')} of the kernel ({', '.join(kinds)})"] if errors else []),
        *([f"{counted(in_superblock, 'error')} in the superblock"] if in_superblock else []),
    ]
    devices = tuple(dict.fromkeys(error.device for error in errors if error.device)) or tuple(
        disk.name for disk in volume.devices
    )
    return Finding(
        subject=f"{volume.mount_point} of {server.name}",
        severity=_severity(volume, stopped=bool(stopped)),
        confidence=Confidence.POSSIBLE if possible else Confidence.CERTAIN,
        title=f"The volume of the {volume.contents}, {volume.name}, {'may have' if possible else 'has'} failed: "
        + "; ".join(shown),
        detail="\n".join(
            [
                *(f"{error.printed_time or _time(error)} {error.text}".strip() for error in errors[-SHOWN:]),
                *([REUSED.format(devices=_devices(errors))] if possible else []),
                DOUBT,
                *([f"Not counted: {_earlier(volume.earlier_errors)}."] if volume.earlier_errors else []),
                *(
                    [f"Besides, {counted(len(others), 'error')} of other devices: {_devices(others)}."]
                    if others
                    else []
                ),
            ]
        ),
        observed={
            "server": server.name,
            "host": server.host,
            "mount_point": volume.mount_point,
            "devices": list(devices),
            "errors": len(errors),
            "kinds": kinds,
            "superblock_errors": in_superblock,
            "read_only": bool(volume.options.read_only),
            "last": f"{max(times):%Y-%m-%dT%H:%M:%SZ}" if times else None,
            "samples": [error.text for error in errors[-SHOWN:]],
        },
        server=server.name,
        hosts=(server.host,),
        remedies=(
            examine_disk(server.host, tuple(dict.fromkeys((*devices, *(disk.name for disk in volume.devices))))),
        ),
        origins=storage.origins,
    )


def _of_unknown_age(error: DeviceError) -> bool:
    """Return whether an error may be one of an earlier device of the same name."""
    return error.mounted is Mounted.UNKNOWN and has_reused_name(error)


def _stops(error: DeviceError) -> bool:
    """Return whether nothing is written to the file system that is mounted now, since an error."""
    ended = any(word in error.what for word in STOPPED)
    return ended and error.mounted is not Mounted.SAME_BEFORE and not _of_unknown_age(error)


def _severity(volume: Volume, *, stopped: bool) -> Severity:
    if not volume.lasting_paths or not (stopped or volume.errors):
        return Severity.MEDIUM
    return Severity.CRITICAL if stopped else Severity.HIGH


def _time(one: DeviceError) -> str:
    if one.when is not None:
        return f"{one.when:%Y-%m-%d %H:%M:%S}"
    return f"[{one.since_boot_seconds:.0f} s after the boot]" if one.since_boot_seconds is not None else ""
