"""The block devices of Linux in /sys, as grep -H, ls -d and ls -l print them.

    /sys/block/sda/queue/write_cache:write back              (grep -H ''; also with a blank after the colon)
    /sys/block/sda/sda1/partition:1
    /sys/block/sda/sda1/dev:8:1
    /sys/block/dm-0/dm/uuid:LVM-VwND5MnV3sGXj0ouUEbvdAzLPy1c
    /sys/block/dm-0/dev: 254:0 slaves: sda1 sdb  dm/name: vg-db  (several attributes in one line)
    /sys/block/dm-0/slaves/sda1                              (ls -d /sys/block/*/slaves/*)
    … 8:1 -> ../../devices/pci0000:00/…/block/sda/sda1       (ls -l /sys/dev/block)

Source: Documentation/ABI/stable/sysfs-block of Linux; lsblk(8) for the names of types.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import BlockDevice, BlockDevices
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

NAME = r"[\w.!+@-]{1,64}"
NUMBER = r"\d{1,7}:\d{1,8}"
BLOCK = r"/sys/(?:class/)?block"
ATTRIBUTE = pattern(
    rf"{BLOCK}/(?P<disk>{NAME})(?:/(?!queue/|dm/|md/|loop/|device/|slaves/)(?P<part>{NAME}))?"
    r"/(?P<name>(?:queue/|dm/|md/|loop/|device/)?\w{1,64}):(?P<value>.*)",
    re.ASCII,
)
SLAVE = pattern(rf"{BLOCK}/(?P<disk>{NAME})/slaves/(?P<slave>{NAME})", re.ASCII)
LINK = pattern(rf"(?:^|[ /])(?P<number>{NUMBER}) -> (?:\.\./){{1,4}}devices/(?P<path>\S{{1,1000}})$", re.ASCII)
PART = pattern(r"p?\d{1,4}", re.ASCII)
"""What the name of a partition has behind that of its disk."""
SEVERAL = pattern(r" {1,4}(slaves|[a-z]{2}/\w{1,32}):")
"""Where the next attribute of a line with several begins."""
LISTING = pattern(
    rf"/sys/(?:dev/block/(?P<number>{NUMBER})|(?:class/)?block/(?P<disk>{NAME}))/?(?P<rest>[\w/]{{0,64}}):", re.ASCII
)
"""The heading of ls -l or ls before the names in a directory."""
LISTED = pattern(rf"(?:total \d+|(?:[a-z-]{{10}}[.+]? .{{0,100}} )?(?P<name>{NAME})(?: -> \S{{0,1000}})?)", re.ASCII)

MOST_DEVICES = 10_000
LONGEST_VALUE = 1024
SECTOR_BYTES = 512
"""The unit of the attribute size, whatever the sectors of the device are."""

KINDS = {"dm-": "dm", "md": "md", "loop": "loop", "zram": "zram", "sr": "rom"}
"""Types of whole devices by the beginning of their names; all others are disks."""
MAPPER_KINDS = {"LVM": "lvm", "CRYPT": "crypt", "mpath": "mpath", "part": "part"}
"""Types of device-mapper devices by the beginning of their UUID (lsblk(8) names them alike)."""


@dataclass(slots=True)
class Attributes:
    """The attributes of one device while a file is read."""

    values: dict[str, str] = field(default_factory=dict)
    parents: list[str] = field(default_factory=list)
    number: str = ""
    is_whole: bool = False
    """It is a folder of /sys/block itself."""


@dataclass(slots=True)
class DeviceTree:
    """The devices while a file is read."""

    by_name: dict[str, Attributes] = field(default_factory=dict)
    listed: str | None = None
    """The device whose directory `slaves` is being listed; empty: another directory is; None: none is."""
    names: dict[str, str] = field(default_factory=dict)
    """By number."""

    def of(self, name: str) -> Attributes:
        """Return the lines of a device; beyond the limit, ones that are not kept."""
        if len(self.by_name) >= MOST_DEVICES:
            return self.by_name.get(name, Attributes())
        return self.by_name.setdefault(name, Attributes())

    def lies_on(self, name: str, parent: str) -> None:
        """Add that a device lies on another."""
        lines = self.of(name)
        if parent not in lines.parents and parent != name and len(lines.parents) < MOST_DEVICES:
            lines.parents.append(parent)

    def take(self, line: str) -> bool:
        """Read a line; return whether it is one of /sys."""
        if found := SLAVE.fullmatch(line):
            self.lies_on(found["disk"], found["slave"])
        elif found := ATTRIBUTE.fullmatch(line):
            self._take_attribute(found["disk"], found["part"], found["name"], found["value"])
        elif found := LINK.search(line):
            self._take_link(found["number"], found["path"])
        elif found := LISTING.fullmatch(line):
            self.listed = self._listed(found) if found["rest"].strip("/") == "slaves" else ""
        else:
            return self._take_listed(line)
        return True

    def _take_attribute(self, disk: str, part: str | None, name: str, value: str) -> None:
        self.listed = None
        if part and not _is_part(part, disk):
            return  # a folder of the device: integrity, power …
        if part:
            self.lies_on(part, disk)
        else:
            self.of(disk).is_whole = True
        first, *others = SEVERAL.split(value)
        pairs = [(name, first), *zip(others[::2], others[1::2], strict=True)]
        for one, text in pairs:
            if one == "slaves":
                for slave in text.split():
                    self.lies_on(disk, slave[:LONGEST_VALUE])
            else:
                self.of(part or disk).values.setdefault(one, text.strip()[:LONGEST_VALUE])

    def _take_link(self, number: str, path: str) -> None:
        folders = path.rstrip("/").split("/")
        name, above = folders[-1], folders[-2] if len(folders) > 1 else ""
        if not re.fullmatch(NAME, name, re.ASCII):
            return
        if _is_part(name, above):
            self.lies_on(name, above)
        else:
            self.of(name).is_whole = True
        self.of(name).number = number
        if len(self.names) < MOST_DEVICES:
            self.names[number] = name

    def _listed(self, found: re.Match[str]) -> str:
        return found["disk"] or self.names.get(found["number"], "")

    def _take_listed(self, line: str) -> bool:
        found = LISTED.fullmatch(line)
        if self.listed is None:
            return found is not None and found["name"] is None
        if found and found["name"] and self.listed:
            self.lies_on(self.listed, found["name"])
        return found is not None


def recognises(head: Head) -> bool:
    """Recognise an attribute of a block device, a device below another, or a link of /sys/dev/block."""
    return any(
        (line.startswith("/sys/") and (ATTRIBUTE.fullmatch(line) or SLAVE.fullmatch(line)))
        or (" -> ../../devices/" in line and LINK.search(line))
        for line in head.lines
    )


def read(document: Document) -> Iterator[BlockDevices]:
    """Read every device."""
    devices = DeviceTree()
    for line in document.lines:
        if not devices.take(line.rstrip()) and line.strip():
            document.misread(line)
    if devices.by_name:
        known = tuple(_device(name, lines) for name, lines in devices.by_name.items())
        yield BlockDevices(origin=document.origin(), devices=known)


def _device(name: str, lines: Attributes) -> BlockDevice:
    values = lines.values
    size = values.get("size", "")
    return BlockDevice(
        name=name,
        number=lines.number or _number(values.get("dev", "")),
        type=_type(name, lines),
        parents=tuple(lines.parents),
        write_cache=values.get("queue/write_cache", ""),
        rotational=_flag(values.get("queue/rotational", "")),
        fua=_flag(values.get("queue/fua", "")),
        scheduler=_active(values.get("queue/scheduler", "")),
        backing_file=values.get("loop/backing_file", ""),
        bytes=int(size) * SECTOR_BYTES if re.fullmatch(r"\d{1,16}", size, re.ASCII) else None,
        model=values.get("device/model", ""),
        mapper_name=values.get("dm/name", ""),
    )


def _is_part(name: str, disk: str) -> bool:
    """Return whether a device is a partition of another, by their names: sda1, nvme0n1p1."""
    return bool(disk) and name.startswith(disk) and PART.fullmatch(name, len(disk)) is not None


def _type(name: str, lines: Attributes) -> str:
    """Return the type of a device; empty for one that is only named as part of another."""
    if "partition" in lines.values or (lines.parents and not lines.is_whole):
        return "part"
    if level := lines.values.get("md/level"):
        return level
    if uuid := lines.values.get("dm/uuid"):
        return next((kind for start, kind in MAPPER_KINDS.items() if uuid.startswith(start)), "dm")
    known = next((kind for start, kind in KINDS.items() if name.startswith(start)), "")
    return known or ("disk" if lines.is_whole else "")


def _number(text: str) -> str:
    return text if re.fullmatch(NUMBER, text, re.ASCII) else ""


def _flag(text: str) -> bool | None:
    return {"0": False, "1": True}.get(text)


def _active(text: str) -> str:
    """Return the scheduler in brackets, or the only one."""
    found = re.search(r"\[([\w-]{1,32})\]", text, re.ASCII)
    return found[1] if found else text if re.fullmatch(r"[\w-]{1,32}", text, re.ASCII) else ""


FORMAT = Format(name="sysfs", title="the block devices of /sys", recognises=recognises, read=read)
