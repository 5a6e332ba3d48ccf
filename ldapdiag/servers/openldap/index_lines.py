"""The `index` line that slapd uses for an attribute: its own, that of the attribute without options, or a supertype's.

    index name eq                    used for (cn=x), (sn=x) and (givenName=x), which are subtypes of name
    index cn pres                    then (cn=x) is not indexed: only the nearest line is used, whatever its types
    index name eq,nosubtypes         used for (name=x) only
    index cn eq,nolang,nosubtypes    not used for (cn;lang-fr=x); nolang alone would exclude nothing

Tested with 2.5.13; back-mdb and, in 2.4, back-bdb and back-hdb use the same rules (mdb_index_mask() in index.c).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from ldapdiag.evidence.indexes import Backend, IndexDefinition
    from ldapdiag.evidence.schema import AttributeType, Schema

SUBSTRING_TYPES = frozenset({"sub", "subinitial", "subany", "subfinal"})
"""Equivalent: SLAP_INDEX_SUBSTR is a bit of each, and where it is set slapd writes and reads all substring keys."""
UNTAGGED = frozenset({"binary"})
"""Options that select an encoding (RFC 4522); the others tag values, as lang- does (RFC 3866)."""


def line_of(attribute: str, options: Collection[str], backend: Backend, schema: Schema) -> IndexDefinition | None:
    """Return the index line that slapd uses for an attribute; None if there is none.

    For an attribute with tags: its own line, or that of the attribute without tags, unless it has nolang. Else the
    first line without nosubtypes of the attribute and its supertypes, nearest first: so nolang alone excludes nothing.
    """
    tags = tags_of(options)
    own = own_line(attribute, tags, backend, schema)
    if own is not None:
        return own
    if tags:
        untagged = own_line(attribute, (), backend, schema)
        if untagged is not None and untagged.options:
            return untagged
    for name in lineage(attribute, schema):
        line = own_line(name, (), backend, schema)
        if line is not None and line.subtypes:
            return line
    return None


def tags_of(options: Collection[str]) -> frozenset[str]:
    """Return the options that tag a value."""
    return frozenset(option.lower() for option in options) - UNTAGGED


def lineage(attribute: str, schema: Schema) -> tuple[str, ...]:
    """Return an attribute and its supertypes, nearest first; the attribute alone if the schema lacks it."""
    return tuple(one.name for one in schema.lineage(attribute)) or (attribute,)


def types_of(line: IndexDefinition) -> frozenset[str]:
    """Return the types of a line, every substring type as `sub`."""
    return frozenset("sub" if one in SUBSTRING_TYPES else one for one in line.types)


def own_line(attribute: str, tags: Collection[str], backend: Backend, schema: Schema) -> IndexDefinition | None:
    """Return the line of exactly this attribute description, written with any of its names or its OID."""
    names = _names(attribute, schema.find(attribute))
    for definition in backend.definitions_of(names):
        written, *written_tags = definition.attribute.lower().split(";")
        if written in names and tags_of(written_tags) == set(tags):
            return definition
    return None


def _names(attribute: str, known: AttributeType | None) -> frozenset[str]:
    if known is None:
        return frozenset({attribute.lower()})
    return frozenset({known.oid, *(name.lower() for name in known.names)})
