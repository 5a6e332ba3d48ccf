r"""Classes of base DNs, so that searches below any of a million entries count as one kind.

    uid=joe,ou=people,dc=example,dc=com          uid=?,ou=people,dc=example,dc=com
    cn=staff,ou=groups,dc=x      scope 0         cn=?,ou=groups,dc=x
    cn=staff,ou=groups,dc=x      scope 2         cn=staff,ou=groups,dc=x
    cn="a=b,c=d",cn=mapping tree,cn=config       unchanged: the comma is in quotes (RFC 1779)

RDNs of the types that form the tree (RFC 4519: dc, ou, ...) keep their value; others name entries. The DN is as the
server logged it, so it may be anything that a client can send.
"""

from __future__ import annotations

import re

from ldapdiag.lazy_pattern import pattern

LONGEST_BASE = 512
MOST_REMEMBERED = 4096
TREE_TYPES = frozenset({b"dc", b"ou", b"o", b"c", b"l", b"st", b"cn"})
SERVER_ENTRIES = (b"cn=config", b"cn=monitor", b"cn=schema")
"""Suffixes of the server's own entries: few, so each keeps its name."""
BASE_SCOPE = 0

FIRST = pattern(rb"([^=,+\"\\\s]++)=[^,+\"\\]++(,[^\"\\]++)")
"""A leading RDN with one plain value, and the parent DN: the most frequent form."""
PART = pattern(
    rb"\s*+([^=,+\"\\]*+)(?>(?:(=)((?>(?:[^,+\"\\]++|\\.?|\"(?>(?:[^\"\\]++|\\.)*)\"|\")*)))?)(?>([,+]|\Z)?)", re.DOTALL
)
"""One type and value, and the separator behind them (RFC 4514, 2.3)."""

PARENTS: dict[bytes, bytes] = {}
"""Classes of parent DNs, each with the comma before it."""


def base_class(base: bytes, scope: int) -> bytes:
    """Return the DN without the values that name entries: at most 512 bytes. Never raises."""
    first = FIRST.fullmatch(base)
    if first is None:
        return _shortened(_class(base, entry=scope == BASE_SCOPE))
    kind, parent = first.groups()
    above = PARENTS.get(parent) or _class_of_parent(parent)
    name = kind.lower()
    if name not in TREE_TYPES or (name == b"cn" and scope == BASE_SCOPE and not _is_of_server(parent)):
        return _shortened(b"%b=?%b" % (kind, above))
    return _shortened(base[: first.start(2)] + above)


def _class_of_parent(parent: bytes) -> bytes:
    above = b"," + _class(parent[1:], entry=False)
    if len(parent) <= LONGEST_BASE:
        if len(PARENTS) >= MOST_REMEMBERED:
            PARENTS.clear()
        PARENTS[parent] = above
    return above


def _class(base: bytes, *, entry: bool) -> bytes:
    """Return the class of any DN; the leading cn of an `entry` is replaced, too."""
    parts: list[bytes] = []
    length = at = 0
    leading = True
    while at < len(base) and length <= LONGEST_BASE:
        part = PART.match(base, at)
        if part is None or part.end() == at:
            return b"".join(parts) or b"?"
        at = part.end()
        kind, equals, value, separator = part.groups(b"")
        name = kind.strip().lower()
        if not equals or name not in TREE_TYPES or (leading and entry and name == b"cn" and _is_entry(base, at)):
            value = b"?"
        parts.append(b"%b%b%b%b" % (kind.rstrip() if equals else b"", equals, value.rstrip(), separator))
        length += len(parts[-1])
        leading = leading and separator == b"+"
    return b"".join(parts)


def _is_entry(base: bytes, at: int) -> bool:
    return at < len(base) and not _is_of_server(base)


def _is_of_server(base: bytes) -> bool:
    return base[-LONGEST_BASE:].rstrip().lower().endswith(SERVER_ENTRIES)


def _shortened(text: bytes) -> bytes:
    return text if len(text) <= LONGEST_BASE else text[: LONGEST_BASE - 3] + b"..."
