"""The remedy that raises the ID list scan limit of one index of 389-ds. Effect and undo were tested with 2.3.1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import Assertion, AssertionKind
from ldapdiag.evidence.indexes import ScanLimit
from ldapdiag.remedy import Remedy, RemedyKind, Where, is_attribute_type, ldif_line
from ldapdiag.servers.ldap_tools import modify, shown
from ldapdiag.servers.ldbm_ldif import backend_name, container, scan_limit_value

if TYPE_CHECKING:
    from ldapdiag.evidence.filter_tree import Node
    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.server_address import ServerAddress

TYPES = {AssertionKind.EQUALITY: "eq", AssertionKind.PRESENCE: "pres", AssertionKind.SUBSTRING: "sub"}
"""Ranges have the limit of the server alone."""
EVERY = "objectclass"
"""Its lists are those of all persons, groups …: a scan reads hardly more."""
SIGNIFICANT = 2
"""Digits of a limit that is set."""


def raise_scan_limit(
    server: ServerAddress, backend: Backend, filter_: Node | None, entries: int, schema: Schema
) -> Remedy | None:
    """Return the remedy for a filter of one assertion that so many entries match; None if it has limits already."""
    if not isinstance(filter_, Assertion) or filter_.kind not in TYPES or filter_.attribute == EVERY or entries <= 0:
        return None
    definition, type_ = backend.definition(schema.names(filter_.attribute)), TYPES[filter_.kind]
    if definition is None or definition.system or type_ not in definition.types or definition.scan_limits:
        return None
    if not is_attribute_type(definition.attribute) or not backend_name(backend):
        return None
    limit = _rounded_up(entries + entries // 4)
    entry = f"cn={definition.attribute},{container(backend)}"
    value = f"nsIndexIDListScanLimit: {scan_limit_value(ScanLimit(limit=limit, types=frozenset({type_})))}"
    return Remedy(
        title=f"Raise the scan limit of {definition.attribute} ({type_}) to {limit:,} entries",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, ldif_line("dn", entry), "changetype: modify", "add: nsIndexIDListScanLimit", value),
        changes=f"Searches {filter_.text} read an ID list of up to {limit:,} entries in place of the whole database, "
        "from the next search on, without a build or a restart.",
        risk="Where these entries are a large part of the database, reading the list takes as long as the scan, and "
        f"only the note disappears. Compare the etime, and undo it if it is not shorter. The limit is that of "
        f"{type_} of this attribute alone. Index configuration is not replicated: repeat it on each replica.",
        undo=modify(server, ldif_line("dn", entry), "changetype: modify", "delete: nsIndexIDListScanLimit", value),
        verify=f"{shown(server, 'nsIndexIDListScanLimit', entry=entry)}\n"
        "echo 'then repeat the search: its RESULT in the access log must have no notes, and a lower etime'",
        family=Family.DS389,
    )


def _rounded_up(entries: int) -> int:
    unit = int("1" + "0" * max(0, len(str(entries)) - SIGNIFICANT))
    return -(-entries // unit) * unit
