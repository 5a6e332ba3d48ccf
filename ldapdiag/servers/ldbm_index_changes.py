"""Indexes of 389-ds and DSEE as their configuration has them: what of some changes may be done.

Only what fits its grammar gets as far as a command or LDIF (ldbm_ldif), and never an index that the server needs.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes.ds389_definition import SYSTEM
from ldapdiag.remedy import is_attribute_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.candidates import Change

TYPES = ("pres", "eq", "sub", "approx")
RULES = frozenset({"integerOrderingMatch"})
"""Rules that a new index may have; those of an index that is there are never changed."""
NEVER_DROPPED = SYSTEM | {"ancestorid", "entryid", "entryuuid", "nstombstonecsn", "targetuniqueid"}
"""Lower case: what the server needs for itself, and what replicas ask for once in a while, whatever a log shows."""


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
            "of the server's own, values that the server computes, or an index that is there without the matching rule "
            "it needs. "
        )

    @property
    def nothing(self) -> str:
        """Return what to say where none of them can be done."""
        return self.sentence.strip() or "Nothing is to be done."


def to_add(changes: Sequence[Change], backend: Backend, configuration: IndexConfiguration, schema: Schema) -> Selection:
    """Return which indexes to add; one that is there and not built has no types to add."""
    fit = [
        one
        for one in changes
        if one.type in TYPES
        and _may_be_changed(one.attribute, backend, schema)
        and schema.names(one.attribute).isdisjoint(SYSTEM | configuration.virtual_attributes.keys())
        and _has_its_rule(one, backend, schema)
    ]
    wanted = [_to_add(its, backend, schema) for its in _by_attribute(fit, schema)]
    return Selection(tuple(wanted), len(changes) - len(fit))


def to_drop(
    changes: Sequence[Change], backend: Backend, configuration: IndexConfiguration, schema: Schema
) -> Selection:
    """Return which indexes to take away; one of computed values may well go, for it misses entries."""
    fit = [
        one
        for one in changes
        if _may_be_changed(one.attribute, backend, schema)
        and schema.names(one.attribute).isdisjoint(NEVER_DROPPED)
        and _has(one, backend, schema)
    ]
    wanted = [_to_drop(its, backend, configuration, schema) for its in _by_attribute(fit, schema)]
    return Selection(tuple(wanted), len(changes) - len(fit))


def to_build(attributes: Iterable[str], backend: Backend, schema: Schema) -> tuple[str, ...]:
    """Return the attributes whose indexes a command can build, by the names they are configured by."""
    known = ((one, backend.definition(schema.names(one))) for one in attributes if is_attribute_type(one))
    named = (its.attribute if its else one for one, its in known)
    return tuple(dict.fromkeys(one for one in named if is_attribute_type(one)))


def _to_add(changes: list[Change], backend: Backend, schema: Schema) -> Wanted:
    """Return what to add for one attribute; a rule only to a first index, for keys that are there have an order."""
    known = backend.definition(schema.names(changes[0].attribute))
    missing = {one.type for one in changes if known is None or one.type not in known.types}
    rules = {one.rule for one in changes if one.rule in RULES} if known is None else set()
    name = known.attribute if known else changes[0].attribute
    return Wanted(name, in_order(missing), tuple(sorted(rules)), known)


def _has_its_rule(change: Change, backend: Backend, schema: Schema) -> bool:
    """Tell whether an index can be added without changing the rules of those that its attribute has."""
    known = backend.definition(schema.names(change.attribute))
    if known is None or change.type in known.types or change.rule not in RULES:
        return True
    return change.rule.lower() in {rule.lower() for rule in known.rules}


def _to_drop(changes: list[Change], backend: Backend, configuration: IndexConfiguration, schema: Schema) -> Wanted:
    names, templates = schema.names(changes[0].attribute), configuration.templates
    known = backend.definition(names)
    comes_back = not templates or any(one.attribute.lower() in names for one in templates)
    name = known.attribute if known else changes[0].attribute
    return Wanted(name, in_order({one.type for one in changes}), known=known, comes_back=comes_back)


def _by_attribute(changes: Iterable[Change], schema: Schema) -> Iterable[list[Change]]:
    """Return the changes of each attribute, by whatever of its names they name it."""
    told: defaultdict[str, list[Change]] = defaultdict(list)
    for one in changes:
        told[schema.primary(one.attribute).lower()].append(one)
    return told.values()


def in_order(types: set[str]) -> tuple[str, ...]:
    """Return the types that there are, each time in the same order."""
    return tuple(one for one in TYPES if one in types)


def _has(change: Change, backend: Backend, schema: Schema) -> bool:
    known = backend.definition(schema.names(change.attribute))
    return known is not None and change.type in known.types and change.type in TYPES


def _may_be_changed(attribute: str, backend: Backend, schema: Schema) -> bool:
    known = backend.definition(schema.names(attribute))
    named = known.attribute if known else attribute
    return is_attribute_type(attribute) and is_attribute_type(named) and not (known and known.system)


def goes_wholly(one: Wanted) -> bool:
    """Tell whether nothing is left of an attribute's indexes without these types."""
    return one.known is None or one.known.types <= set(one.types)
