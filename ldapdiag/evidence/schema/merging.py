"""Attribute types gathered into one Schema: those of one document, and those of all documents of one server."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.schema import AttributeType, Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.origin import Origin

MOST_TYPES = 1 << 16
"""No server has a tenth of it; what is beyond is not kept."""


def schema_of(types: Iterable[AttributeType], origin: Origin, *, whole: bool) -> Schema:
    """Return attribute types by all their names and OIDs; where two have one name, the later holds."""
    known: dict[str, AttributeType] = {}
    for one in types:
        known.update(dict.fromkeys((one.oid.lower(), *map(str.lower, one.names)), one))
    return Schema(origin=origin, types=known, whole=whole)


def merged(schemas: Sequence[Schema]) -> Schema | None:
    """Return what all of these say of one server, the earlier ones before the later; None where there are none.

    Beside a whole one nothing else counts, for it also says what the server does not know. Excerpts say more together,
    and the standard schema, as the last of them, fills what they leave open.
    """
    counted = [schema for schema in schemas if schema.whole][:1] or schemas
    if not counted:
        return None
    known: dict[str, AttributeType] = {}
    for schema in counted:
        for name, one in schema.types.items():
            known.setdefault(name, one)
    return replace(counted[0], types=known)
