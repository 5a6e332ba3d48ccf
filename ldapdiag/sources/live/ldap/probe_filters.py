"""The filters of the probe: those that use the indexes of a definition, filled in with a value of an entry."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.remedy import is_attribute_type
from ldapdiag.servers.index_answers import VALUE, assertions_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.indexes import IndexDefinition
    from ldapdiag.evidence.ldif import Entry

LEAST_OF_SUBSTRING = 4
"""Characters; no product needs more for a key of a substring."""
LONGEST_VALUE = 256
LONGEST_NUMBER = 9
EQUALITY = frozenset({"eq", "equality"})
RANGES = (">=@", "<=@")
APPROXIMATE = "~="
SPOKEN = re.compile(r"(?ai)[bcdfgjklmnpqrstvxz]")
"""A word with one of these letters has a phonetic key."""
RANGES_WITH_END = (">=@)", "<=@)")


def patterns_of(definition: IndexDefinition) -> tuple[str, ...]:
    """Return the filters that use the indexes of an attribute, with `@` for the value; none for an invalid name."""
    if not is_attribute_type(definition.attribute):
        return ()
    assertions = dict.fromkeys(assertions_of(definition.types, definition.rules))
    if not definition.types.isdisjoint(EQUALITY):
        assertions |= dict.fromkeys(RANGES)
    return tuple(f"({definition.attribute}{one})" for one in assertions)


def filled(pattern: str, entry: Entry, attribute: str) -> str:
    """Return a filter that an entry matches, each octet of its value escaped (RFC 4515); empty if there is none.

    The bound of a range is a number that sorts differently as text: 9 is less than 12, and 100 is more than 95. An
    approximate match has only words with a phonetic key: slapd's index yields nothing for `Main 12` (2.5.13).
    """
    value = value_of(entry, attribute)
    if APPROXIMATE in pattern:
        value = " ".join(word for word in value.split() if SPOKEN.search(word))
    if "*" in pattern and VALUE in pattern and len(value) < LEAST_OF_SUBSTRING:
        return ""
    if pattern.endswith(RANGES_WITH_END):
        value = bound_of(value, above="<=" in pattern)
    return pattern.replace(VALUE, "".join(f"\\{octet:02x}" for octet in value.encode())) if value else ""


def bound_of(value: str, *, above: bool) -> str:
    """Return the bound of a range with a number in it; empty for other text."""
    if not (value.isascii() and value.isdigit() and len(value) <= LONGEST_NUMBER):
        return ""
    return f"1{'0' * len(value)}" if above else value if len(value) == 1 else "9"


def is_usable(entry: Entry, attribute: str) -> bool:
    """Return whether an entry has a value by which it can be searched."""
    return bool(value_of(entry, attribute))


def value_of(entry: Entry, attribute: str) -> str:
    """Return the first printable value that is not too long; empty if there is none.

    A backslash may stand for octets that are not UTF-8 (evidence/ldif.py).
    """
    values = entry.values(attribute)
    return next((one for one in values if one.isprintable() and "\\" not in one and 0 < len(one) <= LONGEST_VALUE), "")


def any_of(attributes: Iterable[str]) -> str:
    """Return the filter for entries with any of these attributes."""
    return f"(|{''.join(f'({one}=*)' for one in attributes)})"
