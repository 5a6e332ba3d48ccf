"""Facts of the storage of a host: mounts, options in force, block devices, space, extents of files, device errors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import ClassVar

from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One row of a mount table."""

    mount_point: str
    """As the process sees it, without escapes."""
    source: str
    """/dev/sda1, server:/export, tank/ldap, tmpfs; empty: not printed."""
    fs_type: str
    """As printed: ext4, xfs, btrfs, zfs, nfs4, overlay, tmpfs, ufs. The driver of ext4 prints ext3 and ext2, too."""
    options: tuple[str, ...] = ()
    """Of this mount (field 6 of mountinfo); empty where the table has one list for both: it is in super_options."""
    super_options: tuple[str, ...] = ()
    """Of the file system. ext4 does not print options that are the defaults of its superblock (tune2fs -o)."""
    device: str = ""
    """Major and minor number, as in "8:1"; empty: not printed. btrfs, overlay, NFS and tmpfs have 0:N, no disk's."""
    root: str = ""
    """The folder of the file system that is mounted: `/`, or that of a bind mount or subvolume; empty: not printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountTable:
    """The mounts of one mount namespace, in the order of the table: the later of two at one place hides the other."""

    kind: ClassVar[str] = "mounts"
    how: ClassVar[str] = "on the server: cat /proc/PID/mountinfo > mountinfo.txt (PID of the directory server)"

    origin: Origin
    mounts: tuple[Mount, ...]
    complete: bool
    """True: it contains the root; False: an excerpt, so that what contains a path may be absent."""
    shows_atime: bool
    """Whether a row with neither relatime nor noatime means strictatime; not in /etc/mtab, nor on Solaris."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveOptions:
    """All options in force of one ext2, ext3 or ext4 file system, with the defaults of its superblock."""

    kind: ClassVar[str] = "ext4-options"
    how: ClassVar[str] = "on the server: grep -H '' /proc/fs/ext4/*/options > ext4-options.txt"

    origin: Origin
    device: str
    """sda1, dm-3; empty: unknown, because only the content of the file was captured."""
    options: tuple[str, ...]
    """As printed, in their order: barrier or nobarrier, data=ordered, commit=5 …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Superblock:
    """The superblock of an ext2, ext3 or ext4 file system."""

    kind: ClassVar[str] = "superblock"
    how: ClassVar[str] = "as root on the server: tune2fs -l /dev/DEVICE > tune2fs-DEVICE.txt"

    origin: Origin
    device: str
    """/dev/sda1, from the command; empty: unknown."""
    uuid: str
    features: frozenset[str]
    """has_journal, dir_index, extent, fast_commit …"""
    default_options: tuple[str, ...]
    """In force unless the mount overrides them, and not shown by mount: nobarrier, journal_data_writeback …"""
    last_mounted_on: str = ""
    block_bytes: int | None = None
    error_count: int | None = None
    """Errors since the last fsck; None: not printed, which means none."""
    first_error: str = ""
    last_error: str = ""
    """Times of errors, as printed, in the time zone of the host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class XfsGeometry:
    """The geometry of an XFS file system."""

    kind: ClassVar[str] = "xfs-geometry"
    how: ClassVar[str] = "on the server: xfs_info MOUNTPOINT > xfs-info.txt"

    origin: Origin
    device: str
    log: str
    """`internal log`, or the device of an external log; empty: not printed."""
    block_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ZfsProperties:
    """Properties of ZFS datasets, as text."""

    kind: ClassVar[str] = "zfs-properties"
    how: ClassVar[str] = "on the server: zfs get -H sync,logbias,atime,recordsize,compression,mountpoint > zfs-get.txt"

    origin: Origin
    datasets: Mapping[str, Mapping[str, str]]
    """By the name of the dataset, the values by property."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDevice:
    """One block device: a disk, a partition, or one that is made of others."""

    name: str
    """As the kernel names it (sda1, dm-0); lsblk without its column KNAME: as /dev/mapper does (vgldap-db)."""
    number: str = ""
    """Major and minor number: "8:1"; empty: not read."""
    type: str = ""
    """disk, part, lvm, dm, crypt, mpath, raid1, loop, zram … as lsblk names them; empty: unknown."""
    parents: tuple[str, ...] = ()
    """The names of the devices that it lies on, one step down; empty: the bottom."""
    write_cache: str = ""
    """`write back`: flushes are sent; `write through`: the kernel sends none; empty: not read."""
    rotational: bool | None = None
    """As the device states it; disks of virtual machines often state it wrongly."""
    fua: bool | None = None
    scheduler: str = ""
    """The active one; empty: not read."""
    backing_file: str = ""
    """Of a loop device."""
    bytes: int | None = None
    """Its size; rounded where lsblk printed 1.5T."""
    model: str = ""
    mapper_name: str = ""
    """The name under /dev/mapper; empty: none, or not read."""
    mount_points: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDevices:
    """The block devices of a host."""

    kind: ClassVar[str] = "block-devices"
    how: ClassVar[str] = (
        "on the server: lsblk -O -J > lsblk.json; grep -H '' /sys/block/*/queue/write_cache > write-cache.txt"
    )

    origin: Origin
    devices: tuple[BlockDevice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """The space of one mounted file system, or the number of its inodes, or both."""

    mount_point: str
    source: str = ""
    fs_type: str = ""
    """As printed; stat -f prints `ext2/ext3` for ext4, too; empty: not printed."""
    total_bytes: int | None = None
    used_bytes: int | None = None
    free_bytes: int | None = None
    """For accounts without privileges."""
    total_inodes: int | None = None
    """0: the file system reports none, because their number is not fixed (btrfs); None: the row is not about them."""
    free_inodes: int | None = None
    taken: datetime | None = None
    """When it was listed; None: not known."""
    folders: int = 1
    """Folders of its mount point for which it was listed with different amounts; these are the least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystemSpace:
    """The space of file systems. It contains no options, so it is no mount table."""

    kind: ClassVar[str] = "file-system-space"
    how: ClassVar[str] = "on the server: (df -PkT; df -PiT) > df.txt (df -k where -T is unknown)"

    origin: Origin
    rows: tuple[Space, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileExtents:
    """In how many pieces one file lies on its disk."""

    kind: ClassVar[str] = "file-extents"
    how: ClassVar[str] = "as root on the server: filefrag -v DATABASE_FILES > filefrag.txt"

    origin: Origin
    path: str
    bytes: int | None = None
    """The apparent size: a sparse file allocates less; None: not printed."""
    allocated_bytes: int | None = None
    extents: int | None = None
    complete: bool = True
    """False: counting stopped; there are at least as many extents."""
    unsupported: str = ""
    """Why the number of extents is unknown."""
    compressed: bool = False
    """btrfs stores compressed data in pieces of 128 KiB: their number shows no fragmentation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectorySize:
    """How many names a directory contains."""

    kind: ClassVar[str] = "directory-size"
    how: ClassVar[str] = (
        "on the server: for each D, printf '%s\\t%s\\n' D \"$(ls -U D | wc -l)\" >> directory-sizes.txt"
    )

    origin: Origin
    path: str
    names: int
    complete: bool = True
    """False: counting stopped; there are at least as many."""
    real_path: str = ""
    """The path without symbolic links; empty: not collected."""


class Mounted(Enum):
    """When a message came, compared with the last mount of a file system on its device in the same text."""

    SINCE = "since the last mount"
    SAME_BEFORE = "before it, while the same file system (by its UUID) was mounted"
    OTHER_BEFORE = "before it, while another file system was mounted"
    UNKNOWN_BEFORE = "before it; the messages do not show which file system was mounted"
    UNKNOWN = "no mount of the device in the text"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceError:
    """One message of the kernel about a failed read, write or flush, or its consequence."""

    device: str
    """sda, dm-0, nvme0n1; empty: the message names none, or a port (ata1)."""
    what: str
    """What failed, in words: `I/O error`, `medium error`, `remounted read-only`, `file system shut down` …"""
    text: str
    """The message without its time, cut."""
    when: datetime | None = None
    """Where the time is printed with its zone."""
    since_boot_seconds: float | None = None
    """Where seconds since boot are printed."""
    printed_time: str = ""
    """As printed, where it has no zone."""
    of_file_system: bool = False
    """Whether a file system or its journal reported it; False: the device or the page cache."""
    mounted: Mounted = Mounted.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelErrors:
    """The messages of the kernel about errors of block devices and file systems; none: it reported none."""

    kind: ClassVar[str] = "kernel-messages"
    how: ClassVar[str] = "as root on the server: dmesg > dmesg.txt (or journalctl -k > kernel.txt)"

    origin: Origin
    errors: tuple[DeviceError, ...]
    """In the order of the text; of many, the first and the last."""
    lines_read: int
    """Messages of the kernel that were looked at."""
    from_boot: bool
    """Whether it begins with the boot; False: earlier messages were overwritten or left out."""
    omitted: int = 0
    """Errors beyond those in `errors`."""


STORAGE_OF_HOST = (
    *(BlockDevices, DirectorySize, EffectiveOptions, FileExtents, FileSystemSpace, KernelErrors, MountTable),
    *(Superblock, XfsGeometry, ZfsProperties),
)
"""The facts about the storage of a host, whether it has a directory server or not."""
