"""Index remedies of Active Directory and AD LDS: bits of searchFlags in the schema. By Microsoft's documentation.

    $a = Get-ADObject … "lDAPDisplayName -eq 'employeeNumber'" -Properties searchFlags
    Set-ADObject $a … -Replace @{searchFlags = ([int]$a.searchFlags -bor 1)}

The schema is one for the whole forest, and changed at its schema master. A new value is the old one with further bits.
The LDIF deletes the old value and adds the new one, so that it is refused where the value is no longer the old one;
without the old value in the evidence there is no LDIF, and PowerShell reads the value first.
Not tested on Windows; the LDIF is on Samba, which indexes at once.
Source: [MS-ADTS] 2.2.9; learn.microsoft.com, "Updating the schema cache".
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes import IndexDefinition
from ldapdiag.evidence.indexes.active_directory import BITS
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, is_attribute_type, is_distinguished_name, ldif_line
from ldapdiag.servers.commands.remedy_texts import INDEX_BY_HAND, NOTHING_DONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.commands.server_address import ServerAddress
    from ldapdiag.servers.indexes.candidates import Change, IndexPlace

EXPECTED_IN_LOG = "Event 1644 must name idx_… of the attribute among the used indexes, or no longer appear."
LIBRARIES: tuple[str, ...] = ()
BETWEEN_LDIF = ""
WITHOUT_SCRIPT = (
    "No shell script changes the indexes of Active Directory: the report has the lines of PowerShell, and --ldif the "
    "same for ldifde."
)
WITHOUT_LDIF = (
    "the searchFlags of these attributes are not in the evidence: export the whole schema, or use the lines of "
    "PowerShell in the report, which read them first."
)
BY_DOCUMENTATION = "By Microsoft's documentation, not tested on Windows"
NOT_TESTED = "By Microsoft's documentation; not tested on Windows."

ON_SAMBA = (
    "Samba takes it by ldapmodify, with `dsdb:schema update allowed = yes` in smb.conf until then (tested with 4.17)."
)
IN_SAMBA = "Samba has neither: ldbsearch -H /var/lib/samba/private/sam.ldb -s base -b @INDEXLIST names the attribute."

VALUE_OF = {name: bit for bit, name in BITS.items()}
NEEDED = {BITS[2]: (BITS[1], BITS[2])}
"""The types that are added together: the first serves all other searches."""
PRICE = (
    "The change replicates to every domain controller of the forest, and each builds the index on its own: replication "
    "to it waits meanwhile, and its processors and disks are busy. It begins when it reads the schema, within 5 min. "
    "The nineteenth character 1 of dSHeuristics defers this to schemaUpdateNow or a restart of each domain controller."
)
LARGE = "A tuple index is many times as large as another one of the same attribute."
CONFIDENTIAL = 128
"""fCONFIDENTIAL of searchFlags."""
HIDDEN = (
    "An index changes nothing of who may search: {} is confidential (searchFlags 128), and matches no entry for an "
    "account without the right CONTROL_ACCESS on it."
)
RIGHTS = "An account of Schema Admins is needed, and the connection to the schema master."


@dataclass(frozen=True, slots=True)
class FlagChange:
    """Bits of searchFlags to set for one attribute."""

    attribute: str
    types: tuple[str, ...]
    known: IndexDefinition | None

    @property
    def bits(self) -> int:
        """Return the bits to set, those included that may be set."""
        return sum(VALUE_OF[name] for name in self.types)

    @property
    def old(self) -> int | None:
        """Return the present value; None: it is not in the evidence."""
        return self.known.search_flags if self.known is not None else None

    @property
    def added(self) -> int:
        """Return the bits that are not set yet, as far as the evidence shows."""
        return self.bits & ~(self.old or 0)

    @property
    def dn(self) -> str:
        """Return the DN of its entry in the schema; empty if it is not in the evidence."""
        dn = self.known.written if self.known is not None else ""
        return dn if is_distinguished_name(dn) else ""


def ldapsearch_command(server: ServerAddress, version: Version) -> str:
    """Return that no search by ldapsearch shows the use of an index."""
    del server, version
    return ""


def add_indexes(place: IndexPlace, changes: Sequence[Change]) -> Remedy:
    """Set bits of searchFlags by PowerShell; each domain controller builds the indexes by itself."""
    chosen = _chosen(changes, place.backend, place.configuration, place.schema)
    if not chosen:
        return _by_hand(place)
    text = _powershell(place.backend, "-bor $bits", ((one.attribute, one.bits) for one in chosen))
    wide = any(BITS[32] in one.types for one in chosen)
    hidden = ", ".join(one.attribute for one in chosen if (one.old or 0) & CONFIDENTIAL)
    return Remedy(
        title=f"Index {_listed(chosen)} in the schema of the forest",
        target=place.server.name,
        where=Where.SERVER,
        kind=RemedyKind.CONFIG,
        text=text,
        changes=f"{BY_DOCUMENTATION}, searches by these attributes use an index at every domain controller. {RIGHTS}",
        risk=" ".join(filter(None, (PRICE, LARGE * wide, hidden and HIDDEN.format(hidden)))),
        undo=_powershell(place.backend, "-band -bnot $bits", ((one.attribute, one.added) for one in chosen))
        if all(one.known for one in chosen)
        else "Set searchFlags to the values that the commands print before the change.",
        verify=_verified(place.backend, chosen),
        family=Family.AD,
        needs=Needs.NONE,
        brief=text,
    )


def indexes_set(
    backend: Backend, changes: Sequence[Change], configuration: IndexConfiguration, schema: Schema
) -> tuple[IndexDefinition, ...]:
    """Return the index types that the commands of add_indexes add."""
    chosen = _chosen(changes, backend, configuration, schema)
    return tuple(IndexDefinition(attribute=one.attribute, types=frozenset(one.types)) for one in chosen)


def add_indexes_ldif(place: IndexPlace, changes: Sequence[Change]) -> str | None:
    """Return the same as LDIF for ldifde; None where the old values are not known."""
    every = _chosen(changes, place.backend, place.configuration, place.schema)
    chosen = [one for one in every if one.dn and one.old is not None]
    if not chosen:
        return None
    left_out = [one.attribute for one in every if one not in chosen]
    target = "HOST:PORT -j ." if _is_lds(place.backend) else "SCHEMAMASTER"
    comments = [
        f"# ldifde -i -f plan.ldf -s {target}    {_role(place.backend)}",
        f"# {NOT_TESTED} An entry is refused if its searchFlags have changed since the export.",
        f"# {ON_SAMBA}",
        *(f"# Not in this LDIF: {name}, whose searchFlags are not in the evidence." for name in left_out),
    ]
    records = (_record(one.dn, one.old or 0, (one.old or 0) | one.bits) for one in chosen)
    return "\n".join([*comments, *records, UPDATE_NOW])


def build_indexes(place: IndexPlace, attributes: Sequence[str]) -> Remedy:
    """Advise why an index in the schema is not there at one domain controller."""
    del attributes
    return Remedy(
        title="Find out why this domain controller lacks the index",
        target=place.server.name,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text="On this domain controller, compare searchFlags of the attribute with those of the schema master: they "
        "may not have replicated. Event 1137 of the Directory Service log names each index that was built. If the "
        "nineteenth character of dSHeuristics is 1, indexes are built after schemaUpdateNow or a restart. If the index "
        f"is there, the server expected too many entries of it: add another part to the filter. {NOT_TESTED}",
        changes="Nothing by itself; after schemaUpdateNow the domain controller builds the indexes that it lacks.",
        risk="While it builds, replication to it waits, and its processors and disks are busy.",
        undo=NOTHING_DONE,
        verify=EXPECTED_IN_LOG,
        family=Family.AD,
    )


def drop_indexes(place: IndexPlace, changes: Sequence[Change]) -> Remedy:
    """Advise against: no log of expensive searches shows that an index is not used."""
    del changes
    return _by_hand(place)


def _by_hand(place: IndexPlace) -> Remedy:
    return Remedy(
        title=INDEX_BY_HAND,
        target=place.server.name,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text="No command can be given: the names are no attribute types, or the values are not stored.",
        changes="Nothing.",
        risk="None.",
        undo=NOTHING_DONE,
        verify="",
        family=Family.AD,
    )


def _chosen(
    changes: Sequence[Change], backend: Backend, configuration: IndexConfiguration, schema: Schema
) -> list[FlagChange]:
    """Return the changes by attribute whose names may enter a command."""
    types: dict[str, set[str]] = defaultdict(set)
    for change in changes:
        name = schema.primary(change.attribute)
        if is_attribute_type(name) and change.type in VALUE_OF and name.lower() not in configuration.virtual_attributes:
            types[name].update(NEEDED.get(change.type, (change.type,)))
    return [
        FlagChange(name, tuple(sorted(wanted, key=VALUE_OF.__getitem__)), backend.definition({name.lower()}))
        for name, wanted in types.items()
    ]


def _listed(chosen: Iterable[FlagChange]) -> str:
    return ", ".join(f"{one.attribute} ({', '.join(one.types)})" for one in chosen)


def _is_lds(backend: Backend) -> bool:
    """Return whether the schema is that of an instance of AD LDS, which has one of its own."""
    return backend.name.lower().startswith("cn={")


def _role(backend: Backend) -> str:
    if _is_lds(backend):
        return "the instance with the schema master role (fSMORoleOwner of the schema)"
    return "netdom query fsmo names the schema master"


FOUND = "Get-ADObject -Server $master -SearchBase $schema -Filter \"lDAPDisplayName -eq '$name'\""


def _powershell(backend: Backend, how: str, bits: Iterable[tuple[str, int]]) -> str:
    """Return lines of PowerShell that change searchFlags at the schema master, and let it read the schema again.

    Each reads the old value and prints it. The names are attribute types: letters, digits, hyphens and dots.
    """
    master = f"Read-Host 'host:port of {_role(backend)}'" if _is_lds(backend) else "(Get-ADForest).SchemaMaster"
    return "\n".join([
        "$ErrorActionPreference = 'Stop'",
        f"$master = {master}",
        "$schema = (Get-ADRootDSE -Server $master).schemaNamingContext",
        "function Set-Bits($name, $bits) {",
        f"  $a = {FOUND} -Properties searchFlags",
        '  "${name}: searchFlags was $([int]$a.searchFlags)"',
        f"  Set-ADObject $a -Server $master -Replace @{{searchFlags = ([int]$a.searchFlags {how})}}",
        "}",
        *(f"Set-Bits '{name}' {value}" for name, value in bits),
        "$root = [ADSI]\"LDAP://$master/RootDSE\"; $root.Put('schemaUpdateNow', 1); $root.SetInfo()",
    ])  # fmt: skip


def _record(dn: str, old: int, new: int) -> str:
    return "\n".join([
        ldif_line("dn", dn),
        "changetype: modify",
        "delete: searchFlags",
        f"searchFlags: {old}",
        "-",
        "add: searchFlags",
        f"searchFlags: {new}",
        "-",
        "",
    ])  # fmt: skip


UPDATE_NOW = "dn:\nchangetype: modify\nadd: schemaUpdateNow\nschemaUpdateNow: 1\n-\n"
"""The domain controller that reads this reads the schema again at once, and builds what is new."""


def _verified(backend: Backend, chosen: Iterable[FlagChange]) -> str:
    """Return what shows the new values, and the use of an index."""
    names = " ".join(f"(lDAPDisplayName={one.attribute})" for one in chosen).replace(" ", "")
    every = "(Get-ADForest).Domains | % { (Get-ADDomainController -Filter * -Server $_).HostName }"
    servers = "(Read-Host 'host:port of each instance') -split ' '" if _is_lds(backend) else every
    return "\n".join([
        f"foreach ($dc in {servers}) {{",
        "  $schema = (Get-ADRootDSE -Server $dc).schemaNamingContext",
        f"  Get-ADObject -Server $dc -SearchBase $schema -LDAPFilter '(|{names})' -Properties searchFlags |",
        "    Format-Table @{n='server'; e={$dc}}, Name, searchFlags",
        "}",
        "# Event 1137 (Directory Service log) names each index that was built. Then search with the STATS control",
        "# (ldp.exe, Search Stats; adfind -stats): it must name idx_ and the attribute.",
        f"# {IN_SAMBA}",
    ])  # fmt: skip
