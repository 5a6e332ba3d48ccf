"""What a directory server is asked over LDAP: one search each, and how a root DSE names the product.

The queries of a product are in its folder (`queries.py`), with the attribute names that the readers use. They request
attribute lists, never a whole cn=config, which contains passwords; only cn=Monitor of OpenLDAP is requested whole.
Queries of constant cost come first, then the list of connections, and last what an incident report can do without: the
indexes and the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ldapdiag.evidence.family import Family, ServerIdentity, identify
from ldapdiag.evidence.schema import ldif as schema
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.traits import FOLDERS

RootDse = Mapping[str, tuple[str, ...]]
"""Attribute names in lower case, with their values."""

ROOT_DSE, MONITOR, CONFIG = "root-dse.ldif", "cn-monitor.ldif", "cn-config.ldif"
INDEXES, SCHEMA = "indexes.ldif", "schema.ldif"


class Scope(StrEnum):
    """Search scopes, by their names in ldap3."""

    BASE = "BASE"
    SUBTREE = "SUBTREE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One search, and the file for its answer."""

    file: str
    base: str
    """May contain an attribute of the root DSE in braces: `{configContext}`."""
    attributes: tuple[str, ...]
    scope: Scope = Scope.BASE
    filter: str = "(objectClass=*)"
    lists_connections: bool = False
    """The answer grows with the connections, and may be hidden although the counters are visible."""
    required: bool = True
    """An empty answer is a gap. False: it is a fact, too (no replication is configured)."""
    size_limit: int = 0
    """Entries; 0: the server's limit."""
    page_entries: int = 0
    """Ask for pages of so many entries (RFC 2696), where a server returns no more at once; 0: for all."""
    time_limit: int = 0
    """Seconds; 0: the server's limit."""
    how: str = ""
    """Advice when the account may not see the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveQueries:
    """What a live view asks over a connection that it keeps, by what the answers cost the server."""

    each: tuple[Query, ...]
    """Of a cost that hardly grows with the connections: asked at each interval."""
    listing: tuple[Query, ...]
    """The list of connections, with the counters that come with it."""
    often: int
    """Up to so many connections the list is asked for every 10 s,"""
    rarely: int
    """and up to so many every minute; above that only when the operator wants it."""


ROOT_DSE_QUERY = Query(
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
        "schemaNamingContext",
        "domainControllerFunctionality",
    ),
)

SUBSCHEMA = ("objectClass", *schema.ATTRIBUTES)

ASKED = FOLDERS | {Family.DSEE: "ds389", Family.OPENDJ: "opends", Family.PING: "opends", Family.IBM: "ibm"}
"""The package with the queries of each product, its own but for relatives, which have the same entries."""


def queries_of(family: Family) -> tuple[Query, ...]:
    """Return what a server of this family is asked beside its root DSE; nothing, where its folder has no queries."""
    module = _module(ASKED[family])
    return module.QUERIES if module else ()


def live_queries_of(family: Family) -> LiveQueries | None:
    """Return what a live view asks a server of this family; None: it is not known what that costs there."""
    return getattr(_module(ASKED[family]), "LIVE", None)


def _module(folder: str) -> Any:  # noqa: ANN401  the module with the queries of a product, or None
    name = f"{__package__}.{folder}.queries"
    return import_module(name) if find_spec(name) else None


CONTEXTS = {"monitorContext": "cn=Monitor", "configContext": "cn=config", "subschemaSubentry": "cn=Subschema"}
"""Default values, for a root DSE without these attributes."""
OF_CONTROLLERS = frozenset({"configurationNamingContext", "schemaNamingContext", "dsServiceName"})


def product_of(root: RootDse) -> ServerIdentity | None:
    """Return the product that a root DSE identifies; None for an unknown one."""
    for name in ("vendorversion", "vendorname"):
        if identity := identify(" ".join(root.get(name, ()))):
            return identity
    classes = {value.lower() for value in root.get("objectclass", ())}
    if "openldaprootdse" in classes or "monitorcontext" in root:
        return ServerIdentity(family=Family.OPENLDAP)
    if "isglobalcatalogready" in root or "domaincontrollerfunctionality" in root:
        return ServerIdentity(family=Family.AD)
    if "ibmdirectoryversion" in root:
        return ServerIdentity(family=Family.IBM)
    return None


def base_of(query: Query, root: RootDse) -> str | None:
    """Return the search base; None when the root DSE lacks an attribute that it contains."""
    base = query.base
    for name in CONTEXTS.keys() | OF_CONTROLLERS:
        if f"{{{name}}}" in base:
            value = next(iter(root.get(name.lower(), ())), "") or CONTEXTS.get(name, "")
            if not value:
                return None
            base = base.replace(f"{{{name}}}", value)
    return base
