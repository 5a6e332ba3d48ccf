"""Kernel parameters as sysctl prints them.

    net.ipv4.tcp_keepalive_time = 7200
    net.inet.tcp.keepidle: 7200000
    sysctl: permission denied on key 'fs.protected_fifos'

Linux writes ` = `, the BSDs `: `. Source: sysctl(8).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

ROOTS = "abi|crypto|debug|dev|fs|hw|kern|kernel|machdep|net|security|sunrpc|user|vfs|vm"
SETTING = pattern(rf"((?:{ROOTS})\.[\w./:@*-]{{1,200}}?)(?: ?= ?|: )(.*)", re.ASCII)
NOISE = ("sysctl:", "error:", "#", ";")
MOST_SETTINGS = 1 << 16


def recognises(head: Head) -> bool:
    """Recognise sysctl by a parameter in a known top-level namespace."""
    return any(SETTING.fullmatch(line) for line in head.lines)


def read(document: Document) -> Iterator[KernelSettings]:
    """Read every parameter; of a repeated one the last line counts."""
    values: dict[str, str] = {}
    for line in document.lines:
        found = SETTING.fullmatch(line)
        if found and len(values) < MOST_SETTINGS:
            values[found[1]] = found[2].strip()
        elif not found and line.strip() and not line.startswith(NOISE):
            document.misread(line)
    if values:
        yield KernelSettings(origin=document.origin(), values=values)


FORMAT = Format(name="sysctl", title="kernel parameters of sysctl", recognises=recognises, read=read)
