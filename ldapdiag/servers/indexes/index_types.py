"""The names of the index types in each family, and the type that answers each kind of assertion.

`>=` and `<=` need eq on 389-ds, DSEE and slapd (on slapd only for attributes with an ordering rule), and ordering on
OpenDJ and PingDirectory. Without further settings no index answers an extensible match.

Lengths of the pieces of a substring assertion, as far as a filter shape keeps them.
"""

from __future__ import annotations

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import SHORT_PIECE, AssertionKind

SHORT = {
    AssertionKind.EQUALITY: "eq",
    AssertionKind.GREATER: "eq",
    AssertionKind.LESS: "eq",
    AssertionKind.PRESENCE: "pres",
    AssertionKind.SUBSTRING: "sub",
    AssertionKind.APPROXIMATE: "approx",
}
LONG = {
    AssertionKind.EQUALITY: "equality",
    AssertionKind.GREATER: "ordering",
    AssertionKind.LESS: "ordering",
    AssertionKind.PRESENCE: "presence",
    AssertionKind.SUBSTRING: "substring",
    AssertionKind.APPROXIMATE: "approximate",
}

SUBSTRING_KINDS = frozenset({"sub", "subinitial", "subany", "subfinal", "substring"})
"""Every name of a substring index type, of all or some positions."""


def index_type(family: Family | None, kind: AssertionKind) -> str | None:
    """Return the index type that answers a kind of assertion; None where none does."""
    return (LONG if family in {Family.OPENDJ, Family.PING} else SHORT).get(kind)


def is_long_enough(length: int | None, minimum: int) -> bool | None:
    """Return whether a piece has at least `minimum` octets; None if its length is not known.

    SHORT_PIECE, the largest length in a shape, means that length or more.
    """
    if length == 0:
        return False
    if length is None or length == SHORT_PIECE < minimum:
        return None
    return length >= minimum
