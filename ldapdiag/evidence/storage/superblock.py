"""The superblock of ext2, ext3 and ext4, as tune2fs -l and dumpe2fs -h print it.

    Last mounted on:          /srv/ldap
    Filesystem UUID:          7ad05904-ad2c-4423-8cf0-16b720a13f3d
    Filesystem features:      has_journal ext_attr resize_inode dir_index …
    Default mount options:    user_xattr acl nobarrier
    FS Error count:           3

Neither prints the device; it is taken from the command, where that was captured, too. Source: tune2fs(8), dumpe2fs(8).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import Superblock
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.origin import Origin

FIELD = pattern(r"(?P<name>[A-Z][\w #()-]{2,40}?):(?:\s{1,40}(?P<value>\S.{0,4096}?)?)?\s{0,40}", re.ASCII)
FIRST = "Filesystem volume name"
MAGIC = "Filesystem magic number"
BANNER = pattern(r"(?:tune2fs|dumpe2fs) \d[\w.]{0,20}.{0,40}", re.ASCII)
COMMAND = pattern(r"\b(?:tune2fs|dumpe2fs)\s(?:.{0,200}\s)?(?P<device>/dev/[\w/.:+@-]{1,200})", re.ASCII)
NONE = frozenset({"(none)", "<none>", "<not available>"})
MOST = 1_000
"""Superblocks of a text."""


def recognises(head: Head) -> bool:
    """Recognise the magic number."""
    return any(line.startswith(MAGIC) for line in head.lines)


def read(document: Document) -> Iterator[Superblock]:
    """Read every superblock; the groups of blocks that dumpe2fs prints without -h are ignored."""
    asked = COMMAND.search(document.asked)
    device = asked["device"] if asked else ""
    fields: dict[str, str] = {}
    blocks: list[tuple[str, dict[str, str]]] = []
    in_groups = False
    for line in document.lines:
        if command := COMMAND.search(line[:1000]):
            device = command["device"]
            continue
        found = FIELD.fullmatch(line)
        if found and found["name"] == FIRST:
            fields, in_groups = {}, False
            if len(blocks) < MOST:
                blocks.append((device, fields))
            device = ""
        in_groups = in_groups or line.startswith("Group 0: ")
        if found and blocks and not in_groups:
            fields.setdefault(found["name"], found["value"] or "")
        elif line.strip() and not in_groups and not BANNER.fullmatch(line):
            document.misread(line)
    for name, block in blocks:
        if MAGIC in block:
            yield _superblock(name, block, document.origin())


def _superblock(device: str, fields: dict[str, str], origin: Origin) -> Superblock:
    return Superblock(
        origin=origin,
        device=device,
        uuid=_text(fields, "Filesystem UUID"),
        features=frozenset(_text(fields, "Filesystem features").split()),
        default_options=tuple(_text(fields, "Default mount options").split()),
        last_mounted_on=_text(fields, "Last mounted on"),
        block_bytes=_number(fields, "Block size"),
        error_count=_number(fields, "FS Error count"),
        first_error=_text(fields, "First error time"),
        last_error=_text(fields, "Last error time"),
    )


def _text(fields: dict[str, str], name: str) -> str:
    value = fields.get(name, "")
    return "" if value in NONE else value


def _number(fields: dict[str, str], name: str) -> int | None:
    value = fields.get(name, "")
    return int(value) if re.fullmatch(r"\d{1,18}", value, re.ASCII) else None


FORMAT = Format(name="superblock", title="the superblock of ext4", recognises=recognises, read=read)
