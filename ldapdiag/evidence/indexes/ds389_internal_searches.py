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
views, acl, addn, sync, posix-winsync, dynamic_lists), ldap/servers/slapd/sasl_map.c, ldapi.c, libglobs.c (default
values); the comments in certmap.conf; the filters in the plug-ins of 2.3.1. Measured with 2.3.1: linked attributes,
automatic membership, managed entries and roles read by DN when entries change; only the task that
mends links searches, by presence of both attributes; class of service finds definitions and templates by objectClass
(cos_cache.c) and reads what a specifier names by its DN. For DSEE its Reference (820-4811):
"Limitations on Using Roles", "DSML Identity Mapping".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import assertions, parse
from ldapdiag.evidence.indexes.ds389_definition import ATTRIBUTE_TYPE
from ldapdiag.evidence.indexes.internal_search import InternalSearch
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

CONFIG = "cn=config"
INITFUNC, ENABLED = "nsslapd-pluginInitfunc", "nsslapd-pluginEnabled"


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting whose values are attributes that a plug-in searches for."""

    by: str
    scope: str = ""
    """The setting with the DNs below which it searches."""
    ordered: bool = False
    frequent: bool = False


REFERINT, UNIQUENESS, MEMBER_OF = "referential integrity", "attribute uniqueness", "MemberOf"
DNA, LINKED, AUTO_MEMBER = "distributed numeric assignment", "linked attributes", "automatic membership"
NAMING = {
    "referint-membership-attr": Setting(REFERINT, "nsslapd-pluginContainerScope", frequent=True),
    "uniqueness-attribute-name": Setting(UNIQUENESS, "uniqueness-subtrees", frequent=True),
    "memberOfGroupAttr": Setting(MEMBER_OF, "memberOfEntryScope", frequent=True),
    "memberOfAttr": Setting(MEMBER_OF),
    "dnaType": Setting(DNA, "dnaScope", ordered=True, frequent=True),
    "linkType": Setting(LINKED),
    "managedType": Setting(LINKED),
    "autoMemberGroupingAttr": Setting(AUTO_MEMBER),
}
FILTERING = {
    "nsSaslMapFilterTemplate": "SASL mapping",
    "autoMemberFilter": AUTO_MEMBER,
    "dnaFilter": DNA,
    "addn_filter": "binds with an Active Directory name",
    "dsSearchFilter": "identity mapping",
    "nsViewFilter": "views",
    "nsRoleFilter": "roles",
}
"""Settings that are filters."""
ARGUMENTS = {
    "nsuniqueattr_init": (range(1), range(1, 20), UNIQUENESS),
    "referint_postop_init": (range(3, 20), range(0), REFERINT),
}
"""Plug-ins that have numbered arguments in old versions: which of these are attributes, and which DNs of a scope."""
REPLICATION = ("replication", ("nsUniqueId", "nscpEntryDN", "nsTombstoneCSN", "nsds5ReplConflict"))
"""nsTombstoneCSN finds the deleted entries to be purged; without its index each purge reads the whole database."""
CHANGELOG = "cn=changelog"
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
OF_CHANGELOG = {"changeNumber": True, "targetUniqueId": False}
"""Attributes of the retro changelog that its readers and its trimming search for, and whether by range."""
VENDOR = "nsslapd-pluginVendor"
VENDORS = ("389", "fedora", "netscape", "none", "oracle", "red hat", "sun ")
"""Beginnings of the vendor of the server's own plug-ins, lower case. FreeIPA's and others search for what they like."""
FOREIGN_FILTER = f"(&({INITFUNC}=*)({ENABLED}=on)(!({VENDOR}=389 Project)))"
FOREIGN_ATTRIBUTES = (INITFUNC, ENABLED, VENDOR)
"""Of plug-ins of other vendors; their arguments may be secret."""
PRINTABLE = pattern(r"cn=([A-Za-z0-9 ._-]{1,80}),", re.ASCII | re.IGNORECASE)
WINDOWS = "nsdswindowsreplicationagreement"
WINDOWS_ATTRIBUTES = ("ntUniqueId", "ntUserDomainId", "member", "uniqueMember")
BINDS = "nsslapd-ldapimaptoentries"
AUTOBIND = {"nsslapd-ldapiuidnumbertype": "uidNumber", "nsslapd-ldapigidnumbertype": "gidNumber"}
"""With their default values, which dse.ldif does not contain."""
AUTOBIND_BASE, SECURITY = "nsslapd-ldapientrysearchbase", "nsslapd-security"
CERTIFICATES = ("uid", "mail", "cn", "ou", "o", "l", "st", "c", "certSubjectDN")
"""What certmap.conf, which no collection reads, may make the server search for by FilterComps and CmapLdapAttr."""
OF_CONFIG = (BINDS, *AUTOBIND, AUTOBIND_BASE, SECURITY)
"""The attributes read of cn=config."""
UNNAMED = {
    "dynamic_lists_init": "dynamic lists: the server searches by the URLs in the entries",
    "addn_init": "addn searches by each addn_filter, and a live server is not asked for it",
}
"""Plug-ins that search for what the entries contain, or what no filter can ask for (an underscore is not valid in an
attribute type, RFC 4512), and a sentence."""

ROLES = {"nsrole": "roles"}
COS_CLASS, COS_ATTRIBUTE = "cosSuperDefinition", "cosAttribute"
DEFINITIONS = ("objectClass", COS_ATTRIBUTE, "nsViewFilter", "nsRoleFilter")
"""The attributes read of definitions in the databases."""
DEFINITIONS_FILTER = (
    f"(|(objectClass={COS_CLASS})(objectClass=nsView)"
    "(&(objectClass=ldapSubEntry)(objectClass=nsFilteredRoleDefinition)))"
)
"""Subentries, as definitions of roles and class of service are, are returned only if the filter names their class."""

ARGUMENT = "nsslapd-pluginarg"
DELAY = "referint-update-delay"
PLUGIN_ATTRIBUTES = (
    "objectClass",
    DELAY,
    INITFUNC,
    ENABLED,
    *NAMING,
    *filter(None, (setting.scope for setting in NAMING.values())),
    *FILTERING,
    *OF_CONFIG,
    *(f"{ARGUMENT}{number}" for number in range(20)),
)
"""The attributes read of plug-ins and their definitions."""
RELEVANT = frozenset(map(str.lower, (INITFUNC, *NAMING, *FILTERING, *AUTOBIND, COS_ATTRIBUTE)))
"""Every entry read here has one of these, except agreements of replication with Windows."""
PLUGIN_FILTER = (
    "(|"
    + "".join(f"({INITFUNC}={name})" for name in (*ARGUMENTS, *ALWAYS, "memberof_postop_init", "dna_init"))
    + f"({INITFUNC}=linked_attrs_init)({INITFUNC}=automember_init)"
    + "".join(f"({name}=*)" for name in (*NAMING, *FILTERING) if "_" not in name)
    + "".join(f"({INITFUNC}={name})" for name in UNNAMED)
    + f"(objectClass={WINDOWS})(objectClass=nsslapdConfig))"
)
"""Matches only the plug-ins that search: the arguments of others may be secret."""

MOST_FOUND, MOST_BASES = 1000, 100
OFF = "-1"
"""The delay of referential integrity that turns it off."""


class Ds389InternalSearches:
    """Collects the attributes that the server searches for internally, and those it computes."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.virtual_attributes: dict[str, str] = dict(ROLES)
        self.found: dict[tuple[str, InternalSearch], None] = {}
        """With the DN of the setting, normalised for comparison; those of disabled plug-ins are removed at the end."""
        self.disabled: set[str] = set()
        """The DNs of disabled plug-ins."""
        self.hidden: dict[str, None] = {}
        """Sentences on searches whose attributes the configuration does not name."""

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
        if len(self.hidden) < MOST_FOUND:
            self.hidden.update(dict.fromkeys(_hidden(entry)))
        for search in _searched(entry):
            if ATTRIBUTE_TYPE.fullmatch(search.attribute) is None:
                continue
            if len(self.found) >= MOST_FOUND:
                more = f"Only the first {MOST_FOUND:,} attributes that plug-ins search for were kept."
                self.document.note(more)
                self.hidden[more.rstrip(".")] = None
                return
            self.found[entry.key, search] = None

    @property
    def searches(self) -> tuple[InternalSearch, ...]:
        """Return the searches of plug-ins that are enabled."""
        enabled = (
            search for dn, search in self.found if not any(dn.endswith(f",{plugin}") for plugin in self.disabled)
        )
        return tuple(dict.fromkeys(enabled))

    def _compute(self, attribute: str) -> None:
        if ATTRIBUTE_TYPE.fullmatch(attribute) and len(self.virtual_attributes) < MOST_FOUND:
            self.virtual_attributes.setdefault(attribute.lower(), "class of service")


def _hidden(entry: Entry) -> Iterator[str]:
    """Yield sentences on the searches of a plug-in that the configuration does not name."""
    vendor = entry.first(VENDOR).lower()
    if INITFUNC in entry and vendor and not vendor.startswith(VENDORS):
        name = PRINTABLE.match(entry.dn)
        yield f"what the plug-in {name[1] if name else 'of an odd name'} searches for is not known"
    if unnamed := UNNAMED.get(entry.first(INITFUNC).lower()):
        yield unnamed


def _searched(entry: Entry) -> Iterator[InternalSearch]:
    """Yield the searches that an entry makes the server send."""
    for name, setting in NAMING.items():
        for value in entry.values(name):
            attribute = value.partition(":")[0].strip()  # autoMemberGroupingAttr: member:dn
            yield InternalSearch(
                attribute=attribute,
                by=setting.by,
                bases=entry.values(setting.scope)[:MOST_BASES] if setting.scope else (),
                ordered=setting.ordered,
                frequent=setting.frequent and entry.first(DELAY).strip() != OFF,
            )
    for name, by in FILTERING.items():
        for value in entry.values(name):
            tree = parse(value)
            for leaf in assertions(tree) if tree else ():
                yield InternalSearch(attribute=leaf.name, by=by)
    init = entry.first(INITFUNC).lower()
    yield from _of_arguments(entry, init)
    yield from _of_fixed_attributes(init)
    if WINDOWS in map(str.lower, entry.values("objectClass")):
        for attribute in WINDOWS_ATTRIBUTES:
            identifies = attribute.startswith("nt")
            yield InternalSearch(attribute=attribute, by="Windows synchronization", frequent=identifies)
    if entry.key == CONFIG:
        yield from _of_config(entry)


def _of_config(entry: Entry) -> Iterator[InternalSearch]:
    """Yield what cn=config makes the server search for when a client binds by a socket or a certificate."""
    if entry.first(BINDS).lower() == "on":
        for name, default in AUTOBIND.items():
            yield InternalSearch(
                attribute=entry.first(name) or default,
                by="autobind",
                bases=entry.values(AUTOBIND_BASE)[:MOST_BASES],
                frequent=True,
            )
    if entry.first(SECURITY).lower() == "on":
        for attribute in CERTIFICATES:
            yield InternalSearch(attribute=attribute, by="mapping of client certificates")


def _of_arguments(entry: Entry, init: str) -> Iterator[InternalSearch]:
    numbers, scopes, by = ARGUMENTS.get(init, (range(0), range(0), ""))
    arguments = {number: entry.first(f"{ARGUMENT}{number}") for number in (*numbers, *scopes)}
    bases = tuple(arguments[number] for number in scopes if "=" in arguments[number])
    for number in numbers:
        attribute = arguments[number].rpartition("=")[2].strip()  # also attribute=uid
        scoped = not arguments[number].lower().startswith("attribute=")  # else the others are settings, too
        yield InternalSearch(attribute=attribute, by=by, bases=bases if scoped else (), frequent=scoped)


def _of_fixed_attributes(init: str) -> Iterator[InternalSearch]:
    by, attributes = ALWAYS.get(init, ("", ()))
    for attribute in attributes:
        of_changelog = attribute in OF_CHANGELOG
        yield InternalSearch(
            attribute=attribute,
            by=by,
            bases=(CHANGELOG,) if of_changelog else (),
            ordered=OF_CHANGELOG.get(attribute, False),
            frequent=of_changelog,
        )
