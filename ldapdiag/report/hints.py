"""What to collect, for the products that are there: the parts of a hint about other products are left out.

A hint is parts joined by "; ". A part about some products begins with their names: `389-ds: its dse.ldif`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family

if TYPE_CHECKING:
    from collections.abc import Collection

NAMES = {
    "389-ds": Family.DS389,
    "OpenLDAP": Family.OPENLDAP,
    "Active Directory": Family.AD,
    "DSEE": Family.DSEE,
    "OpenDJ": Family.OPENDJ,
    "PingDirectory": Family.PING,
    "IBM": Family.IBM,
}
"""The products, as hints name them."""

NAME = "|".join(map(re.escape, NAMES))
PART = re.compile(rf"(?P<names>(?:{NAME})(?:(?:, | and )(?:{NAME}))*)(?:: |, (?=[^;]*: ))(?P<text>.+)", re.DOTALL)
SEPARATOR = "; "


def hint_for(how: str, families: Collection[Family]) -> str:
    """Return a hint without the parts about products other than these; with none known, the general parts alone."""
    kept = [_part(part, families) for part in how.split(SEPARATOR)]
    return SEPARATOR.join(filter(None, kept))


def _part(part: str, families: Collection[Family]) -> str:
    """Return a part as it is printed: whole if general, without names if about the only product, else empty."""
    found = PART.fullmatch(part)
    if found is None:
        return part
    about = {NAMES[name] for name in re.split(r", | and ", found["names"])}
    if about.isdisjoint(families):
        return ""
    return found["text"] if len(families) == 1 else part
