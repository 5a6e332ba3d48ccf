"""OpenLDAP's schema as text: .schema files, and the attributetype directives of slapd.conf.

    objectidentifier MSADat2 1.2.840.113556.1.2
    attributetype ( MSADat2:102
        NAME 'memberOf' SYNTAX '1.3.6.1.4.1.1466.115.121.1.12' )

Source: slapd.conf(5), attributetype and objectidentifier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.schema.descriptions import MOST_TYPES, attribute_type, schema_of
from ldapdiag.evidence.slapd_directives import CHARACTERISTIC, DIRECTIVE, directives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.schema import AttributeType, Schema

NOT_UNDERSTOOD = "attributetype (…)"


class SchemaDirectives:
    """Collects the definitions of attributetype and objectidentifier directives."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.types: list[AttributeType] = []
        self.macros: dict[str, str] = {}

    def take(self, word: str, rest: str) -> None:
        """Read one of the two directives; others are ignored."""
        if word == "objectidentifier":
            words = rest.split()
            if len(words) == 2 and len(self.macros) < MOST_TYPES:
                self.macros[words[0].lower()] = words[1]
        elif word == "attributetype":
            if len(self.types) >= MOST_TYPES:
                self.document.note(f"Only the first {MOST_TYPES:,} attribute types were kept.")
            elif one := attribute_type(rest, self.macros):
                self.types.append(one)
            else:
                self.document.misread(NOT_UNDERSTOOD)

    def schema(self) -> Schema | None:
        """Return the types defined, as an excerpt of the schema; None if there are none."""
        return schema_of(self.types, self.document.origin(), whole=False) if self.types else None


def recognises(head: Head) -> bool:
    """Recognise a schema file: it defines a type or object class and has no directive of slapd.conf itself."""
    found = [(word[0].lower(), line[word.end() :]) for line in head.lines if (word := DIRECTIVE.match(line))]
    defined = any(word in {"attributetype", "objectclass"} and rest.lstrip().startswith("(") for word, rest in found)
    return defined and CHARACTERISTIC.isdisjoint(word for word, _ in found)


def read(document: Document) -> Iterator[Schema]:
    """Read all attribute types."""
    definitions = SchemaDirectives(document)
    for word, rest in directives(document):
        definitions.take(word, rest)
    if schema := definitions.schema():
        yield schema
    else:
        document.note("It defines no attribute type.")


FORMAT = Format(name="slapd-schema", title="a schema file of OpenLDAP", recognises=recognises, read=read)
