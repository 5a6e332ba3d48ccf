"""The mounts that the command mount prints, on Linux and on Solaris.

    /dev/sda1 on /srv/ldap type ext4 (rw,relatime)                                            mount of Linux
    /dev/dsk/c0t0d0s0 on / type ufs read/write/setuid/logging/dev=1980000 on Fri Jul  5 …     mount -v of Solaris
    /ldap on rpool/ldap read/write/setuid/xattr/atime/dev=4010005 on Mon Jul  8 …             mount of Solaris

Source: mount(8) of util-linux, which escapes nothing; mount(1M) of Solaris.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import Mount
from ldapdiag.evidence.storage.mount_options import LONGEST, options_of, table_of
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.storage import MountTable

LINUX_END = pattern(r"(?P<type>[\w.-]{1,64}) \((?P<options>.*)\)(?: \[[^]]*\])?", re.ASCII)
SOLARIS_END = pattern(r"(?P<type>[\w-]{1,32}) (?P<options>(?:read/write|read only)(?:/.*)?)", re.ASCII)
SOLARIS = pattern(r"(?P<source>[\w/.:-]{1,1024}) (?P<options>(?:read/write|read only)(?:/.*)?)", re.ASCII)
TIME = pattern(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d \d{4}", re.ASCII)


def recognises(head: Head) -> bool:
    """Recognise a row."""
    return any(_mount(line) for line in head.lines)


def read(document: Document) -> Iterator[MountTable]:
    """Read all rows."""
    return table_of(document, _mounts(document))


def _mounts(document: Document) -> Iterator[Mount]:
    for line in document.lines:
        if mount := _mount(line.rstrip()):
            yield mount
        elif line.strip():
            document.misread(line)


def _mount(line: str) -> Mount | None:
    """Return the mount of a row; None for any other line."""
    if len(line) > LONGEST:
        return None
    row, _, time = line.rpartition(" on ")
    if TIME.fullmatch(time.strip()):
        return _of_solaris(row)
    source, on, rest = line.partition(" on /")
    point, is_typed, end = rest.rpartition(" type ")
    found = LINUX_END.fullmatch(end)
    if not (on and is_typed and found):
        return None
    return Mount(
        mount_point=f"/{point}", source=source, fs_type=found["type"], super_options=options_of(found["options"])
    )


def _of_solaris(row: str) -> Mount | None:
    first, on, rest = row.partition(" on ")
    point, is_typed, end = rest.partition(" type ")
    if is_typed and (found := SOLARIS_END.fullmatch(end)):
        return Mount(mount_point=point, source=first, fs_type=found["type"], super_options=_slashed(found["options"]))
    found = SOLARIS.fullmatch(rest)
    if on and found:
        return Mount(mount_point=first, source=found["source"], fs_type="", super_options=_slashed(found["options"]))
    return None


def _slashed(text: str) -> tuple[str, ...]:
    """Return the options that Solaris separates by slashes; the first as rw or ro."""
    first = "rw" if text.startswith("read/write") else "ro"
    rest = text.removeprefix("read/write").removeprefix("read only")
    return first, *(option for option in rest.split("/") if option)


FORMAT = Format(name="mount", title="the mounts that mount prints", recognises=recognises, read=read)
