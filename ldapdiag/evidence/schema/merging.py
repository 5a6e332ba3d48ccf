"""Making one Schema from attribute types, and merging the schemas of one server."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.schema import AttributeType, Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.origin import Origin

MOST_TYPES = 1 << 16
"""Limit on attribute types, more than ten times what any server has; further ones are dropped."""


def schema_of(types: Iterable[AttributeType], origin: Origin, *, whole: bool) -> Schema:
    """Return a schema of these types, by their names and OIDs; of two types with one name the later counts."""
    known: dict[str, AttributeType] = {}
    for one in types:
        known.update(dict.fromkeys((one.oid.lower(), *map(str.lower, one.names)), one))
    return Schema(origin=origin, types=known, whole=whole)


def merged(schemas: Sequence[Schema]) -> Schema | None:
    """Return the merged schema of one server; for each name the first schema counts. None: there are no schemas.

    A complete schema is returned alone, because it also shows which types the server does not have. Excerpts are
    combined, with the standard schema as the last.
    """
    counted = [schema for schema in schemas if schema.whole][:1] or schemas
    if not counted:
        return None
    known: dict[str, AttributeType] = {}
    for schema in counted:
        for name, one in schema.types.items():
            known.setdefault(name, one)
    return replace(counted[0], types=known)
