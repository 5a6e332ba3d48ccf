"""Substring keys of 389-ds: pieces of a value of a fixed length, and which pieces of a filter have any.

    (cn=abc*)      ^ab abc       the anchor is a part of the key
    (cn=*abcd*)    abc bcd
    (cn=*bc)       bc$
    (cn=*ab*)      none: such a filter looks at every entry, whatever indexes there are

Blanks that the attribute's rule ignores are not reckoned with. Source: ldap/servers/plugins/syntaxes/string.c,
string_assertion2keys_sub().
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import SHORT_PIECE, Assertion, AssertionKind

if TYPE_CHECKING:
    from ldapdiag.evidence.indexes import IndexDefinition

KEY_LENGTH = 3
"""Octets, unless nsSubStrBegin, nsSubStrMiddle and nsSubStrEnd say otherwise; `^` and `$` count."""


def has_keys(assertion: Assertion, definition: IndexDefinition | None) -> bool | None:
    """Tell whether an assertion has any key; None: the lengths of the pieces of its substring are not known."""
    if assertion.kind is not AssertionKind.SUBSTRING:
        return True
    begin, middle, end = key_lengths(definition)
    answers = [
        _at_least(assertion.initial, begin - 1),
        *(_at_least(length, middle) for length in assertion.middle),
        _at_least(assertion.final, end - 1),
    ]
    return True if True in answers else None if None in answers else False


def number_of_keys(assertion: Assertion, definition: IndexDefinition | None) -> int | None:
    """Return how many keys a substring has; None: the lengths of its pieces are not known."""
    if None in assertion.pieces or SHORT_PIECE in assertion.pieces:
        return None
    begin, middle, end = key_lengths(definition)
    initial, final = assertion.initial or 0, assertion.final or 0
    windows = [length for length in assertion.middle if length is not None]
    windows += [length for length, wanted in ((initial, begin - 1), (final, end - 1)) if length and length >= wanted]
    at_ends = (0 < initial >= begin - 1) + (0 < final >= end - 1)
    return at_ends + sum(max(0, length - middle + 1) for length in windows)


def key_lengths(definition: IndexDefinition | None) -> tuple[int, int, int]:
    """Return the octets of substring keys at the beginning, in the middle and at the end, `^` and `$` included."""
    told = (definition.initial, definition.middle, definition.final) if definition else (None, None, None)
    begin, middle, end = (KEY_LENGTH if length is None else length for length in told)
    return begin, middle, end


def _at_least(length: int | None, wanted: int) -> bool | None:
    """Tell whether a piece is long enough; the longest length that a shape tells means that or more."""
    if length == 0:
        return False
    if length is None or length == SHORT_PIECE < wanted:
        return None
    return length >= wanted


def shortest(definition: IndexDefinition | None) -> str:
    """Return how short the pieces are that have no key, in words."""
    begin, middle, end = key_lengths(definition)
    if (begin, middle, end) == (KEY_LENGTH, KEY_LENGTH, KEY_LENGTH):
        return "shorter than 3 characters, or 2 at either end"
    return f"shorter than {begin - 1} characters at the beginning, {middle} in the middle and {end - 1} at the end"
