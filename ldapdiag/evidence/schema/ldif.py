"""The schema that a server publishes as an entry, or keeps in LDIF files.

    dn: cn=schema                                      389-ds, DSEE, OpenDJ, PingDirectory, IBM
    attributeTypes: ( 2.5.4.3 NAME ( 'cn' 'commonName' ) SUP name …

    dn: cn={0}core,cn=schema,cn=config                 slapcat -n0; a search shows OpenLDAP's as cn=Subschema
    olcAttributeTypes: {0}( 2.5.4.2 NAME 'knowledgeInformation' …

A server's files (00core.ldif, 99user.ldif) hold a part each. That a text is the whole schema shows in types that only
the server's own part defines, beside those of persons that another file of it has.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ldapdiag.evidence.schema.descriptions import attribute_type
from ldapdiag.evidence.schema.merging import MOST_TYPES, schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry
    from ldapdiag.evidence.schema import AttributeType, Schema

ATTRIBUTE_TYPES, OLC_ATTRIBUTE_TYPES, OLC_MACROS = "attributeTypes", "olcAttributeTypes", "olcObjectIdentifier"
ATTRIBUTES = (ATTRIBUTE_TYPES,)
"""What is read of a subschema subentry."""
FIRST_DATABASE = "olcdatabase="
"""slapcat -n0 writes databases after all of the schema."""

OF_EVERYBODY = frozenset({"objectclass", "cn"})
OF_OPENLDAP = OF_EVERYBODY | {"olcdatabase"}
OF_PERSONS = OF_EVERYBODY | {"employeenumber"}
OWN = frozenset({"nsuniqueid", "ds-sync-hist", "ibm-entryuuid"})
"""389-ds and DSEE (01core389.ldif), all that grew out of OpenDS, IBM."""


class LdifSchema:
    """Makes one Schema of all entries that hold attribute type descriptions."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.types: list[AttributeType] = []
        self.macros: dict[str, str] = {}
        self.cut = False
        self.files_of_slapd = False
        """The text is OpenLDAP's configuration, and no database stood behind its schema yet."""

    def take(self, entry: Entry) -> None:
        """Read the descriptions of an entry that has some."""
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
                self.document.note(f"Only the first {MOST_TYPES} attribute types were kept.")
                break
            if one := attribute_type(text, self.macros):
                self.types.append(one)
            else:
                missed += 1
        if missed:
            self.document.note(f"{missed} attribute type descriptions of an entry were not understood.")

    def _is_whole(self, schema: Schema) -> bool:
        known = schema.types.keys()
        complete = known >= OF_OPENLDAP or (known >= OF_PERSONS and not known.isdisjoint(OWN))
        return complete and not self.cut and not self.files_of_slapd


def _macros(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield name and meaning of the OID macros an entry defines: `{1}OLcfgAt OLcfg:3`."""
    for text in entry.values(OLC_MACROS):
        words = text[text.find("}") + 1 if text.startswith("{") else 0 :].split()
        if len(words) == 2:
            yield words[0].lower(), words[1]
