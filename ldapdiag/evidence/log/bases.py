r"""Classes of base DNs: a search below one of a million entries has the same cause as below any other of them.

    uid=joe,ou=people,dc=example,dc=com          uid=?,ou=people,dc=example,dc=com
    cn=staff,ou=groups,dc=x      scope 0         cn=?,ou=groups,dc=x
    cn=staff,ou=groups,dc=x      scope 2         cn=staff,ou=groups,dc=x
    cn="a=b,c=d",cn=mapping tree,cn=config       as it is: the comma stands in quotes (RFC 1779)

RDNs whose type names places keep their value (RFC 4519), for they are the tree; others are entries. The DN is as the
server logged it, hence anything a client can send.
"""

from __future__ import annotations

import re

LONGEST_BASE = 512
MOST_REMEMBERED = 4096
PLACES = frozenset({b"dc", b"ou", b"o", b"c", b"l", b"st", b"cn"})
SERVER_ENTRIES = (b"cn=config", b"cn=monitor", b"cn=schema")
"""Where a server keeps itself: few entries, each of which is worth its name."""
BASE_SCOPE = 0

FIRST = re.compile(rb"([^=,+\"\\\s]++)=[^,+\"\\]++(,[^\"\\]++)")
"""A leading RDN of one plain value, and the DN of what it lies in: most of all DNs."""
PART = re.compile(
    rb"\s*+([^=,+\"\\]*+)(?:(=)((?:[^,+\"\\]++|\\.?|\"(?:[^\"\\]++|\\.)*+\"|\")*+))?+([,+]|\Z)?+", re.DOTALL
)
"""One type and value, and what parts it from the next (RFC 4514, 2.3)."""

PARENTS: dict[bytes, bytes] = {}
"""Classes of what entries lie in, with the comma before it."""


def base_class(base: bytes, scope: int) -> bytes:
    """Return the DN without the values that name entries; never raises, at most 512 bytes."""
    first = FIRST.fullmatch(base)
    if first is None:
        return _shortened(_class(base, entry=scope == BASE_SCOPE))
    kind, parent = first.groups()
    above = PARENTS.get(parent) or _learn(parent)
    name = kind.lower()
    if name not in PLACES or (name == b"cn" and scope == BASE_SCOPE and not _is_of_server(parent)):
        return _shortened(b"%b=?%b" % (kind, above))
    return _shortened(base[: first.start(2)] + above)


def _learn(parent: bytes) -> bytes:
    above = b"," + _class(parent[1:], entry=False)
    if len(parent) <= LONGEST_BASE:
        if len(PARENTS) >= MOST_REMEMBERED:
            PARENTS.clear()
        PARENTS[parent] = above
    return above


def _class(base: bytes, *, entry: bool) -> bytes:
    """Return the class of any DN; in that of an `entry` the leading cn is one of many."""
    told: list[bytes] = []
    length = at = 0
    leading = True
    while at < len(base) and length <= LONGEST_BASE:
        part = PART.match(base, at)
        if part is None or part.end() == at:
            return b"".join(told) or b"?"
        at = part.end()
        kind, equals, value, separator = part.groups(b"")
        name = kind.strip().lower()
        if not equals or name not in PLACES or (leading and entry and name == b"cn" and _is_entry(base, at)):
            value = b"?"
        told.append(b"%b%b%b%b" % (kind.rstrip() if equals else b"", equals, value.rstrip(), separator))
        length += len(told[-1])
        leading = leading and separator == b"+"
    return b"".join(told)


def _is_entry(base: bytes, at: int) -> bool:
    return at < len(base) and not _is_of_server(base)


def _is_of_server(base: bytes) -> bool:
    return base[-LONGEST_BASE:].rstrip().lower().endswith(SERVER_ENTRIES)


def _shortened(told: bytes) -> bytes:
    return told if len(told) <= LONGEST_BASE else told[: LONGEST_BASE - 3] + b"..."
