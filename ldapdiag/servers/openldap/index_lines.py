"""Which `index` line of slapd answers for an attribute: its own, that of the attribute without options, a supertype's.

    index name eq            (cn=x), (sn=x) and (givenName=x) are looked up in it: cn, sn and givenName are names
    index cn pres            from now on (cn=x) is not: the nearest line answers, whatever its types
    index name eq,nosubtypes it is for (name=x) alone
    index cn eq,nolang,nosubtypes    not for (cn;lang-fr=x); nolang alone would keep nothing out

As tried with 2.5.13; back-mdb and, in 2.4, back-bdb and back-hdb decide alike (mdb_index_mask() in index.c).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ldapdiag.evidence.indexes import IndexDefinition
    from ldapdiag.evidence.schema import AttributeType, Schema

SUBSTRING_TYPES = frozenset({"sub", "subinitial", "subany", "subfinal"})
"""One and the same: SLAP_INDEX_SUBSTR is a bit of each, and slapd makes and asks all keys where it finds that bit."""
UNTAGGED = frozenset({"binary"})
"""Options that choose an encoding (RFC 4522); the others tag values, as lang- does (RFC 3866)."""


def line_of(
    attribute: str, options: Collection[str], definitions: Sequence[IndexDefinition], schema: Schema
) -> IndexDefinition | None:
    """Return the line in which slapd looks an attribute up; None where there is none.

    A tagged attribute has its own line, or its attribute's, if that is not nolang. Else the attribute and its
    supertypes are gone through, nearest first, for a line that is not nosubtypes: so nolang alone keeps nothing out.
    """
    tags = tags_of(options)
    own = own_line(attribute, tags, definitions, schema)
    if own is not None:
        return own
    if tags:
        untagged = own_line(attribute, (), definitions, schema)
        if untagged is not None and untagged.options:
            return untagged
    for name in lineage(attribute, schema):
        line = own_line(name, (), definitions, schema)
        if line is not None and line.subtypes:
            return line
    return None


def tags_of(options: Collection[str]) -> frozenset[str]:
    """Return the options that tag a value."""
    return frozenset(option.lower() for option in options) - UNTAGGED


def lineage(attribute: str, schema: Schema) -> tuple[str, ...]:
    """Return an attribute and its supertypes, the nearest first; the attribute alone where the schema has it not."""
    return tuple(one.name for one in schema.lineage(attribute)) or (attribute,)


def types_of(line: IndexDefinition) -> frozenset[str]:
    """Return the types of a line, any kind of substring index as `sub`."""
    return frozenset("sub" if one in SUBSTRING_TYPES else one for one in line.types)


def own_line(
    attribute: str, tags: Collection[str], definitions: Sequence[IndexDefinition], schema: Schema
) -> IndexDefinition | None:
    """Return the line of this very attribute description, by whatever name or OID it is written."""
    names = _names(attribute, schema.find(attribute))
    for one in definitions:
        written, *written_tags = one.attribute.lower().split(";")
        if written in names and tags_of(written_tags) == set(tags):
            return one
    return None


def _names(attribute: str, known: AttributeType | None) -> frozenset[str]:
    if known is None:
        return frozenset({attribute.lower()})
    return frozenset({known.oid, *(name.lower() for name in known.names)})
