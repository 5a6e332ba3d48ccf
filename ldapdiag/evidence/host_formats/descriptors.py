"""The number of open descriptors of a process: a bare number, or a listing of /proc/PID/fd.

    335

    lrwx------ 1 dirsrv dirsrv 64 Nov 20 10:38 64 -> socket:[545182]

A number, or a list of bare numbers, is recognised only if the file's name contains 'fd'; a note is added then.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.host_facts import DescriptorCount
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

IN_NAME = "fd"
NUMBER = pattern(r"\d{1,10}", re.ASCII)
LINK = pattern(r"l[r-][w-][x-]------[.+]?\s{1,20}\d.{1,200}? (\d{1,10}) -> \S.*", re.ASCII)
NOISE = ("total ", "ls: ")


def recognises(head: Head) -> bool:
    """Recognise a listing by its links, and bare numbers by the file's name."""
    if any(LINK.fullmatch(line) for line in head.lines):
        return True
    words = [word for line in head.lines for word in line.split()]
    return IN_NAME in head.name.lower() and bool(words) and all(NUMBER.fullmatch(word) for word in words)


def read(document: Document) -> Iterator[DescriptorCount]:
    """Count the links or the numbers; a single number is itself the count."""
    links = numbers = last = 0
    for line in document.lines:
        words = line.split()
        if LINK.fullmatch(line):
            links += 1
        elif words and all(NUMBER.fullmatch(word) for word in words):
            numbers += len(words)
            last = int(words[-1])
        elif words and not line.startswith(NOISE):
            document.misread(line)
    count = links or (last if numbers == 1 else numbers)
    if not links and count:
        document.note(f"Bare numbers, taken for a process's open descriptors because of the name ({document.name}).")
    if count:
        yield DescriptorCount(origin=document.origin(), open=count)


FORMAT = Format(name="descriptors", title="the open descriptors of a process", recognises=recognises, read=read)
