"""Pseudonyms in evidence of storage: paths, volumes, pools, labels, and the servers of remote file systems.

The names are taken from what a file was read as, so that a path with a blank, or in a folder that only this host has,
is one name; it is then known in all files. Names of the kernel's devices (sda1, dm-0) stay.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.document import Document
from ldapdiag.evidence.storage import (
    BlockDevice,
    BlockDevices,
    DirectorySize,
    FileExtents,
    FileSystemSpace,
    Mount,
    MountTable,
    Superblock,
    XfsGeometry,
    ZfsProperties,
)
from ldapdiag.evidence.storage.probe import StorageProbe
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.evidence.format import Format
    from ldapdiag.sources.anonymising.text_anonymiser import TextAnonymiser

FORMATS = frozenset(
    {"mountinfo", "proc-mounts", "mount", "findmnt", "lsblk", "sysfs", "df", "stat-f", "superblock", "xfs-info"}
    | {"zfs-get", "filefrag", "file-extents", "directory-sizes", "kernel-messages", "storage-probe"}
)
KERNEL_NAME = pattern(
    r"(?:(?:sd|vd|xvd|hd|ubd)[a-z]{1,3}|nvme\d+(?:c\d+)?n\d+|(?:mmcblk|loop|md|dm-|zram|sr|ram|nbd|bcache)\d+|c\d+(?:t\w+)?d\d+)"
    r"(?:[ps]?\d{1,4})?",
    re.ASCII,
)
SYSTEM_FOLDERS = ("/proc/", "/sys/", "/dev/")
SHARED_MEMORY = "/dev/shm/"  # noqa: S108  a name in evidence, not a file of ours
MAPPER = "/dev/mapper/"
REMOTE = pattern(r"(?P<hosts>(?://)?(?:\[[0-9A-Fa-f:.%]+\]|[^/\[])+)(?P<path>/.*|)", re.DOTALL)
"""server:/export, [fd00::1]:/export, //server/share, user@server:/home, 10.0.0.1:6789,10.0.0.2:6789:/."""
HOST_PART = pattern(r"(\[[0-9A-Fa-f:.%]+\]|[/,:@#$;]+)")
NETWORK_TYPE = pattern(r"(?:tcp|o2ib|gni|kfi)?\d{0,5}")
"""Of Lustre; or a port."""
PLACE = pattern(r"[/:]")
"""In a source that is no bare word, as tmpfs and overlay are."""
BARE = frozenset(
    {"none", "udev", "shm", "overlay", "systemd-1", "rootfs", "proc", "sysfs", "gvfsd-fuse", "portal", "-"}
)
"""Sources of file systems without a device, beside the name of their type."""
IN_OPTION = pattern(r"(?:^|[=:])(/[^:=]*)")
OPTION = pattern(r"(?P<key>(?<=[\s,(\"'])[A-Za-z][\w.-]{0,40}=)(?P<value>[^,\s\"'()]+)")
OPTIONS_OF = frozenset({"mountinfo", "proc-mounts", "mount", "findmnt"})
KEPT_OPTIONS = frozenset(
    re.findall(
        r"\S+",
        """
        vers sec proto mode nr_inodes size local_lock mountproto lookupcache data errors compress compress-force commit
        discard space_cache subvol fsync index metacopy redirect_dir xino cache trans access barrier allocsize logbsize
        lowerdir upperdir workdir iocharset codepage shortname usrquota jqfmt alloc_mode checkpoint_merge fsync_mode
        """,
    )
)
"""Options whose values are words of the kernel, or paths that are replaced as such; others may name anything."""
NUMERIC = pattern(r"(?:0x)?\d{1,16}(?:[.:]\d{1,3})?[kKmMgGtT%]?")
BY = "/dev/disk/"
HARDWARE = pattern(
    r"(?P<key>(?:\bdm/uuid|/(?:wwid|serial|wwn|model|vpd\w*)): ?(?:LVM-|mpath-|CRYPT-\w+-|part\d+-mpath-|DMRAID-)?)"
    r"(?P<value>[^\s:][^\s]*)"
)
"""What identifies a disk or a volume: the type before it stays."""
ESCAPES = {" ": "\\040", "\t": "\\011", "\n": "\\012", "\\": "\\134", "#": "\\043"}

UUID = pattern(r"(?<![\w-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w])")
LABEL = pattern(
    r'(?m)(?P<key>^Filesystem volume name: +|"(?:label|partlabel|serial|wwn|ptuuid|partuuid)": *")'
    r'(?P<value>[^"<\n][^"\n]*)'
)
JOURNAL_HOST = pattern(r"(?m)^(?P<time>\S{3} [ \d]\d [\d:.]+ |\d{4}-\d\d-\d\dT\S+ )(?P<host>[\w.:-]+)(?= kernel: )")
SERVER = pattern(r"(?P<before>\bnfs: server )(?P<host>[\w.:-]+)")
PROGRAM = pattern(r"(?P<before>\bcomm )(?P<program>[^\s:]+)")


def anonymised_storage(text: str, form: Format, anonymiser: TextAnonymiser) -> str:
    """Return the text of a file of one of FORMATS with pseudonyms; its names become known."""
    document = Document(path="storage", source=text.splitlines())
    found = {name for fact in (form.read(document) if form.read else ()) for name in _names(fact) if len(name) > 1}
    names = {name: _pseudonym(name, anonymiser) for name in found}
    names |= {form(name): form(new) for form in (_escaped, _in_json) for name, new in [*names.items()]}
    if form.name in OPTIONS_OF:
        text = OPTION.sub(lambda one: one["key"] + _option(one["key"][:-1], one["value"], anonymiser), text)
    text = HARDWARE.sub(lambda one: one["key"] + anonymiser.value_of(one["value"]), text)
    text = UUID.sub(lambda one: anonymiser.value_of(one[0]), text)
    text = LABEL.sub(lambda one: one["key"] + _component(one["value"], anonymiser), text)
    text = JOURNAL_HOST.sub(lambda one: one["time"] + _host(one["host"], anonymiser), text)
    text = SERVER.sub(lambda one: one["before"] + _host(one["host"], anonymiser), text)
    text = PROGRAM.sub(lambda one: one["before"] + anonymiser.program(one["program"]), text)
    if not names:
        return anonymiser.text(text)
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    parts = re.split(rf"(?<![A-Za-z\d_])({longest_first})(?![A-Za-z\d_=/])", text)
    return "".join(names[part] if at % 2 else anonymiser.text(part) for at, part in enumerate(parts))


def _names(fact: Any) -> Iterable[str]:  # noqa: ANN401  facts of all kinds
    """Return the names in a fact that may be those of people, customers or hosts."""
    match fact:
        case MountTable():
            return (name for mount in fact.mounts for name in _of_mount(mount))
        case BlockDevices():
            return (name for device in fact.devices for name in _of_device(device))
        case FileSystemSpace():
            return (name for row in fact.rows for name in (row.mount_point, row.source) if PLACE.search(name))
        case ZfsProperties():
            return (*fact.datasets, *(values.get("mountpoint", "") for values in fact.datasets.values()))
        case FileExtents() | DirectorySize():
            return (fact.path, getattr(fact, "real_path", ""))
        case Superblock(last_mounted_on=one, device=other) | StorageProbe(directory=one, mount_point=other):
            return (one, other)
        case XfsGeometry():
            return (fact.device, fact.log if PLACE.search(fact.log) else "")
        case _:
            return ()


def _of_mount(mount: Mount) -> Iterator[str]:
    yield from (mount.mount_point, mount.root)
    yield from (path for option in mount.super_options for path in IN_OPTION.findall(option))
    if PLACE.search(mount.source) or mount.source not in BARE | {mount.fs_type}:
        yield mount.source


def _of_device(device: BlockDevice) -> Iterator[str]:
    yield from (device.mapper_name, device.backing_file, *device.mount_points)
    yield from (name for name in (device.name, *device.parents) if not KERNEL_NAME.fullmatch(name))


def _pseudonym(name: str, anonymiser: TextAnonymiser) -> str:
    """Return the pseudonym of a path, a device, a remote folder, a dataset or a volume, by its form."""
    if name.startswith(MAPPER):
        return MAPPER + _component(name.removeprefix(MAPPER), anonymiser)
    if name.startswith("/") and not name.startswith("//"):
        if name.startswith(BY):
            kind, _, last = name.removeprefix(BY).partition("/")
            return f"{BY}{kind}/{_hosts(last, anonymiser)}"
        if name.startswith(SYSTEM_FOLDERS) and not name.startswith(SHARED_MEMORY):
            return name
        anonymiser.add_folder(name.split("/")[1])
        return anonymiser.path(name)
    remote = REMOTE.fullmatch(name)
    if remote and (name.startswith("//") or HOST_PART.search(remote["hosts"])):
        return _hosts(remote["hosts"], anonymiser) + anonymiser.path(remote["path"])
    return _component(name, anonymiser)


def _hosts(text: str, anonymiser: TextAnonymiser) -> str:
    """Return pseudonyms for hosts, addresses and users between signs; ports and types of networks stay."""
    parts = HOST_PART.split(text)
    return "".join(
        part if not part.strip("/,:@#$;") or NETWORK_TYPE.fullmatch(part) else _host(part, anonymiser) for part in parts
    )


def _option(key: str, value: str, anonymiser: TextAnonymiser) -> str:
    """Return the value of a mount option with pseudonyms unless it is a number, or one that has words of the kernel."""
    if key in KEPT_OPTIONS or NUMERIC.fullmatch(value) or "/" in value:
        return value  # a path is replaced with the names of its mount
    return _hosts(value, anonymiser)


def _component(name: str, anonymiser: TextAnonymiser) -> str:
    """Return the pseudonym of a name as that of a part of a path."""
    return name if KERNEL_NAME.fullmatch(name) else anonymiser.path(f"/{name}")[1:]


def _host(name: str, anonymiser: TextAnonymiser) -> str:
    anonymiser.add_host(name)
    bare = name.strip("[]")
    return name.replace(bare, anonymiser.host(bare))


def _escaped(name: str) -> str:
    return "".join(ESCAPES.get(sign, sign) for sign in name)


def _in_json(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)[1:-1]
