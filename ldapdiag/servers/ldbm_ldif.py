"""Changes of the index entries of 389-ds and DSEE as LDIF. Of an entry that is there only nsIndexType is changed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes.ds389 import DATABASES
from ldapdiag.evidence.ldif import comparable
from ldapdiag.remedy import is_distinguished_name, ldif_line
from ldapdiag.servers.ldbm_index_changes import goes_wholly, in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.indexes import Backend, ScanLimit
    from ldapdiag.servers.ldbm_index_changes import Wanted

BACKEND_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
NO_INDEX = "none"


def backend_name(backend: Backend) -> str:
    """Return the name of a backend as it may stand in a command; empty where it may not."""
    return backend.name if BACKEND_NAME.fullmatch(backend.name) else ""


def container(backend: Backend) -> str:
    """Return the DN below which the entries of its indexes are."""
    known = is_distinguished_name(backend.entry) and comparable(backend.entry).endswith(DATABASES)
    return f"cn=index,{backend.entry if known else f'cn={backend_name(backend)},{DATABASES}'}"


def ldif_added(one: Wanted, backend: Backend) -> list[str]:
    """Return the change that gives an attribute its first index, or further types."""
    if one.known is None:
        head = ["changetype: add", "objectClass: top", "objectClass: nsIndex", f"cn: {one.attribute}"]
        types = (f"nsIndexType: {value}" for value in one.types)
        rules = (f"nsMatchingRule: {value}" for value in one.rules)
        return [_dn(one.attribute, backend), *head, "nsSystemIndex: false", *types, *rules]
    how = "add" if one.known.types else "replace"  # it says `none`
    return [_dn(one.attribute, backend), "changetype: modify", *_types(how, one.types)]


def ldif_dropped(one: Wanted, backend: Backend, *, wholly: bool) -> list[str]:
    """Return the change that takes types away, or all of them."""
    if wholly and one.comes_back:
        return [_dn(one.attribute, backend), "changetype: modify", *_types("replace", [NO_INDEX])]
    if wholly:
        return [_dn(one.attribute, backend), "changetype: delete"]
    return [_dn(one.attribute, backend), "changetype: modify", *_types("delete", one.types)]


def ldif_restored(one: Wanted, backend: Backend) -> list[str]:
    """Return the change that takes `ldif_dropped` back, with all that was set."""
    known = one.known
    if known is None or not goes_wholly(one):
        return ldif_added(one, backend)
    if one.comes_back:
        return [_dn(one.attribute, backend), "changetype: modify", *_types("replace", in_order(set(known.types)))]
    lengths = {"Begin": known.initial, "Middle": known.middle, "End": known.final}
    return [
        _dn(one.attribute, backend),
        "changetype: add",
        "objectClass: top",
        "objectClass: nsIndex",
        f"cn: {one.attribute}",
        "nsSystemIndex: false",
        *(f"nsIndexType: {value}" for value in in_order(set(known.types))),
        *(ldif_line("nsMatchingRule", value) for value in known.rules),
        # As rules, for the attributes of this name need another object class.
        *(f"nsMatchingRule: nsSubStr{name}={length}" for name, length in lengths.items() if length is not None),
        *(ldif_line("nsIndexIDListScanLimit", _spelt(limit)) for limit in known.scan_limits),
    ]


def in_one(changes: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of several changes, blank lines between."""
    lines = list[str]()
    for change in changes:
        lines += [*([""] if lines else []), *change]
    return lines


def _dn(attribute: str, backend: Backend) -> str:
    return ldif_line("dn", f"cn={attribute},{container(backend)}")


def _types(how: str, types: Iterable[str]) -> list[str]:
    return [f"{how}: nsIndexType", *(f"nsIndexType: {one}" for one in types)]


def _spelt(limit: ScanLimit) -> str:
    told = [f"limit={limit.limit}"]
    told += [f"type={','.join(sorted(limit.types))}"] if limit.types else []
    told += [f"flags={','.join(sorted(limit.flags)).upper()}"] if limit.flags else []
    told += [f"values={','.join(limit.values)}"] if limit.values else []
    return " ".join(told)
