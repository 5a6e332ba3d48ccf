"""Lengths of the pieces of a substring assertion, as far as a filter shape keeps them."""

from __future__ import annotations

from ldapdiag.evidence.filter_tree import SHORT_PIECE


def is_long_enough(length: int | None, minimum: int) -> bool | None:
    """Return whether a piece has at least `minimum` octets; None if its length is not known.

    SHORT_PIECE, the largest length in a shape, means that length or more.
    """
    if length == 0:
        return False
    if length is None or length == SHORT_PIECE < minimum:
        return None
    return length >= minimum
