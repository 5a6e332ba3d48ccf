"""The idle timeouts of an F5 BIG-IP's TCP profiles: tmsh list ltm profile tcp (or fastl4) idle-timeout, or bigip.conf.

    ltm profile tcp /Common/tcp-ldap {
        defaults-from /Common/tcp
        idle-timeout 300
    }
    ltm profile fastl4 fastL4 { idle-timeout 300 }                                              (one-line)

`indefinite` and `immediate` are not a number of seconds and are ignored; a profile without the line inherits it. The
listing does not show which virtual server uses a profile. Source: F5 tmsh reference, ltm profile tcp and fastl4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.flows import BoxTimeouts, Relay, ServiceTimeout
from ldapdiag.evidence.format import Format, Head
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

PROFILE = pattern(r"ltm profile (tcp|fast[lL]4) (\S{1,200}) \{(.*)")
IDLE = pattern(r"(?:.*[ {])?\s*idle-timeout (\w{1,20})\b")
MOST_PROFILES = 10_000


def recognises(head: Head) -> bool:
    """Recognise the listing by the first line of a profile."""
    return any(PROFILE.match(line) for line in head.lines)


def read(document: Document) -> Iterator[BoxTimeouts]:
    """Read the idle timeout of every profile that sets one."""
    services: list[ServiceTimeout] = []
    profile = ""
    for line in document.lines:
        if found := PROFILE.match(line):
            profile, line = f"{found[1]} profile {found[2]}", found[3]  # noqa: PLW2901  what follows on the same line
        elif line.startswith("}"):
            profile = ""
        idle = IDLE.match(line) if profile else None
        if idle and idle[1].isascii() and idle[1].isdigit() and int(idle[1]) > 0 and len(services) < MOST_PROFILES:
            services.append(ServiceTimeout(name=f"idle-timeout of {profile}", seconds=int(idle[1])))
    yield BoxTimeouts(origin=document.origin(), services=tuple(services), relay=Relay.NAT)


FORMAT = Format(name="f5-profiles", title="the TCP profiles of an F5 BIG-IP", recognises=recognises, read=read)
