r"""Internal searches of 389-ds and DSEE, and the attributes they compute, from plug-ins and definitions.

    dn: cn=attribute uniqueness,cn=plugins,cn=config
    nsslapd-pluginInitfunc: NSUniqueAttr_Init
    nsslapd-pluginEnabled: on
    uniqueness-attribute-name: uid                              (1.3.2 and before: nsslapd-pluginarg0: uid)

    dn: cn=Kerberos uid mapping,cn=mapping,cn=sasl,cn=config
    nsSaslMapFilterTemplate: (uid=\1)

    dn: cn=PostalCodes,ou=people,dc=example,dc=com
    objectClass: cosSuperDefinition
    cosAttribute: postalCode override

Internal searches are not logged at the default level, so an index may be needed although no log shows its use.
Source: ldap/servers/plugins (referint, uiduniq, memberof, dna, linkedattrs, automember, retrocl, replication, usn, cos,
roles, sync, posix-winsync), ldap/servers/slapd/sasl_map.c, ldapi.c; and the filters in the plug-ins of 2.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import assertions, parse
from ldapdiag.evidence.indexes.ds389_definition import ATTRIBUTE_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

CONFIG = "cn=config"
INITFUNC, ENABLED = "nsslapd-pluginInitfunc", "nsslapd-pluginEnabled"

NAMING = {
    "referint-membership-attr": "referential integrity",
    "uniqueness-attribute-name": "attribute uniqueness",
    "memberOfGroupAttr": "MemberOf",
    "memberOfAttr": "MemberOf",
    "dnaType": "distributed numeric assignment",
    "linkType": "linked attributes",
    "managedType": "linked attributes",
    "autoMemberGroupingAttr": "automatic membership",
}
"""Settings whose values are attributes that are searched for, and the plug-in that searches."""
FILTERING = {
    "nsSaslMapFilterTemplate": "SASL mapping",
    "autoMemberFilter": "automatic membership",
    "dnaFilter": "distributed numeric assignment",
}
"""Settings that are filters."""
ARGUMENTS = {
    "nsuniqueattr_init": (range(1), "attribute uniqueness"),
    "referint_postop_init": (range(3, 20), "referential integrity"),
}
"""Plug-ins that have numbered arguments in old versions, and which of these are attributes."""
REPLICATION = ("replication", ("nsUniqueId", "nscpEntryDN", "nsTombstoneCSN", "nsds5ReplConflict"))
"""nsTombstoneCSN finds the deleted entries to be purged; without its index each purge reads the whole database."""
ALWAYS = {
    "replication_multimaster_plugin_init": REPLICATION,
    "replication_multisupplier_plugin_init": REPLICATION,
    "retrocl_plugin_init": ("retro changelog", ("changeNumber", "targetUniqueId")),
    "sync_init": (
        "content synchronization",
        ("changeNumber", "targetUniqueId", "targetEntryUUID", "entryUUID", "nsUniqueId"),
    ),
    "usn_init": ("USN", ("entryUSN",)),
    "posix_winsync_plugin_init": ("POSIX attributes of Windows synchronization", ("uid", "uniqueMember", "memberUid")),
}
"""Plug-ins that search for fixed attributes."""
WINDOWS = "nsdswindowsreplicationagreement"
WINDOWS_ATTRIBUTES = ("ntUniqueId", "ntUserDomainId", "member", "uniqueMember")
AUTOBIND = ("nsslapd-ldapiuidnumbertype", "nsslapd-ldapigidnumbertype")

ROLES = {"nsrole": "roles"}
COS_CLASS, COS_ATTRIBUTE = "cosSuperDefinition", "cosAttribute"
COS_FILTER = f"(objectClass={COS_CLASS})"

ARGUMENT = "nsslapd-pluginarg"
PLUGIN_ATTRIBUTES = (
    "objectClass",
    INITFUNC,
    ENABLED,
    *NAMING,
    *FILTERING,
    *(f"{ARGUMENT}{number}" for number in range(20)),
)
"""The attributes read of plug-ins and their definitions."""
COS_ATTRIBUTES = ("objectClass", COS_ATTRIBUTE)
RELEVANT = frozenset(map(str.lower, (INITFUNC, *NAMING, *FILTERING, *AUTOBIND, COS_ATTRIBUTE)))
"""Every entry read here has one of these, except agreements of replication with Windows."""
PLUGIN_FILTER = (
    "(|"
    + "".join(f"({INITFUNC}={name})" for name in (*ARGUMENTS, *ALWAYS, "memberof_postop_init", "dna_init"))
    + f"({INITFUNC}=linked_attrs_init)({INITFUNC}=automember_init)"
    + "".join(f"({name}=*)" for name in (*NAMING, *FILTERING))
    + f"(objectClass={WINDOWS}))"
)
"""Matches only the plug-ins that search: the arguments of others may be secret."""

MOST_FOUND = 1000


class Ds389InternalSearches:
    """Collects the attributes that the server searches for internally, and those it computes."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.virtual_attributes: dict[str, str] = dict(ROLES)
        self.found: dict[tuple[str, str, str], None] = {}
        """(DN normalised for comparison, attribute, plug-in); those of disabled plug-ins are removed at the end."""
        self.disabled: set[str] = set()
        """The DNs of disabled plug-ins."""

    def take(self, entry: Entry) -> None:
        """Read the entry of a plug-in, or a definition for one."""
        if RELEVANT.isdisjoint(entry.attributes) and not entry.key.endswith(CONFIG):
            return
        if COS_ATTRIBUTE in entry:
            for value in entry.values(COS_ATTRIBUTE):
                self._compute(value.partition(" ")[0])
        if INITFUNC in entry and entry.first(ENABLED).lower() != "on":
            if len(self.disabled) < MOST_FOUND:
                self.disabled.add(entry.key)
            return
        for attribute, by in _searched(entry):
            if ATTRIBUTE_TYPE.fullmatch(attribute) is None:
                continue
            if len(self.found) >= MOST_FOUND:
                self.document.note(f"Only the first {MOST_FOUND:,} attributes that plug-ins search for were kept.")
                return
            self.found[entry.key, attribute.lower(), by] = None

    def by_attribute(self) -> Mapping[str, str]:
        """Return the attributes searched for, in lower case, and the plug-ins that search for each."""
        plugins: dict[str, dict[str, None]] = {}
        for dn, attribute, by in self.found:
            if not any(dn.endswith(f",{plugin}") for plugin in self.disabled):
                plugins.setdefault(attribute, {})[by] = None
        return {attribute: ", ".join(by) for attribute, by in plugins.items()}

    def _compute(self, attribute: str) -> None:
        if ATTRIBUTE_TYPE.fullmatch(attribute) and len(self.virtual_attributes) < MOST_FOUND:
            self.virtual_attributes.setdefault(attribute.lower(), "class of service")


def _searched(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield the attributes that an entry makes the server search for, and the plug-in that searches."""
    for name, by in NAMING.items():
        for value in entry.values(name):
            yield value.partition(":")[0].strip(), by  # autoMemberGroupingAttr: member:dn
    for name, by in FILTERING.items():
        for value in entry.values(name):
            tree = parse(value)
            yield from ((leaf.attribute, by) for leaf in (assertions(tree) if tree else ()))
    init = entry.first(INITFUNC).lower()
    numbers, by = ARGUMENTS.get(init, (range(0), ""))
    for number in numbers:
        yield entry.first(f"{ARGUMENT}{number}").rpartition("=")[2].strip(), by  # also attribute=uid
    by, attributes = ALWAYS.get(init, ("", ()))
    yield from ((attribute, by) for attribute in attributes)
    if WINDOWS in map(str.lower, entry.values("objectClass")):
        yield from ((attribute, "Windows synchronization") for attribute in WINDOWS_ATTRIBUTES)
    if entry.key == CONFIG and entry.first("nsslapd-ldapimaptoentries").lower() == "on":
        yield from ((entry.first(name), "autobind") for name in AUTOBIND)
