"""/proc/fs/ext4/DEVICE/options: all options in force, also those that are defaults and that mount does not print.

    /proc/fs/ext4/sda1/options:rw             grep -H '' /proc/fs/ext4/*/options
    /proc/fs/ext4/sda1/options:barrier
    ==> /proc/fs/ext4/sda1/options <==        tail -n +1 /proc/fs/ext4/*/options
    rw                                        cat: the device is not in the text, perhaps in the command
    bsddf
    nobarrier

Source: ext4(5); ext4_seq_options_show in fs/ext4/super.c. The driver of ext4 prints them for ext2 and ext3, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.storage import EffectiveOptions
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

PATH = r"/proc/fs/ext[234]/(?P<device>[\w.!+@-]{1,64})/options"
NAMED = pattern(rf"{PATH}:\s{{0,4}}(?P<option>\S{{0,4096}})\s*", re.ASCII)
HEADING = pattern(rf"(?:==> )?{PATH}(?: <==|:)", re.ASCII)
ASKED = pattern(PATH, re.ASCII)
OPTION = pattern(r"[a-z][a-z0-9_]{0,40}(?:=\S{0,4096})?", re.ASCII)
FIRST = frozenset({"rw", "ro"})
BARRIERS = frozenset({"barrier", "nobarrier"})
MOST_OPTIONS = 100_000


def recognises(head: Head) -> bool:
    """Recognise the path of a file, or a list of options from ro or rw on with one about barriers."""
    if any(NAMED.fullmatch(line) for line in head.lines):
        return True
    lines = [line.strip() for line in head.lines if line.strip() and not HEADING.fullmatch(line.strip())]
    return bool(lines) and lines[0] in FIRST and BARRIERS & {*lines} != set() and all(map(OPTION.fullmatch, lines))


def read(document: Document) -> Iterator[EffectiveOptions]:
    """Read the options of every device."""
    asked = ASKED.search(document.asked)
    device = asked["device"] if asked else ""
    found: list[tuple[str, list[str]]] = []
    room = MOST_OPTIONS
    for line in map(str.strip, document.lines):
        heading = HEADING.fullmatch(line)
        named = None if heading else NAMED.fullmatch(line)
        option = named["option"] if named else line
        if heading:
            device = heading["device"]
        elif option and not OPTION.fullmatch(option):
            document.misread(line)
        elif option and room:
            room -= 1
            name = named["device"] if named else device
            if option in FIRST or not found or found[-1][0] != name:
                found.append((name, []))
            found[-1][1].append(option)
    for name, options in found if room else ():
        if BARRIERS & {*options}:  # otherwise it is a part of the list, whose remainder is unknown
            yield EffectiveOptions(origin=document.origin(), device=name, options=tuple(options))


FORMAT = Format(name="ext4-options", title="the options of ext4 in force", recognises=recognises, read=read)
