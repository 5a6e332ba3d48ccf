r"""The schema of Active Directory and AD LDS: which attributes it has, and which of them are indexed.

    dn: CN=Employee-Number,CN=Schema,CN=Configuration,DC=ad,DC=example,DC=com     ldifde, ldapsearch, ldbsearch
    lDAPDisplayName: employeeNumber
    searchFlags: 0

    "DistinguishedName","isDefunct","lDAPDisplayName",…,"searchFlags"             Get-ADObject … | Export-Csv

searchFlags (bits, [MS-ADTS] 2.2.9) are the index configuration of every domain controller of the forest. Linked
attributes (linkID) are indexed without, for equality. systemFlags 4 marks constructed ones, which no index has.
An attribute without searchFlags has no index, if others of the same text have some.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
from ldapdiag.evidence.ldif import Entry, comparable
from ldapdiag.evidence.schema import AttributeType
from ldapdiag.evidence.schema.descriptions import MOST_TYPES, schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.schema import Schema

NAME, FLAGS, SYSTEM_FLAGS = "lDAPDisplayName", "searchFlags", "systemFlags"
ATTRIBUTES = (
    NAME, FLAGS, SYSTEM_FLAGS, "attributeID", "attributeSyntax", "linkID", "isDefunct", "isMemberOfPartialAttributeSet"
)  # fmt: skip
"""The attributes read of each attributeSchema entry."""
BITS = {1: "fATTINDEX", 2: "fPDNTATTINDEX", 4: "fANR", 32: "fTUPLEINDEX", 64: "fSUBTREEATTINDEX"}
"""The index type of each bit of searchFlags: of values, of values in each container, of ambiguous name resolution, of
parts of values, of subtrees for virtual list views. The other bits are no indexes."""
LINK = "link"
"""The link table, which has the linked attributes for equality."""
BASE_ONLY, PARTITION_SECRET, NOT_REPLICATED, CONSTRUCTED = 2048, 4096, 1, 4
COMPUTED = frozenset(
    """
    allowedattributes allowedattributeseffective allowedchildclasses allowedchildclasseseffective attributetypes
    canonicalname createtimestamp ditcontentrules entryttl extendedattributeinfo extendedclassinfo fromentry
    modifytimestamp msds-approx-immed-subordinates msds-auxiliary-classes msds-isgc msds-isrodc
    msds-isusercachableatrodc msds-keyversionnumber msds-localeffectivedeletiontime msds-localeffectiverecycletime
    msds-managedpassword msds-memberoftransitive msds-membertransitive msds-ncreplcursors msds-ncreplinboundneighbors
    msds-ncreploutboundneighbors msds-parentdistname msds-principalname msds-quotaeffective msds-quotaused
    msds-replattributemetadata msds-replvaluemetadata msds-replvaluemetadataext msds-resultantpso msds-revealedlist
    msds-revealedlistbl msds-sitename msds-tokengroupnames msds-tokengroupnamesglobalanduniversal
    msds-tokengroupnamesnogcacceptable msds-topquotausage msds-user-account-control-computed
    msds-userpasswordexpirytimecomputed objectclasses parentguid possibleinferiors primarygrouptoken sdrightseffective
    structuralobjectclass subschemasubentry tokengroups tokengroupsglobalanduniversal tokengroupsnogcacceptable
    """.split()  # noqa: SIM905  a list would be longer
)
"""The constructed attributes of Windows Server 2016, in lower case, but for aNR, which searches may have. Source: its
attributeSchema entries in [MS-ADSC], systemFlags 4."""
CONTAINER = ",cn=schema,"
OF_EVERY_FOREST = frozenset({"objectclass", "cn", "searchflags"})
"""The last has no index: an export of the indexed attributes does not contain it."""
SYNTAXES = {
    **dict.fromkeys(("2.5.5.1", "2.5.5.7", "2.5.5.14"), "12"),
    "2.5.5.8": "7",
    **dict.fromkeys(("2.5.5.9", "2.5.5.16"), "27"),
    **dict.fromkeys(("2.5.5.10", "2.5.5.15", "2.5.5.17"), "40"),
    "2.5.5.11": "24",
}
"""The syntax of RFC 4517 by attributeSyntax, others are text: DNs, booleans, numbers, octets, times."""
RFC_4517 = "1.3.6.1.4.1.1466.115.121.1."
BOOLEAN = f"{RFC_4517}7"
LONGEST_HEADER = 4096
DELIMITERS = ",;\t"


class ActiveDirectorySchema:
    """Makes an IndexConfiguration and a Schema from attributeSchema entries."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.types: list[AttributeType] = []
        self.definitions: list[IndexDefinition] = []
        self.computed: dict[str, str] = {}
        self.catalog: set[str] = set()
        self.container = ""
        self.shows_flags = self.cut = self.is_table = False

    def take(self, entry: Entry) -> None:
        """Read an attribute; other entries are ignored."""
        self.cut = not entry.closed
        if self.document.unfinished and entry.closed is self.is_table:
            return  # the last value may be cut: 16 of 160
        name, of_classes = entry.first(NAME), "classSchema" in entry.values("objectClass")
        if not name or CONTAINER not in entry.key or of_classes or "governsID" in entry:
            return
        if len(self.types) >= MOST_TYPES:
            self.document.note(f"Only the first {MOST_TYPES:,} attributes of the schema were kept.")
            return
        at = entry.dn.lower().find(CONTAINER)
        container = entry.dn[at + 1 :] if at > 0 else entry.dn.partition(",")[2]
        self.container = self.container or container
        if comparable(container) != comparable(self.container):
            self.document.note("Attributes of a second schema were ignored: name the export of each forest alone.")
            return
        flags, link = entry.number(FLAGS) or 0, entry.number("linkID")
        self.shows_flags |= FLAGS in entry
        oid = entry.first("attributeID")
        syntax = f"{RFC_4517}{SYNTAXES.get(entry.first('attributeSyntax'), '15')}"
        self.types.append(AttributeType(oid=oid or name, names=(name,), syntax=syntax))
        types = {type_ for bit, type_ in BITS.items() if flags & bit} | ({LINK} if link else set())
        self.definitions.append(
            IndexDefinition(attribute=name, types=frozenset(types), written=entry.dn, search_flags=entry.number(FLAGS))
        )
        if why := _why_computed(entry, flags):
            self.computed[name.lower()] = why
        if entry.first("isMemberOfPartialAttributeSet").lower() == "true":
            self.catalog.add(name.lower())

    def facts(self) -> Iterator[IndexConfiguration | Schema]:
        """Return the indexes, if the text has searchFlags, and the schema."""
        if not self.types:
            return
        if not self.shows_flags:
            self.document.note(f"The schema has no {FLAGS}, which show the indexes: export them, too.")
        whole = (
            not (self.cut or self.document.missed) and {one.names[0].lower() for one in self.types} >= OF_EVERY_FOREST
        )
        yield schema_of(self.types, self.document.origin(), whole=whole)
        if not self.shows_flags:
            return
        root = self.container.partition(",")[2].partition(",")[2]
        backend = Backend(
            name=root or self.container,
            suffixes=(),
            definitions=tuple(self.definitions),
            entry=self.container,
            kind="ntds",
        )
        yield IndexConfiguration(
            origin=self.document.origin(),
            identity=ServerIdentity(family=Family.AD),
            backends=(backend,),
            whole=whole,
            virtual_attributes=self.computed,
            outside_catalog=frozenset({one.name.lower() for one in self.types} - self.catalog if self.catalog else ()),
        )


def _why_computed(entry: Entry, flags: int) -> str:
    """Return why no search finds entries by an attribute, or an index would be of no use, as a clause; empty: none."""
    system = entry.number(SYSTEM_FLAGS) or 0
    if system & CONSTRUCTED or entry.first(NAME).lower() in COMPUTED:
        return "constructed (systemFlags 4)"
    if system & NOT_REPLICATED and not flags & 1:
        return "not replicated (systemFlags 1): each domain controller has values of its own"
    if flags & PARTITION_SECRET:
        return "a secret (searchFlags 4096)"
    if entry.first("isDefunct").lower() == "true":
        return "defunct (isDefunct)"
    return "for base searches alone (searchFlags 2048)" if flags & BASE_ONLY else ""


def recognises(head: Head) -> bool:
    """Recognise the CSV by the names of two columns in its header."""
    return any(_delimiter(line) for line in head.lines[:2])


def read(document: Document) -> Iterator[IndexConfiguration | Schema]:
    """Read the rows as if they were LDIF."""
    schema = ActiveDirectorySchema(document)
    schema.is_table = True
    lines = document.lines
    header = next((line for line in lines if _delimiter(line)), "")
    rows = csv.reader((f"{line}\n" for line in lines), delimiter=_delimiter(header) or ",")
    names = [name.strip().lower() for name in next(csv.reader([header], delimiter=_delimiter(header) or ","), [])]
    while True:
        try:
            row = next(rows)
        except StopIteration:
            break
        except csv.Error as error:
            document.misread(str(error))
            continue
        values = {name: (value.strip(),) for name, value in zip(names, row, strict=False) if value.strip()}
        if len(row) == len(names) and "distinguishedname" in values:
            schema.take(Entry(dn=values["distinguishedname"][0], attributes=values))
        elif row:
            document.misread("(a row with other columns than the header)")
    schema.cut = bool(document.unfinished)
    yield from schema.facts()


def _delimiter(line: str) -> str:
    """Return the delimiter of a header; empty for any other line."""
    if len(line) > LONGEST_HEADER or not {NAME.lower(), FLAGS.lower(), "distinguishedname"} <= {
        name.strip(' "').lower() for name in line.replace(";", ",").replace("\t", ",").split(",")
    }:
        return ""
    return max(DELIMITERS, key=line.count)


FORMAT = Format(
    name="active-directory-schema",
    title="the schema of Active Directory as Get-ADObject and Export-Csv write it",
    recognises=recognises,
    read=read,
)
