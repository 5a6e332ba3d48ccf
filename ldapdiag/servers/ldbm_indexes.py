"""Indexes of 389-ds and DSEE as their configuration has them: what of some changes may be done, and its LDIF.

Only what fits its grammar gets as far as a command or LDIF, and never an index that the server needs for itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes.ds389 import DATABASES
from ldapdiag.evidence.indexes.ds389_definition import SYSTEM
from ldapdiag.evidence.ldif import comparable
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.remedy import ATTRIBUTE_TYPE, is_distinguished_name, ldif_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition, ScanLimit
    from ldapdiag.servers.candidates import Change

NAME = re.compile(rf"(?=.{{1,128}}\Z){ATTRIBUTE_TYPE}")
"""RFC 4512: descr or numericoid."""
BACKEND_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
UNKNOWN_BACKEND = "BACKEND"
"""Stands where the evidence names none, or a name that fits no grammar."""
TYPES = ("pres", "eq", "sub", "approx")
NO_INDEX = ("nsIndexType", "none")
RULES = frozenset({"integerOrderingMatch"})
"""Rules that a new index may have; those of an index that is there are never changed."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Types of one attribute to add or to take away."""

    attribute: str
    """As configured, or as named."""
    types: tuple[str, ...]
    rules: tuple[str, ...] = ()
    known: IndexDefinition | None = None
    """The indexes it has."""
    comes_back: bool = False
    """It is, or may be, one of the default indexes: 389-ds makes a deleted entry anew at its next start, takes the
    empty index for built, and finds nothing (2.3.1). So its entry stays, and says `none`."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What of some changes can be done."""

    wanted: tuple[Wanted, ...]
    left_out: int = 0

    @property
    def new(self) -> tuple[Wanted, ...]:
        """Return the attributes that have no index."""
        return tuple(one for one in self.wanted if one.known is None)

    @property
    def extended(self) -> tuple[Wanted, ...]:
        """Return the attributes that get further types."""
        return tuple(one for one in self.wanted if one.known is not None and one.types)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return all of them, in the order they were given."""
        return tuple(one.attribute for one in self.wanted)

    @property
    def listed(self) -> str:
        """Return `displayName (eq, sub), employeeNumber (eq)`."""
        return ", ".join(f"{one.attribute} ({', '.join(one.types) or 'built'})" for one in self.wanted)

    @property
    def sentence(self) -> str:
        """Return what is to be said of those left out; empty where there are none."""
        if not self.left_out:
            return ""
        return (
            f"Left out: {self.left_out} that cannot be put into a command: not the name of an attribute type, an index "
            "of the server's own, or values that the server computes. "
        )

    @property
    def nothing(self) -> str:
        """Return what to say where none of them can be done."""
        return self.sentence.strip() or "Nothing is to be done."


def to_add(changes: Sequence[Change], backend: Backend, configuration: IndexConfiguration) -> Selection:
    """Return which indexes to add; one that is there and not built has no types to add."""
    fit = [one for one in changes if one.type in TYPES and _may_be_changed(one.attribute, backend, configuration)]
    wanted = [_to_add(attribute, its, backend) for attribute, its in _by_attribute(fit).items()]
    return Selection(tuple(wanted), len(changes) - len(fit))


def to_drop(changes: Sequence[Change], backend: Backend, configuration: IndexConfiguration) -> Selection:
    """Return which indexes to take away."""
    fit = [one for one in changes if _may_be_changed(one.attribute, backend, configuration) and _has(one, backend)]
    wanted = [_to_drop(attribute, its, backend, configuration) for attribute, its in _by_attribute(fit).items()]
    return Selection(tuple(wanted), len(changes) - len(fit))


def _to_add(attribute: str, changes: list[Change], backend: Backend) -> Wanted:
    known = backend.definition(standard().names(attribute))
    missing = {one.type for one in changes if known is None or one.type not in known.types}
    rules = {one.rule for one in changes if one.rule in RULES and one.type in missing}
    if known is not None:
        rules = {rule for rule in rules if rule.lower() not in {its.lower() for its in known.rules}}
    name = known.attribute if known else changes[0].attribute
    return Wanted(name, _in_order(missing), tuple(sorted(rules)), known)


def _to_drop(attribute: str, changes: list[Change], backend: Backend, configuration: IndexConfiguration) -> Wanted:
    known, templates = backend.definition(standard().names(attribute)), configuration.templates
    comes_back = not templates or any(one.attribute.lower() == attribute for one in templates)
    name = known.attribute if known else attribute
    return Wanted(name, _in_order({one.type for one in changes}), known=known, comes_back=comes_back)


def _by_attribute(changes: Iterable[Change]) -> dict[str, list[Change]]:
    told: defaultdict[str, list[Change]] = defaultdict(list)
    for one in changes:
        told[one.attribute.lower()].append(one)
    return told


def _in_order(types: set[str]) -> tuple[str, ...]:
    return tuple(one for one in TYPES if one in types)


def _has(change: Change, backend: Backend) -> bool:
    known = backend.definition(standard().names(change.attribute))
    return known is not None and change.type in known.types and change.type in TYPES


def _may_be_changed(attribute: str, backend: Backend, configuration: IndexConfiguration) -> bool:
    known = backend.definition(standard().names(attribute))
    fit = NAME.fullmatch(attribute) and (known is None or (NAME.fullmatch(known.attribute) and not known.system))
    return bool(fit) and attribute.lower() not in SYSTEM and attribute.lower() not in configuration.virtual_attributes


def backend_name(backend: Backend) -> str:
    """Return the name of a backend as it may stand in a command."""
    return backend.name if BACKEND_NAME.fullmatch(backend.name) else UNKNOWN_BACKEND


def container(backend: Backend) -> str:
    """Return the DN below which the entries of its indexes are."""
    known = is_distinguished_name(backend.entry) and comparable(backend.entry).endswith(DATABASES)
    return f"cn=index,{backend.entry if known else f'cn={backend_name(backend)},{DATABASES}'}"


def ldif_added(one: Wanted, backend: Backend) -> list[str]:
    """Return the change that gives an attribute its first index, or further types."""
    values = [
        *(("nsIndexType", value) for value in one.types),
        *(("nsMatchingRule", value) for value in one.rules),
    ]
    if one.known is None:
        head = ["changetype: add", "objectClass: top", "objectClass: nsIndex", f"cn: {one.attribute}"]
        return [_dn(one.attribute, backend), *head, "nsSystemIndex: false", *(f"{name}: {its}" for name, its in values)]
    how = "add" if one.known.types else "replace"  # it says `none`
    return [_dn(one.attribute, backend), "changetype: modify", *_modifications(how, values)]


def goes_wholly(one: Wanted) -> bool:
    """Tell whether nothing is left of an attribute's indexes without these types."""
    return one.known is None or one.known.types <= set(one.types)


def ldif_dropped(one: Wanted, backend: Backend, *, wholly: bool) -> list[str]:
    """Return the change that takes types away, or all of them."""
    if wholly and one.comes_back:
        return [_dn(one.attribute, backend), "changetype: modify", *_modifications("replace", [NO_INDEX])]
    if wholly:
        return [_dn(one.attribute, backend), "changetype: delete"]
    values = [
        *(("nsIndexType", value) for value in one.types),
        *(("nsMatchingRule", value) for value in one.rules),
    ]
    return [_dn(one.attribute, backend), "changetype: modify", *_modifications("delete", values)]


def ldif_restored(one: Wanted, backend: Backend) -> list[str]:
    """Return the change that takes `ldif_dropped` back, with all that was set."""
    known = one.known
    if known is None or not goes_wholly(one):
        return ldif_added(one, backend)
    if one.comes_back:
        types = [("nsIndexType", value) for value in _in_order(set(known.types))]
        return [_dn(one.attribute, backend), "changetype: modify", *_modifications("replace", types)]
    lengths = {"Begin": known.initial, "Middle": known.middle, "End": known.final}
    return [
        _dn(one.attribute, backend),
        "changetype: add",
        "objectClass: top",
        "objectClass: nsIndex",
        f"cn: {one.attribute}",
        "nsSystemIndex: false",
        *(f"nsIndexType: {value}" for value in _in_order(set(known.types))),
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


def _modifications(how: str, values: Iterable[tuple[str, str]]) -> list[str]:
    lines = list[str]()
    for name in dict.fromkeys(name for name, _ in values):
        lines += [*(["-"] if lines else []), f"{how}: {name}"]
        lines += [f"{name}: {value}" for its, value in values if its == name]
    return lines


def _spelt(limit: ScanLimit) -> str:
    told = [f"limit={limit.limit}"]
    told += [f"type={','.join(sorted(limit.types))}"] if limit.types else []
    told += [f"flags={','.join(sorted(limit.flags)).upper()}"] if limit.flags else []
    told += [f"values={','.join(limit.values)}"] if limit.values else []
    return " ".join(told)
