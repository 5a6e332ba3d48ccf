"""Searches for ranges of numbers that 389-ds answers by an index sorted as text: they silently miss entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import AssertionKind, assertions, parse_shape
from ldapdiag.servers.ds389.number_order import sorts_as_text

if TYPE_CHECKING:
    from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
    from ldapdiag.analysis.log.searches import SearchGroup
    from ldapdiag.analysis.log.traffic import Traffic
    from ldapdiag.evidence.indexes import Backend, IndexDefinition

RANGES = frozenset({AssertionKind.GREATER, AssertionKind.LESS})
OBJECT_CLASS = "objectclass"


def misses_numbers(definition: IndexDefinition, indexes: ServerIndexes) -> bool:
    """Return whether ranges of an attribute are read from an index sorted as text."""
    is_ds389 = indexes.configuration.identity.family is Family.DS389
    return is_ds389 and "eq" in definition.types and sorts_as_text(definition.attribute, definition, indexes.schema)


def count_ranges(backend: Backend, definition: IndexDefinition, indexes: ServerIndexes, traffic: Traffic | None) -> int:
    """Return the number of searches in a log that an index answered by such a range: they have no note.

    A search with a note examined every entry, and is right; one with another part may have been answered by that.
    """
    names = indexes.schema.names(definition.attribute)
    groups = traffic.workload.searches if traffic is not None else ()
    own = (group for group in groups if not group.unidentified and group.scope != "base" and _is_range(group, names))
    return sum(group.answered - group.unindexed for group in own if backend in indexes.backends(group.base))


def _is_range(group: SearchGroup, names: frozenset[str]) -> bool:
    """Return whether a filter consists of ranges of one attribute, and perhaps of object classes."""
    tree = parse_shape(group.shape)
    parts = [one for one in assertions(tree) if one.attribute.lower() != OBJECT_CLASS] if tree else []
    return bool(parts) and all(one.kind in RANGES and one.attribute.lower() in names for one in parts)
