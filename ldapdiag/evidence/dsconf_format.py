"""The output of `dsconf get-server-prop` and `get-suffix-prop` of Directory Server Enterprise Edition.

    file-descriptor-count  :  1024
    idle-timeout           :  none
    look-through-limit     :  5000

`none` and `unlimited` mean no limit. The dsconf of 389-ds is another tool, with other output.
Source: Sun 820-2763, Oracle E28967 (man pages of section 5dsconf).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.ldif import whole_number
from ldapdiag.evidence.storage import dsconf_settings as storage
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.origin import Fact

ROW = pattern(r"([a-z][a-z0-9-]{0,80})\s*:\s+(.*)", re.ASCII)
CHARACTERISTIC = pattern(
    r"(?:idle-timeout|file-descriptor-count|max-thread-count|look-through-limit|db-path|db-log-path)\s*:\s{2,}\S"
)
WANTED = frozenset(
    {"idle-timeout", "file-descriptor-count", "max-thread-count", "thread-count", "ldap-port", "ldap-secure-port"}
)
KEPT = WANTED | storage.PROPERTIES
NO_LIMIT = frozenset({"none", "unlimited", "disabled"})
WITHHELD = "(a row without a property's name)"


def recognises(head: Head) -> bool:
    """Recognise dsconf by a property in its layout."""
    return any(CHARACTERISTIC.match(line) for line in head.lines)


def read(document: Document) -> Iterator[Fact]:
    """Read the properties in KEPT; the values of others are neither kept nor shown."""
    properties: dict[str, str] = {}
    for line in document.lines:
        row = ROW.fullmatch(line)
        if row and row[1] in KEPT:
            properties[row[1]] = row[2].strip()
        elif line.strip() and not row and not line.startswith((" ", "\t")):
            document.misread(WITHHELD)
    yield from storage.of_properties(document, properties)
    if properties and not WANTED & properties.keys():
        return
    idle = properties.get("idle-timeout", "")
    ports = (properties.get("ldap-port", ""), properties.get("ldap-secure-port", ""))
    yield Configuration(
        origin=document.origin(),
        identity=ServerIdentity(family=Family.DSEE),
        idle_timeout_seconds=0 if idle in NO_LIMIT else whole_number(idle),
        max_descriptors=whole_number(properties.get("file-descriptor-count", "")),
        threads=whole_number(properties.get("max-thread-count", properties.get("thread-count", ""))),
        ports=tuple(filter(None, map(whole_number, ports))),
    )


FORMAT = Format(name="dsconf", title="properties as dsconf prints them", recognises=recognises, read=read)
