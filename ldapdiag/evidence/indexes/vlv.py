"""VLV indexes of 389-ds and DSEE: each contains the entries of one search in one order, for virtual list views.

    dn: cn=people,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
    objectClass: vlvSearch
    vlvBase: ou=people,dc=example,dc=com
    vlvScope: 2
    vlvFilter: (objectClass=person)
    aci: (targetattr="*")(version 3.0; acl "VLV"; allow (read,search,compare) userdn="ldap:///all";)

    dn: cn=by_cn,cn=people,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
    objectClass: vlvIndex
    vlvSort: -uidNumber cn
    vlvEnabled: 1                                            over LDAP only, as vlvUses: the server has opened its file

Source: ldap/servers/slapd/back-ldbm/vlv_srch.c; draft-ietf-ldapext-ldapv3-vlv-09.
"""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING

from ldapdiag.evidence.ldif import comparable, whole_number
from ldapdiag.evidence.monitor import generalized_time
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ldapdiag.evidence.ldif import Entry

SEARCH, INDEX = "vlvSearch", "vlvIndex"
"""Object classes."""
ATTRIBUTES = ("vlvBase", "vlvScope", "vlvFilter", "vlvSort", "vlvEnabled", "vlvUses", "aci", "createTimestamp")
"""The attributes read of both."""
SCOPES = {0: "base", 1: "one", 2: "sub"}
MOST_VALUES = 1000
"""Access control instructions kept of one entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VlvIndex:
    """One order of the entries of a VLV search."""

    name: str
    sort: str
    """As written: attributes, each with a minus sign before it for the reverse order."""
    enabled: bool | None = None
    """The server uses it; False: not built, or not noticed yet; None: not known, as in dse.ldif."""
    uses: int | None = None
    """Since the start of the server."""
    created: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class VlvSearch:
    """A search whose entries VLV indexes contain."""

    name: str
    entry: str
    """Its DN, as written."""
    base: str
    scope: str
    """base, one or sub; empty: not valid."""
    filter: str
    """As written; the server compares it with a search's filter as text, but for upper and lower case."""
    acis: tuple[str, ...] = ()
    """Access control instructions: an account that may not read the entry is refused (err=50)."""
    indexes: tuple[VlvIndex, ...] = ()

    def answers(self, base: str, scope: str, filter_: str) -> bool:
        """Return whether its indexes answer a search with this filter, as the server compares them."""
        same_place = comparable(self.base) == comparable(base) and self.scope == scope
        return same_place and self.filter.strip().lower() == filter_.lower()

    def ordered(self, keys: str) -> VlvIndex | None:
        """Return its index in an order, with all keys and directions of a search; None if it has none."""
        return next((index for index in self.indexes if index.sort.lower().split() == keys.lower().split()), None)


def vlv_search(entry: Entry, indexes: tuple[VlvIndex, ...]) -> VlvSearch:
    """Return a VLV search from its entry."""
    scope = whole_number(entry.first("vlvScope"))
    return VlvSearch(
        name=entry.first("cn"),
        entry=entry.dn,
        base=entry.first("vlvBase"),
        scope=SCOPES.get(-1 if scope is None else scope, ""),
        filter=entry.first("vlvFilter"),
        acis=entry.values("aci")[:MOST_VALUES],
        indexes=indexes,
    )


def vlv_index(entry: Entry) -> VlvIndex:
    """Return a VLV index from its entry."""
    enabled = entry.first("vlvEnabled")
    return VlvIndex(
        name=entry.first("cn"),
        sort=entry.first("vlvSort"),
        enabled=enabled != "0" if enabled else None,
        uses=whole_number(entry.first("vlvUses")),
        created=generalized_time.parse(entry.first("createTimestamp")),
    )


def is_a(entry: Entry, object_class: str) -> bool:
    """Return whether an entry has an object class."""
    return object_class.lower() in map(str.lower, entry.values("objectClass"))
