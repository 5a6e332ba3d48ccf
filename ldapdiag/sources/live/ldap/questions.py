"""What each directory product is asked: a table, with the names that the readers of the answers read.

Never a whole cn=config, which holds passwords: attribute lists only. cn=Monitor of OpenLDAP alone is asked for all it
has. What costs the same for ten connections and for ten thousand comes first, the list of connections after it, and
last what an incident can do without: the indexes and the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ldapdiag.evidence.configuration import active_directory, ds389, opendj, openldap
from ldapdiag.evidence.configuration.opends_settings import PERSONAL_LIMIT
from ldapdiag.evidence.family import Family, ServerIdentity, identify
from ldapdiag.evidence.indexes import ds389 as ds389_indexes
from ldapdiag.evidence.indexes import ds389_internal_searches, explanations, index_status, opends, opends_entry_count
from ldapdiag.evidence.indexes import opends_internal_searches as searchers
from ldapdiag.evidence.indexes import openldap as openldap_indexes
from ldapdiag.evidence.monitor import connection_table, ibm, opends_subtree
from ldapdiag.evidence.schema import ldif as schema

RootDse = Mapping[str, tuple[str, ...]]
"""Attribute names in lower case, and their values."""

ROOT_DSE, MONITOR, CONFIG = "root-dse.ldif", "cn-monitor.ldif", "cn-config.ldif"
INDEXES, SCHEMA = "indexes.ldif", "schema.ldif"

POLICY = "CN=Default Query Policy,CN=Query-Policies,CN=Directory Service,CN=Windows NT,CN=Services"


class Scope(StrEnum):
    """How far a search goes, in ldap3's words."""

    BASE = "BASE"
    SUBTREE = "SUBTREE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One search, and the file that its answer belongs to."""

    file: str
    base: str
    """May name an attribute of the root DSE in braces: `{configContext}`."""
    attributes: tuple[str, ...]
    scope: Scope = Scope.BASE
    filter: str = "(objectClass=*)"
    lists: bool = False
    """It asks for the connections: the answer grows with them, and may be hidden although the counters are shown."""
    needed: bool = True
    """False: that nothing is found is an answer, too (no replication is set up)."""
    how: str = ""
    """How to get what this account is not shown."""


THE_ROOT_DSE = Question(
    file=ROOT_DSE,
    base="",
    attributes=(
        "objectClass",
        "vendorName",
        "vendorVersion",
        "namingContexts",
        "monitorContext",
        "configContext",
        "subschemaSubentry",
        "supportedExtension",
        "supportedSASLMechanisms",
        "dnsHostName",
        "ibmdirectoryversion",
        "isGlobalCatalogReady",
        "dsServiceName",
        "configurationNamingContext",
        "domainControllerFunctionality",
    ),
)

AS_MANAGER = (
    "bind as Directory Manager (-D 'cn=Directory Manager' -W), or on the server itself as root with ldapi:// and "
    "-Y EXTERNAL where autobind is on"
)
MANAGER_LISTS = f"{AS_MANAGER}: it lists the connections to nobody else"
MANAGER_CONFIG = f"{AS_MANAGER}; or name a file with what ldapsearch -b cn=config -s base shows to that account"
SLAPD_MONITOR = (
    "bind as an account that olcAccess of 'database monitor' lets read cn=Monitor (a slapd without that database has "
    "none), or on the server itself as root with ldapi:// and -Y EXTERNAL"
)
SLAPD_CONFIG = (
    "on the server itself, as root, with ldapi:// and -Y EXTERNAL; or name a file with what slapcat -n0 prints"
)
JAVA_MONITOR = "bind as an account with the privilege monitor-read, or as Directory Manager"
JAVA_CONFIG = (
    "bind as an account with the privilege config-read, or as Directory Manager; "
    "or name a file with what dsconfig get-global-configuration-prop prints"
)

SUBSCHEMA = ("objectClass", *schema.ATTRIBUTES)

OF_389 = (
    Question(file=MONITOR, base="cn=monitor", attributes=connection_table.ATTRIBUTES, how=AS_MANAGER),
    Question(file=CONFIG, base="cn=config", attributes=ds389.ATTRIBUTES, how=MANAGER_CONFIG),
    Question(
        file=CONFIG,
        base="cn=mapping tree,cn=config",
        attributes=ds389.REPLICATION,
        scope=Scope.SUBTREE,
        filter="(|(nsDS5ReplicaBindDN=*)(nsDS5ReplicaBindDNGroup=*))",
        needed=False,
    ),
    Question(file=MONITOR, base="cn=monitor", attributes=(connection_table.LIST,), lists=True, how=MANAGER_LISTS),
    Question(
        file=INDEXES,
        base=ds389_indexes.DATABASES,
        attributes=ds389_indexes.ATTRIBUTES,
        scope=Scope.SUBTREE,
        filter=ds389_indexes.FILTER,
        needed=False,
    ),
    Question(
        file=INDEXES,
        base="cn=config",
        attributes=ds389_internal_searches.PLUGIN_ATTRIBUTES,
        scope=Scope.SUBTREE,
        filter=ds389_internal_searches.PLUGIN_FILTER,
        needed=False,
    ),
    Question(file=SCHEMA, base="cn=schema", attributes=SUBSCHEMA, needed=False),
    Question(
        file=INDEXES,
        base="",  # every suffix at once: the index of objectClass answers it
        attributes=ds389_internal_searches.COS_ATTRIBUTES,
        scope=Scope.SUBTREE,
        filter=ds389_internal_searches.COS_FILTER,
        needed=False,
    ),
)
"""And of DSEE, which has the same entries."""

OF_OPENLDAP = (
    Question(
        file=MONITOR,
        base="{monitorContext}",
        attributes=("*", "+"),
        scope=Scope.SUBTREE,
        filter="(!(objectClass=monitorConnection))",
        how=SLAPD_MONITOR,
    ),
    Question(
        file=CONFIG,
        base="{configContext}",
        attributes=(*openldap.ATTRIBUTES, *openldap_indexes.SUBSTRING_KEYS),
        how=SLAPD_CONFIG,
    ),
    Question(
        file=CONFIG,  # the lengths of substring keys stand in the entry above, and only together do they tell
        base="{configContext}",
        attributes=(*openldap_indexes.ATTRIBUTES, openldap.UPDATE_DN, openldap.SYNCREPL),
        scope=Scope.SUBTREE,
        filter=openldap_indexes.FILTER,
        needed=False,
    ),
    Question(
        file=MONITOR,
        base="cn=Connections,{monitorContext}",
        attributes=("*", "+"),
        scope=Scope.SUBTREE,
        filter="(objectClass=monitorConnection)",
        lists=True,
        how=SLAPD_MONITOR,
    ),
    Question(file=SCHEMA, base="{subschemaSubentry}", attributes=SUBSCHEMA, needed=False),
)

JAVA_SETTINGS = (
    "objectClass",
    "cn",
    "ds-cfg-enabled",
    "ds-cfg-java-class",
    opends.ATTRIBUTE,
    opends.TYPE,
    opends.LIMIT,
    opends.LENGTH,
    opends.RULES,
    opends.PATTERN,
    opends.SUFFIX,
    *opends.NAMES,
    *opends.PING_SETTINGS,
    *(setting for setting, _ in searchers.SEARCHERS.values()),
    searchers.VIRTUAL_TYPE,
)
JAVA_CLASSES = (*opends.INDEX_CLASSES, opends.COMPOSITE, *searchers.SEARCHERS)
JAVA_INDEXES = (
    f"(|{''.join(f'(objectClass={name})' for name in JAVA_CLASSES)}(cn=Index)({opends.SUFFIX}=*)"
    f"(&(objectClass=ds-cfg-virtual-attribute)(!({searchers.VIRTUAL_TYPE}={PERSONAL_LIMIT}))))"
)
"""Indexes, their backends, what searches by itself and what is computed, but for the idle limit, which is asked for
with the configuration: a second word on it would be a second configuration."""
OF_BACKENDS = (opends_entry_count.COUNT, opends_entry_count.PRIVATE, explanations.USE, index_status.NEED_REINDEX)
"""What the monitor entries of backends tell of entries and indexes."""

OF_OPENDS = (
    Question(
        file=MONITOR,
        base="cn=monitor",
        attributes=(*opends_subtree.ATTRIBUTES, *OF_BACKENDS),
        scope=Scope.SUBTREE,
        filter="(!(cn=Client Connections))",  # without its values such an entry would read as an empty list
        how=JAVA_MONITOR,
    ),
    Question(
        file=CONFIG,
        base="cn=config",
        attributes=opendj.ATTRIBUTES,
        scope=Scope.SUBTREE,
        filter="(|(objectClass=ds-cfg-root-config)(objectClass=ds-cfg-ldap-connection-handler)(cn=Work Queue)"
        "(ds-cfg-attribute-type=ds-rlim-idle-time-limit)(ds-cfg-maximum-idle-connection-duration=*))",
        how=JAVA_CONFIG,
    ),
    Question(
        file=MONITOR,
        base="cn=monitor",
        attributes=("objectClass", *opends_subtree.LISTS),
        scope=Scope.SUBTREE,
        filter="(|(connection=*)(ds-connectionhandler-connection=*)(ds-mon-connection=*))",
        lists=True,
        how=JAVA_MONITOR,
    ),
    Question(
        file=INDEXES,
        base="cn=config",
        attributes=JAVA_SETTINGS,
        scope=Scope.SUBTREE,
        filter=JAVA_INDEXES,
        needed=False,
    ),
    Question(file=SCHEMA, base="cn=schema", attributes=SUBSCHEMA, needed=False),
)
"""OpenDJ, its relatives and PingDirectory."""

OF_ACTIVE_DIRECTORY = (
    Question(
        file=CONFIG,
        base=f"{POLICY},{{configurationNamingContext}}",
        attributes=("objectClass", active_directory.LIMITS),
        how="bind as an account of the domain: nobody else is shown its configuration",
    ),
    Question(
        file=CONFIG,
        base="{dsServiceName}",
        attributes=("objectClass", active_directory.POINTER),
        filter=f"({active_directory.POINTER}=*)",
        needed=False,
    ),
)
"""It publishes no list of its connections."""

OF_IBM = (
    Question(file=MONITOR, base=ibm.ROOT, attributes=ibm.ATTRIBUTES, how="bind as the administrator (-D cn=root -W)"),
    Question(
        file=MONITOR,
        base=ibm.LIST,
        attributes=("connection",),
        lists=True,
        how="bind as the administrator (-D cn=root -W)",
    ),
)

QUESTIONS: dict[Family, tuple[Question, ...]] = {
    Family.DS389: OF_389,
    Family.DSEE: OF_389,
    Family.OPENLDAP: OF_OPENLDAP,
    Family.OPENDJ: OF_OPENDS,
    Family.PING: OF_OPENDS,
    Family.AD: OF_ACTIVE_DIRECTORY,
    Family.IBM: OF_IBM,
}

CONTEXTS = {"monitorContext": "cn=Monitor", "configContext": "cn=config", "subschemaSubentry": "cn=Subschema"}
"""Where they are when the root DSE does not say."""


def product_of(root: RootDse) -> ServerIdentity | None:
    """Return the product a root DSE belongs to; None for one that names none we know."""
    for name in ("vendorversion", "vendorname"):
        if told := identify(" ".join(root.get(name, ()))):
            return told
    classes = {value.lower() for value in root.get("objectclass", ())}
    if "openldaprootdse" in classes or "monitorcontext" in root:
        return ServerIdentity(family=Family.OPENLDAP)
    if "isglobalcatalogready" in root or "domaincontrollerfunctionality" in root:
        return ServerIdentity(family=Family.AD)
    if "ibmdirectoryversion" in root:
        return ServerIdentity(family=Family.IBM)
    return None


def base_of(question: Question, root: RootDse) -> str | None:
    """Return where to search; None when the root DSE does not name what the base needs."""
    base = question.base
    for name in CONTEXTS.keys() | {"configurationNamingContext", "dsServiceName"}:
        if f"{{{name}}}" in base:
            told = next(iter(root.get(name.lower(), ())), "") or CONTEXTS.get(name, "")
            if not told:
                return None
            base = base.replace(f"{{{name}}}", told)
    return base
