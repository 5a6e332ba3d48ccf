"""Remedies for the volumes of a directory server: mount options, block devices, and where its data is."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote

from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where

NOT_BY_HAND = (
    "Remove no file in the folders of the database, its transaction log or its changelog: the server needs each of "
    "them, and removes what it no longer needs by itself."
)

MOUNT_POINT = pattern(r"/[A-Za-z0-9_./@:+=~-]{0,1000}")
ROOT = "/"
DEVICE_PATH = pattern(r"/dev/[A-Za-z0-9_./@:+=~-]{1,200}")
DEVICE_NAME = pattern(r"[A-Za-z0-9_][A-Za-z0-9_.!-]{0,60}")
DATASET = pattern(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,250}")

VERIFIED = "findmnt --verify    # no errors: with a wrong line the next boot may fail"
CHECKED = "Then run findmnt --verify: with a wrong line there the host may start with a read-only root, or not at all."
SLOWER = (
    "Each change waits for the disk again: writes take as long as the disk needs for a flush, and so do the clients "
    "that wait for them. That is the price of an acknowledged change."
)
NOT_UNDONE = "# none: without barriers acknowledged changes are lost. A faster disk is the way to faster writes."


def use_barriers(host: str, mount_point: str, device: str, *, in_superblock: bool) -> Remedy:
    """Mount a file system with write barriers, now and from now on."""
    title = f"Turn write barriers on for {mount_point}"
    changes = "A sync flushes the cache of the disk, so an acknowledged change is on the disk."
    if not MOUNT_POINT.fullmatch(mount_point) or (in_superblock and not DEVICE_PATH.fullmatch(device)):
        return _advice(
            host,
            title,
            f"Mount it with barriers: mount -o remount,barrier=1, and the same in /etc/fstab. {CHECKED}",
            changes,
        )
    lasting = (
        f"tune2fs -o ^nobarrier {quote(device)}"
        if in_superblock
        else f"grep -n {quote(mount_point)} /etc/fstab    # remove nobarrier or barrier=0 from its options\n{VERIFIED}"
    )
    return Remedy(
        title=title,
        target=host,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=f"mount -o remount,barrier=1 {quote(mount_point)}\n{lasting}",
        changes=changes,
        risk=SLOWER,
        undo=NOT_UNDONE,
        verify="grep -H barrier /proc/fs/ext4/*/options    # barrier, not nobarrier",
    )


def use_btrfs_barriers(host: str, mount_point: str) -> Remedy:
    """Mount btrfs or an old XFS with write barriers, now and from now on."""
    title = f"Turn write barriers on for {mount_point}"
    changes = "A sync flushes the cache of the disk, so an acknowledged change is on the disk."
    if not MOUNT_POINT.fullmatch(mount_point):
        return _advice(
            host,
            title,
            f"Mount it with barriers: mount -o remount,barrier, and the same in /etc/fstab. {CHECKED}",
            changes,
        )
    return Remedy(
        title=title,
        target=host,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=f"mount -o remount,barrier {quote(mount_point)}\n"
        f"grep -n {quote(mount_point)} /etc/fstab    # remove nobarrier from its options\n{VERIFIED}",
        changes=changes,
        risk=SLOWER,
        undo=NOT_UNDONE,
        verify=f"findmnt -no OPTIONS {quote(mount_point)} | grep -c nobarrier    # 0",
    )


def use_ordered_journal(host: str, mount_point: str, device: str, *, in_superblock: bool) -> Remedy:
    """Return to data=ordered, which needs a new mount: the kernel refuses to change it by a remount."""
    known = DEVICE_PATH.fullmatch(device) is not None
    root = mount_point == ROOT
    lasting = (
        f"run tune2fs -o ^journal_data_writeback {quote(device)} as root"
        if in_superblock and known
        else "remove data=writeback (and journal_async_commit) from its options in /etc/fstab"
        + (" and from rootflags= of the kernel's command line" if root else "")
        + ", and check that file (findmnt --verify)"
    )
    stopped = f"stop the server and what else uses {mount_point}, unmount it, {lasting}, mount it and start the server"
    steps = f"{lasting}, and restart the host" if root else stopped
    return _advice(
        host,
        f"Mount {mount_point} with data=ordered",
        f"In a maintenance window: {steps}. A remount cannot change the mode of the journal.",
        "Files that grow contain no old blocks of the disk after a power cut. A database that syncs is as fast as "
        "before.",
        risk=f"{_unavailable(mount_point)} meanwhile.",
        undo="The same steps with data=writeback; nothing is gained by it.",
        verify="grep -H data= /proc/fs/ext4/*/options    # data=ordered",
        needs=Needs.RESTART,
    )


def add_journal(host: str, mount_point: str) -> Remedy:
    """Advise a file system with a journal."""
    return _advice(
        host,
        f"Give {mount_point} a journal",
        _unmounted(
            mount_point,
            "run e2fsck -f, tune2fs -O has_journal and e2fsck -f again on its device, set its type to ext4 in fstab, "
            "check that file (findmnt --verify)",
        ),
        "After a power cut the journal is replayed in seconds, and no fsck is needed.",
        risk=f"{_unavailable(mount_point)} meanwhile. A sync costs a second flush (journal).",
        undo="The same steps with tune2fs -O ^has_journal.",
        verify=f"tune2fs -l DEVICE | grep has_journal    # the device of {mount_point}",
        needs=Needs.RESTART,
    )


def add_directory_index(host: str, mount_point: str) -> Remedy:
    """Advise an index for the directories of an ext file system."""
    return _advice(
        host,
        f"Give the directories of {mount_point} an index",
        f"{_unmounted(mount_point, 'run tune2fs -O dir_index and e2fsck -fD on its device')} Or remove the files that "
        "are no longer needed.",
        "A look-up of a name reads a few blocks instead of the whole directory.",
        risk=f"{_unavailable(mount_point)} meanwhile; e2fsck -D writes every directory anew.",
        undo="The same steps with tune2fs -O ^dir_index.",
        verify=f"tune2fs -l DEVICE | grep dir_index    # the device of {mount_point}",
        needs=Needs.RESTART,
    )


def send_flushes(host: str, device: str) -> Remedy:
    """Make the kernel flush the cache of a device again."""
    title = f"Let the kernel flush the cache of {device}"
    changes = "The kernel sends flushes to the device, so a synced change is on the disk."
    if not DEVICE_NAME.fullmatch(device):
        return _advice(host, title, "Write `write back` to queue/write_cache of the device in /sys/block.", changes)
    file = f"/sys/block/{device}/queue/write_cache"
    return Remedy(
        title=title,
        target=host,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=f"echo 'write back' > {file}\ngrep -rn write_cache /etc/udev/rules.d /etc/rc.local /etc/tmpfiles.d",
        changes=f"{changes} The second command finds what sets it at boot.",
        risk=SLOWER,
        undo=f"echo 'write through' > {file}    # only for a device whose cache is not volatile",
        verify=f"cat {file}    # write back",
    )


def sync_dataset(host: str, dataset: str) -> Remedy:
    """Let ZFS carry out the syncs of a dataset again."""
    title = f"Set sync=standard for {dataset}"
    changes = "ZFS writes what an application syncs to its intent log before it acknowledges."
    if not DATASET.fullmatch(dataset):
        return _advice(host, title, "zfs set sync=standard for the dataset of the database.", changes)
    return Remedy(
        title=title,
        target=host,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=f"zfs set sync=standard {dataset}",
        changes=changes,
        risk=f"{SLOWER} A separate log device (SLOG) with power-loss protection makes it faster.",
        undo="# none: with sync=disabled acknowledged changes are lost.",
        verify=f"zfs get sync {dataset}    # standard",
    )


def on_its_host(remedy: Remedy, source: str) -> Remedy:
    """Return advice instead of commands that remount a path of a container: its host has another one, or another's."""
    if not remedy.text.startswith("mount -o remount"):
        return remedy
    options = remedy.text.splitlines()[0].rpartition(" ")[0]
    device = quote(source) if DEVICE_PATH.fullmatch(source) else "DEVICE"
    return replace(
        remedy,
        kind=RemedyKind.ADVICE,
        text=f"The mount point is a path in a container. On its host, find where it is mounted (findmnt {device}),"
        f" and remount it there: {options} MOUNT_POINT. Change its options in /etc/fstab, too. {CHECKED}",
        undo="",
        verify="",
    )


def move_data(host: str, what: str, mount_point: str) -> Remedy:
    """Advise to move a server's data to a local file system on a disk."""
    return _advice(
        host,
        f"Move the {what} from {mount_point} to a local file system on a disk",
        f"In a maintenance window, after a backup: stop the server, copy the {what} to a volume with ext4 or XFS on a "
        "local disk (in a container: a mounted volume, not the image's own layer), set the path in the server's "
        "configuration, and start it.",
        "The data is on a disk that obeys a sync.",
        risk="The server is not available meanwhile; writes may be slower, because they wait for a disk.",
        undo="Set the former path while the former files are still there, and no change has been made since.",
        verify="df -T PATH    # ext4 or xfs",
        needs=Needs.RESTART,
    )


def _unmounted(mount_point: str, steps: str) -> str:
    """Return how to do what needs an unmounted file system; a host cannot unmount its root."""
    if mount_point == ROOT:
        return (
            "The root file system cannot be unmounted while its host runs. In a maintenance window, after a backup: "
            f"start the host from a rescue system, {steps}, and start the host again."
        )
    return (
        f"In a maintenance window, after a backup: stop the server and what else uses {mount_point}, "
        f"unmount it, {steps}, mount it and start the server."
    )


def _unavailable(mount_point: str) -> str:
    return f"The {'host' if mount_point == ROOT else 'server'} is not available"


def _advice(  # noqa: PLR0913  the fields of a remedy
    host: str,
    title: str,
    text: str,
    changes: str,
    *,
    risk: str = SLOWER,
    undo: str = NOT_UNDONE.removeprefix("# "),
    verify: str = "findmnt -T PATH    # the options in force",
    needs: Needs = Needs.NONE,
) -> Remedy:
    return Remedy(
        title=title,
        target=host,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=text,
        changes=changes,
        risk=risk,
        undo=undo,
        verify=verify,
        needs=needs,
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
