"""Options: what is in force for a mounted file system, and which source shows it.

The order of sources: /proc/fs/ext4/DEV/options has every option in force; a mount table those that differ from the
defaults in the superblock, so one that is not printed may be a default that tune2fs -o has set (ext4_show_options in
fs/ext4/super.c); tune2fs -l has these defaults. XFS, btrfs and overlay print what differs from the kernel's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.evidence.storage import EffectiveOptions, Mount, Superblock

EXT = frozenset({"ext2", "ext3", "ext4", "ext2/ext3"})
"""`ext2/ext3` is what stat -f prints for all three."""
MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})
NETWORK = frozenset(
    {"nfs", "nfs3", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "glusterfs", "fuse.glusterfs", "afs"}
)
ALWAYS_FLUSH = frozenset({"xfs", "btrfs"})
"""They flush the disk's cache unless `nobarrier` is printed."""

BY_MOUNT = "the mount table"
BY_SUPERBLOCK = "tune2fs -l"
BY_ZFS = "zfs get"
BY_TYPE = "the type of the file system"

WORDS: Mapping[str, tuple[str, Any]] = {
    "barrier": ("barrier", True),
    "barrier=1": ("barrier", True),
    "nobarrier": ("barrier", False),
    "barrier=0": ("barrier", False),
    "data=ordered": ("journal", "ordered"),
    "data=journal": ("journal", "journal"),
    "data=writeback": ("journal", "writeback"),
    "nologging": ("journal", "none"),
    "journal_async_commit": ("async_commit", True),
    "noatime": ("atime", "noatime"),
    "relatime": ("atime", "relatime"),
    "strictatime": ("atime", "strictatime"),
    "lazytime": ("lazytime", True),
    "sync": ("sync", True),
    "wsync": ("sync", True),
    "volatile": ("volatile", True),
    "fsync=volatile": ("volatile", True),
    "soft": ("soft", True),
    "softerr": ("soft", True),
    "hard": ("soft", False),
    "nodatacow": ("cow", False),
}
"""Words of mount(8) and of the kernel: what they set."""
SUPERBLOCK_WORDS: Mapping[str, tuple[str, Any]] = {
    "nobarrier": ("barrier", False),
    "journal_data": ("journal", "journal"),
    "journal_data_ordered": ("journal", "ordered"),
    "journal_data_writeback": ("journal", "writeback"),
}
"""Default mount options as tune2fs(8) names them."""
TELLING = {
    ("barrier", False): "nobarrier",
    ("journal", "writeback"): "data=writeback",
    ("journal", "journal"): "data=journal",
    ("async_commit", True): "journal_async_commit",
}
"""Options of ext4 that a report names where a mount table does not show them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options in force. None: the evidence does not show it."""

    barrier: bool | None = None
    """A sync makes the file system flush the caches of its disks."""
    journal: str | None = None
    """`ordered`, `journal` or `writeback` of ext3 and ext4; `none`: the file system has no journal."""
    async_commit: bool | None = None
    atime: str | None = None
    """`strictatime`, `relatime` or `noatime`."""
    lazytime: bool = False
    sync: bool = False
    """Each write waits for the disk."""
    read_only: bool | None = None
    commit_seconds: int | None = None
    volatile: bool | None = None
    """A sync returns although nothing was written: overlay with `volatile`, ZFS with sync=disabled."""
    soft: bool | None = None
    """NFS: a time-out becomes an I/O error."""
    cow: bool | None = None
    """btrfs and ZFS write each change to another place."""
    compression: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    """What shows each of them, by the name of the field."""
    contradicted: frozenset[str] = frozenset()
    """The fields of which two sources show different values; the unsafe one counts."""
    hidden: tuple[str, ...] = ()
    """Options in force that the mount table does not show: they are defaults in the superblock."""
    words: tuple[str, ...] = ()
    """The mount table's words, as printed."""


def options_of(
    mount: Mount,
    *,
    shows_atime: bool,
    effective: EffectiveOptions | None = None,
    superblock: Superblock | None = None,
    zfs: Mapping[str, str] | None = None,
) -> Options:
    """Return the options in force of one mount, from the sources there are."""
    printed = (*mount.options, *mount.super_options)
    known: dict[str, tuple[Any, str]] = {}
    mount_words = dict(_meanings(printed))
    if "ro" in printed or "rw" in printed:
        known["read_only"] = ("ro" in printed, BY_MOUNT)  # of the mount, or of the file system below it
    _learn(known, mount_words.items(), BY_MOUNT)  # what is printed is in force
    contradicted: frozenset[str] = frozenset()
    if effective is not None:
        shown, source = _all_of(effective), f"/proc/fs/ext4/{effective.device or 'DEVICE'}/options"
        contradicted = _contradicted(known, shown, source)
        _learn(known, shown.items(), source)
    if mount.fs_type in EXT:
        _learn(known, _of_superblock(mount, superblock, printed=bool(printed)), BY_SUPERBLOCK)
    _learn(known, _of_zfs(zfs or {}), BY_ZFS)
    if printed:
        _learn(known, _of_type(mount.fs_type), BY_TYPE)
        if shows_atime and mount.fs_type not in NETWORK | MEMORY:
            known.setdefault("atime", ("strictatime", BY_MOUNT))
    hidden = [
        word
        for (name, value), word in TELLING.items()
        if printed and mount.fs_type in EXT and known.get(name, (None, ""))[0] == value and name not in mount_words
    ]
    return Options(
        **{name: value for name, (value, _) in known.items()},
        sources={name: source for name, (_, source) in known.items()},
        contradicted=contradicted,
        hidden=tuple(hidden),
        words=printed,
    )


def _learn(known: dict[str, tuple[Any, str]], found: Iterable[tuple[str, Any]], source: str) -> None:
    for name, value in found:
        known.setdefault(name, (value, source))


def _contradicted(known: dict[str, tuple[Any, str]], shown: Mapping[str, Any], source: str) -> frozenset[str]:
    """Return the fields of which the list of options in force shows another value; keep the unsafe one of both.

    The kernel prints both, so one of them was read before the volume was mounted anew: which one, nothing shows.
    """
    fields = {name for name, _ in TELLING if name in known and name in shown and known[name][0] != shown[name]}
    for name in fields:
        value, by, other = *known[name], source
        if (name, value) not in TELLING:
            value, by, other = shown[name], source, by
        known[name] = value, f"{by} ({other} shows another value: one of them is out of date)"
    return frozenset(fields)


def _meanings(words: Iterable[str]) -> Iterator[tuple[str, Any]]:
    for word in words:
        if word in WORDS:
            yield WORDS[word]
        name, _, value = word.partition("=")
        if name == "commit" and value.isascii() and value.isdigit() and len(value) < 10:
            yield "commit_seconds", int(value)
        elif name in {"compress", "compress-force"}:
            yield "compression", value or "zlib"


def _all_of(effective: EffectiveOptions) -> dict[str, Any]:
    """Return what the kernel's own list shows; what it does not list is not in force."""
    found = dict(_meanings(effective.options))
    if "barrier" not in found:
        return found  # an excerpt: ext4 prints one of both words
    return {"journal": "none", "async_commit": False} | found  # without data= there is no journal


def _of_superblock(mount: Mount, superblock: Superblock | None, *, printed: bool) -> Iterator[tuple[str, Any]]:
    """Yield the defaults in a superblock; they are in force where a mount table shows no other value."""
    if mount.fs_type == "ext2" or (superblock is not None and superblock.features and not _has_journal(superblock)):
        yield "journal", "none"
    if superblock is None:
        return
    yield from (SUPERBLOCK_WORDS[word] for word in superblock.default_options if word in SUPERBLOCK_WORDS)
    if printed:
        if mount.fs_type != "ext3":  # until Linux 3.1, the driver of ext3 used barriers only if it was asked to
            yield "barrier", True
        yield "async_commit", False
        if superblock.features:
            yield "journal", "ordered"


def _has_journal(superblock: Superblock) -> bool:
    return "has_journal" in superblock.features


def _of_zfs(properties: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    if "sync" in properties:
        yield "volatile", properties["sync"] == "disabled"
    if properties.get("atime") == "off":
        yield "atime", "noatime"
    elif properties.get("atime") == "on" and "relatime" in properties:
        yield "atime", "relatime" if properties["relatime"] == "on" else "strictatime"
    if properties.get("compression", "off") not in {"off", ""}:
        yield "compression", properties["compression"]


def _of_type(fs_type: str) -> Iterator[tuple[str, Any]]:
    """Yield what a file system does where its row shows nothing else."""
    if fs_type in ALWAYS_FLUSH:
        yield "barrier", True
    if fs_type in {"btrfs", "zfs"}:
        yield "cow", True
    if fs_type == "overlay":
        yield "volatile", False
