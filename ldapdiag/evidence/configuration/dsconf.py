"""What dsconf prints of Directory Server Enterprise Edition (`dsconf get-server-prop`).

    file-descriptor-count  :  1024
    idle-timeout           :  none
    look-through-limit     :  5000

`none` and `unlimited` are no limit. Another tool of this name, 389-ds', prints nothing like it.
Source: Sun 820-2763, Oracle E28967 (man pages of section 5dsconf).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.ldif import whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

ROW = re.compile(r"([a-z][a-z0-9-]{0,80})\s*:\s+(.*)", re.ASCII)
CHARACTERISTIC = re.compile(r"(?:idle-timeout|file-descriptor-count|max-thread-count|look-through-limit)\s*:\s{2,}\S")
WANTED = frozenset(
    {"idle-timeout", "file-descriptor-count", "max-thread-count", "thread-count", "ldap-port", "ldap-secure-port"}
)
NO_LIMIT = frozenset({"none", "unlimited", "disabled"})
WITHHELD = "(a row without a property's name)"


def recognises(head: Head) -> bool:
    """Tell dsconf by a property that no other tool prints so."""
    return any(CHARACTERISTIC.match(line) for line in head.lines)


def read(document: Document) -> Iterator[Configuration]:
    """Read the properties; the values of others are neither kept nor shown."""
    told: dict[str, str] = {}
    for line in document.lines:
        row = ROW.fullmatch(line)
        if row and row[1] in WANTED:
            told[row[1]] = row[2].strip()
        elif line.strip() and not row and not line.startswith((" ", "\t")):
            document.misread(WITHHELD)
    idle = told.get("idle-timeout", "")
    yield Configuration(
        origin=document.origin(),
        identity=ServerIdentity(family=Family.DSEE),
        idle_timeout_seconds=0 if idle in NO_LIMIT else whole_number(idle),
        max_descriptors=whole_number(told.get("file-descriptor-count", "")),
        threads=whole_number(told.get("max-thread-count", told.get("thread-count", ""))),
        ports=tuple(filter(None, map(whole_number, (told.get("ldap-port", ""), told.get("ldap-secure-port", ""))))),
    )


FORMAT = Format(name="dsconf", title="properties as dsconf prints them", recognises=recognises, read=read)
