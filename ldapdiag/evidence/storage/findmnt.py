"""The mounts that findmnt -J prints: a tree, in the order in which the mounts lie upon each other.

    {"filesystems": [{"target": "/", "source": "/dev/sda1", "fstype": "ext4", "options": "rw,relatime",
        "children": [{"target": "/srv/ldap", "source": "/dev/sdb[/slapd/db]", …}]}]}

Source: findmnt(8). With --fstab it prints what is to be mounted; such rows have options without ro or rw.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import Mount
from ldapdiag.evidence.storage.json_text import has_list, list_of, text_at, tree
from ldapdiag.evidence.storage.mount_options import LONGEST, options_of, table_of
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.storage import MountTable

LIST = "filesystems"
SOURCE = pattern(r"(?P<source>[^\[]*)\[(?P<root>/.*)\]", re.DOTALL)
"""A source whose folder is mounted, not its root."""
MOUNTED = pattern(r"r[ow](?:,.*)?", re.DOTALL)
NUMBER = pattern(r"\d{1,10}:\d{1,10}", re.ASCII)


def recognises(head: Head) -> bool:
    """Recognise the object by its only key."""
    return has_list(head.lines, LIST)


def read(document: Document) -> Iterator[MountTable]:
    """Read all mounts."""
    return table_of(document, _mounts(document))


def _mounts(document: Document) -> Iterator[Mount]:
    for node, _ in tree(list_of(document, LIST)):
        mount = _mount(node)
        if mount is None:
            document.note("Rows that are not mounted, as findmnt --fstab prints them, are not used.")
        else:
            yield mount


def _mount(node: dict[str, Any]) -> Mount | None:
    point, options = text_at(node, "target"), text_at(node, "options")
    own, shared = text_at(node, "vfs-options"), text_at(node, "fs-options")
    if (
        not point
        or not MOUNTED.fullmatch(own if own and shared else options)
        or len(options) + len(own) + len(shared) > LONGEST
    ):
        return None
    source, number = text_at(node, "source"), text_at(node, "maj:min")
    found = SOURCE.fullmatch(source)
    return Mount(
        mount_point=point,
        source=found["source"] if found else source,
        fs_type=text_at(node, "fstype"),
        options=options_of(own) if own and shared else (),
        super_options=options_of(shared if own and shared else options),
        device=number if NUMBER.fullmatch(number) else "",
        root=found["root"] if found else "",
    )


FORMAT = Format(name="findmnt", title="the mounts that findmnt prints", recognises=recognises, read=read)
