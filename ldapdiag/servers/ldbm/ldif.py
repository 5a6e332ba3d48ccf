"""Changes of the index entries of 389-ds and DSEE as LDIF; of an existing entry, nsIndexType and nsMatchingRule."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes.ds389 import DATABASES
from ldapdiag.evidence.ldif import comparable
from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import is_distinguished_name, ldif_line
from ldapdiag.servers.ldbm.index_changes import in_order, removes_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.indexes import Backend, ScanLimit
    from ldapdiag.servers.ldbm.index_changes import EntryChange


BACKEND_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
NO_INDEX = "none"


def backend_name(backend: Backend) -> str:
    """Return the name of a backend if it is valid in a command, else an empty string."""
    return backend.name if BACKEND_NAME.fullmatch(backend.name) else ""


def container(backend: Backend) -> str:
    """Return the DN of the container of a backend's index entries."""
    known = is_distinguished_name(backend.entry) and comparable(backend.entry).endswith(DATABASES)
    return f"cn=index,{backend.entry if known else f'cn={backend_name(backend)},{DATABASES}'}"


def ldif_add(one: EntryChange, backend: Backend) -> list[str]:
    """Return the change that adds an index entry, or types and rules to an existing one."""
    if one.known is None:
        head = ["changetype: add", "objectClass: top", "objectClass: nsIndex", f"cn: {one.attribute}"]
        types = (f"nsIndexType: {value}" for value in one.types)
        rules = (f"nsMatchingRule: {value}" for value in one.rules)
        return [_dn(one.attribute, backend), *head, "nsSystemIndex: false", *types, *rules]
    how = "add" if one.known.types else "replace"  # its type is `none`
    return _modified(one, backend, how, "add")


def ldif_drop(one: EntryChange, backend: Backend, *, whole: bool) -> list[str]:
    """Return the change that removes types and rules, or the whole index."""
    if (whole and one.is_default) or (one.known is not None and not one.known.types):
        return _modified(replace(one, types=(NO_INDEX,)), backend, "replace", "delete")
    if whole:
        return [_dn(one.attribute, backend), "changetype: delete"]
    return _modified(one, backend, "delete", "delete")


def ldif_restore(one: EntryChange, backend: Backend) -> list[str]:
    """Return the change that undoes `ldif_drop`, with all former settings."""
    known = one.known
    if known is None or not removes_all(one):
        return ldif_add(one, backend)
    if one.is_default:
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
        # As matching rules, because the attributes of this name need another object class.
        *(f"nsMatchingRule: nsSubStr{name}={length}" for name, length in lengths.items() if length is not None),
        *(ldif_line("nsIndexIDListScanLimit", scan_limit_value(limit)) for limit in known.scan_limits),
    ]


def joined(changes: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of several changes, separated by empty lines."""
    lines = list[str]()
    for change in changes:
        lines += [*([""] if lines else []), *change]
    return lines


def _modified(one: EntryChange, backend: Backend, how_types: str, how_rules: str) -> list[str]:
    """Return one modification of types and rules: the server applies both or none."""
    types = _types(how_types, one.types) if one.types else []
    rules = [f"{how_rules}: nsMatchingRule", *(f"nsMatchingRule: {rule}" for rule in one.rules)] if one.rules else []
    between = ["-"] if types and rules else []
    return [_dn(one.attribute, backend), "changetype: modify", *types, *between, *rules]


def _dn(attribute: str, backend: Backend) -> str:
    return ldif_line("dn", f"cn={attribute},{container(backend)}")


def _types(how: str, types: Iterable[str]) -> list[str]:
    return [f"{how}: nsIndexType", *(f"nsIndexType: {one}" for one in types)]


def scan_limit_value(limit: ScanLimit) -> str:
    """Return the value of nsIndexIDListScanLimit."""
    parts = [f"limit={limit.limit}"]
    parts += [f"type={','.join(sorted(limit.types))}"] if limit.types else []
    parts += [f"flags={','.join(sorted(limit.flags)).upper()}"] if limit.flags else []
    parts += [f"values={','.join(limit.values)}"] if limit.values else []
    return " ".join(parts)
