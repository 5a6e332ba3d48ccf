"""Substring index keys of 389-ds: parts of a value with a fixed length.

    (cn=abc*)      ^ab abc       the anchor is a part of the key
    (cn=*abcd*)    abc bcd
    (cn=*bc)       bc$
    (cn=*ab*)      none: such a search is always unindexed

Spaces that the attribute's matching rule ignores are not taken into account. Source: string_assertion2keys_sub() in
ldap/servers/plugins/syntaxes/string.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import SHORT_PIECE, Assertion, AssertionKind
from ldapdiag.servers.indexes.index_types import is_long_enough

if TYPE_CHECKING:
    from ldapdiag.evidence.indexes import IndexDefinition

KEY_LENGTH = 3
"""Octets, `^` and `$` included, unless nsSubStrBegin, nsSubStrMiddle and nsSubStrEnd are set."""


def has_keys(assertion: Assertion, definition: IndexDefinition | None) -> bool | None:
    """Return whether an assertion has any key; None if the lengths of its substring pieces are not known."""
    if assertion.kind is not AssertionKind.SUBSTRING:
        return True
    begin, middle, end = key_lengths(definition)
    answers = [
        is_long_enough(assertion.initial, begin - 1),
        *(is_long_enough(length, middle) for length in assertion.middle),
        is_long_enough(assertion.final, end - 1),
    ]
    return True if True in answers else None if None in answers else False


def number_of_keys(assertion: Assertion, definition: IndexDefinition | None) -> int | None:
    """Return the number of keys of a substring; None if the lengths of its pieces are not known."""
    if None in assertion.pieces or SHORT_PIECE in assertion.pieces:
        return None
    begin, middle, end = key_lengths(definition)
    initial, final = assertion.initial or 0, assertion.final or 0
    windows = [length for length in assertion.middle if length is not None]
    windows += [length for length, wanted in ((initial, begin - 1), (final, end - 1)) if length and length >= wanted]
    at_ends = (0 < initial >= begin - 1) + (0 < final >= end - 1)
    return at_ends + sum(max(0, length - middle + 1) for length in windows)


def key_lengths(definition: IndexDefinition | None) -> tuple[int, int, int]:
    """Return the octets of keys at the beginning, in the middle and at the end, `^` and `$` included."""
    lengths = (definition.initial, definition.middle, definition.final) if definition else (None, None, None)
    begin, middle, end = (KEY_LENGTH if length is None else length for length in lengths)
    return begin, middle, end


def too_short(definition: IndexDefinition | None) -> str:
    """Return a clause with the lengths of pieces that have no key."""
    begin, middle, end = key_lengths(definition)
    if (begin, middle, end) == (KEY_LENGTH, KEY_LENGTH, KEY_LENGTH):
        return "shorter than 3 characters, or 2 at either end"
    return f"shorter than {begin - 1} characters at the beginning, {middle} in the middle and {end - 1} at the end"
