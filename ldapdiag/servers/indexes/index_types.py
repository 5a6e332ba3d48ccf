"""The index type that answers an assertion, and the names of substring types.

Lengths of the pieces of a substring assertion, as far as a filter shape keeps them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import SHORT_PIECE
from ldapdiag.servers.traits import traits_of

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.filter_tree import AssertionKind

SUBSTRING_KINDS = frozenset({"sub", "subinitial", "subany", "subfinal", "substring", "fTUPLEINDEX"})
"""Every name of a substring index type, of all or some positions."""


def index_type(family: Family | None, kind: AssertionKind) -> str | None:
    """Return the index type that answers a kind of assertion; None where none does."""
    return traits_of(family).index_types.get(kind)


def is_long_enough(length: int | None, minimum: int) -> bool | None:
    """Return whether a piece has at least `minimum` octets; None if its length is not known.

    SHORT_PIECE, the largest length in a shape, means that length or more.
    """
    if length == 0:
        return False
    if length is None or length == SHORT_PIECE < minimum:
        return None
    return length >= minimum
