"""The block devices that lsblk -J prints, with all columns (-O) or few; with -s the tree is turned over.

    {"blockdevices": [{"name": "sda", "maj:min": "8:0", "type": "disk", "rota": true, "mountpoint": null,
        "children": [{"name": "sda1", "type": "part", "mountpoint": "/srv/ldap", …}]}]}

Without -s a child lies on its parent; with -s the parent lies on its children, whose last are disks. A device that
lies on several others is printed below each. Numbers are text in older versions ("rota": "1"), and sizes are rounded
without -b. Source: lsblk(8).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import BlockDevice, BlockDevices
from ldapdiag.evidence.storage.json_text import has_list, list_of, text_at, tree
from ldapdiag.evidence.storage.sizes import bytes_of
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.evidence.document import Document

LIST = "blockdevices"
BOTTOM = frozenset({"disk", "loop", "rom", "zram"})
NUMBER = pattern(r"\d{1,7}:\d{1,8}", re.ASCII)
FLAGS = {True: True, False: False, "1": True, "0": False}
MOST_DEVICES = 10_000
LONGEST = 4096

Pair = tuple[dict[str, Any], dict[str, Any] | None]
"""A device, and the one it is printed below."""


def recognises(head: Head) -> bool:
    """Recognise the object by its only key."""
    return has_list(head.lines, LIST)


def read(document: Document) -> Iterator[BlockDevices]:
    """Read every device once, with all that it lies on."""
    pairs = [pair for pair in tree(list_of(document, LIST)) if _name(pair[0])]
    devices: dict[str, BlockDevice] = {}
    for node, _ in pairs:
        name = _name(node)
        if name not in devices and len(devices) < MOST_DEVICES:
            devices[name] = _device(name, node)
    parents: dict[str, dict[str, None]] = {}
    turned = _is_turned(pairs)
    for node, above in pairs:
        if above is not None and _name(node) in devices:
            upper, lower = (above, node) if turned else (node, above)
            parents.setdefault(_name(upper), {})[_name(lower)] = None
    if devices:
        found = tuple(replace(one, parents=tuple(parents.get(name, ()))) for name, one in devices.items())
        yield BlockDevices(origin=document.origin(), devices=found)


def _is_turned(pairs: Sequence[Pair]) -> bool:
    """Return whether the tree has the disks at its leaves."""
    return any(
        text_at(node, "type") in BOTTOM and text_at(above, "type") not in BOTTOM
        for node, above in pairs
        if above is not None
    )


def _name(node: dict[str, Any]) -> str:
    return (text_at(node, "kname") or text_at(node, "name")).removeprefix("/dev/").removeprefix("mapper/")[:LONGEST]


def _device(name: str, node: dict[str, Any]) -> BlockDevice:
    number, kind, shown = text_at(node, "maj:min").strip(), text_at(node, "type"), text_at(node, "name")
    is_mapped = text_at(node, "path").startswith("/dev/mapper/") or kind in {"lvm", "dm", "crypt", "mpath"}
    points = node.get("mountpoints")
    points = points if isinstance(points, list) else [node.get("mountpoint")]
    return BlockDevice(
        name=name,
        number=number if NUMBER.fullmatch(number) else "",
        type="zram" if name.startswith("zram") else kind[:LONGEST],
        rotational=_flag(node.get("rota")),
        scheduler=text_at(node, "sched")[:LONGEST],
        backing_file=text_at(node, "back-file")[:LONGEST],
        bytes=_size(node.get("size")),
        model=text_at(node, "model").strip()[:LONGEST],
        mapper_name=shown.removeprefix("/dev/").removeprefix("mapper/")[:LONGEST] if is_mapped else "",
        mount_points=tuple(point[:LONGEST] for point in points if isinstance(point, str) and point),
    )


def _flag(value: object) -> bool | None:
    return FLAGS.get(value) if isinstance(value, bool | int | str) else None


def _size(value: object) -> int | None:
    return bytes_of(str(value)) if isinstance(value, int | str) else None


FORMAT = Format(name="lsblk", title="the block devices that lsblk prints", recognises=recognises, read=read)
