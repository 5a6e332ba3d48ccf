"""The schema of a server in LDIF: its subschema subentry, or its configuration files.

    dn: cn=schema                                      389-ds, DSEE, OpenDJ, PingDirectory, IBM
    attributeTypes: ( 2.5.4.3 NAME ( 'cn' 'commonName' ) SUP name …

    dn: cn={0}core,cn=schema,cn=config                 slapcat -n0; a search shows OpenLDAP's as cn=Subschema
    olcAttributeTypes: {0}( 2.5.4.2 NAME 'knowledgeInformation' …

Each of a server's files (00core.ldif, 99user.ldif) contains a part of the schema. A text is taken for the complete
schema if it contains types of the server itself and types of persons, which are in different files.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ldapdiag.evidence.schema.descriptions import MOST_TYPES, attribute_type, schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry
    from ldapdiag.evidence.schema import AttributeType, Schema

ATTRIBUTE_TYPES, OLC_ATTRIBUTE_TYPES, OLC_MACROS = "attributeTypes", "olcAttributeTypes", "olcObjectIdentifier"
ATTRIBUTES = (ATTRIBUTE_TYPES,)
"""The attributes read of a subschema subentry."""
FIRST_DATABASE = "olcdatabase="
"""slapcat -n0 writes databases after the complete schema."""

COMMON = frozenset({"objectclass", "cn"})
OF_OPENLDAP = COMMON | {"olcdatabase"}
OF_PERSONS = COMMON | {"employeenumber"}
OWN = frozenset({"nsuniqueid", "ds-sync-hist", "ibm-entryuuid"})
"""Types that only 389-ds and DSEE (01core389.ldif), OpenDS and its forks, or IBM's server define."""


class LdifSchema:
    """Makes one Schema from all entries with attribute type descriptions."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.types: list[AttributeType] = []
        self.macros: dict[str, str] = {}
        self.cut = False
        self.files_of_slapd = False
        """The text is OpenLDAP's configuration, and no database entry has followed the schema yet."""

    def take(self, entry: Entry) -> None:
        """Read the attribute type descriptions of an entry."""
        self.macros.update(islice(_macros(entry), MOST_TYPES - len(self.macros)))
        configured = entry.values(OLC_ATTRIBUTE_TYPES)
        descriptions = (*entry.values(ATTRIBUTE_TYPES), *configured)
        if descriptions:
            self.cut = not entry.closed
            self.files_of_slapd = bool(configured)
            self._read(descriptions)
        elif entry.key.startswith(FIRST_DATABASE):
            self.files_of_slapd = False

    def facts(self) -> Iterator[Schema]:
        """Return the schema, if any type was read."""
        if self.types:
            schema = schema_of(self.types, self.document.origin(), whole=False)
            yield replace(schema, whole=self._is_whole(schema))

    def _read(self, descriptions: tuple[str, ...]) -> None:
        missed = 0
        for text in descriptions:
            if len(self.types) >= MOST_TYPES:
                self.document.note(f"Only the first {MOST_TYPES:,} attribute types were kept.")
                break
            if one := attribute_type(text, self.macros):
                self.types.append(one)
            else:
                missed += 1
        if missed:
            self.document.note(f"{missed:,} attribute type descriptions of an entry were not understood.")

    def _is_whole(self, schema: Schema) -> bool:
        known = schema.types.keys()
        complete = known >= OF_OPENLDAP or (known >= OF_PERSONS and not known.isdisjoint(OWN))
        return complete and not self.cut and not self.files_of_slapd


def _macros(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield name and value of the OID macros in an entry: `{1}OLcfgAt OLcfg:3`."""
    for text in entry.values(OLC_MACROS):
        words = text[text.find("}") + 1 if text.startswith("{") else 0 :].split()
        if len(words) == 2:
            yield words[0].lower(), words[1]
