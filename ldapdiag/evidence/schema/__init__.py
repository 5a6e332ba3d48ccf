"""Schema: the attribute types of a server (RFC 4512), with their names, OIDs, supertypes and matching rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeType:
    """One attribute type (RFC 4512, 4.1.2). Matching rules are names or OIDs as written, in lower case."""

    oid: str
    names: tuple[str, ...]
    """As written; the first is the primary one."""
    sup: str = ""
    """The supertype, in lower case."""
    equality: str = ""
    ordering: str = ""
    substring: str = ""
    syntax: str = ""
    """OID without a length."""
    usage: str = ""

    @property
    def name(self) -> str:
        """Return the primary name."""
        return self.names[0] if self.names else self.oid


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """Attribute types by every name and by OID."""

    kind: ClassVar[str] = "schema"
    how: ClassVar[str] = "ldapsearch … -b cn=schema (cn=subschema of OpenLDAP) -s base attributeTypes > schema.ldif"

    origin: Origin
    types: Mapping[str, AttributeType]
    """By name in lower case, and by OID."""
    whole: bool = True
    """False: an excerpt; the server may have other types."""

    def find(self, name: str) -> AttributeType | None:
        """Return the type with this name or OID."""
        return self.types.get(name.lower())

    def primary(self, name: str) -> str:
        """Return the primary name of a type; for an unknown type the name itself."""
        found = self.find(name)
        return found.name if found else name

    def names(self, name: str) -> frozenset[str]:
        """Return all names of a type in lower case, and its OID; for an unknown type only this name."""
        found = self.find(name)
        return frozenset({name.lower(), *((found.oid, *map(str.lower, found.names)) if found else ())})

    def lineage(self, name: str) -> Iterator[AttributeType]:
        """Yield a type and its supertypes, the nearest first."""
        found, seen = self.find(name), set[str]()
        while found is not None and found.oid not in seen:
            seen.add(found.oid)
            yield found
            found = self.find(found.sup) if found.sup else None

    def equality(self, name: str) -> str:
        """Return the equality rule of a type, else its supertype's; empty if there is none."""
        return next((one.equality for one in self.lineage(name) if one.equality), "")

    def ordering(self, name: str) -> str:
        """Return the ordering rule of a type, else its supertype's; empty if there is none."""
        return next((one.ordering for one in self.lineage(name) if one.ordering), "")

    def substring(self, name: str) -> str:
        """Return the substring rule of a type, else its supertype's; empty if there is none."""
        return next((one.substring for one in self.lineage(name) if one.substring), "")

    def syntax(self, name: str) -> str:
        """Return the syntax of a type, else its supertype's; empty if there is none."""
        return next((one.syntax for one in self.lineage(name) if one.syntax), "")
