"""Changes of index entries on 389-ds and DSEE (both have back-ldbm): which of the proposed ones are possible.

Only names that match their grammar reach a command or LDIF (ldbm_ldif.py), and never an index that the server needs.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes import IndexDefinition
from ldapdiag.evidence.indexes.ds389_definition import SYSTEM
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.remedy import is_attribute_type
from ldapdiag.servers.indexes.index_answers import suffix_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.indexes.candidates import Change

NAMED_IS_KEPT = "The commands change nothing where the filter of a view or a role in the database names the attribute."
DEFINITIONS = r"""in_no_definition() {
below=$1; shift
[ -n "$below" ] || { say "the suffix of the database is not known" >&2; return 1; }
found=$(search -b "$below" '(|(objectClass=nsView)(objectClass=ldapSubEntry))' nsViewFilter nsRoleFilter) || {
say "the filters of views and roles below $below cannot be read (exit code $?)" >&2; return 1; }
found=$(printf '%s\n' "$found" | sed -n 's/^ns[A-Za-z]*Filter:\(.*\)/\1/p')
for name; do
! printf '%s\n' "$found" | grep -i -e "[( ]$name *[;:~<>=]" -e '^: ' >&2 || {
say "The filter above, of a view or a role, names $1 or is not ASCII: the server searches by it. Keep the index." >&2
return 1; }
done
}"""
"""It needs `search` (ldapsearch with its connection options)."""

TYPES = ("pres", "eq", "sub", "approx")
NEVER_DROPPED = SYSTEM | {"ancestorid", "entryid", "entryuuid", "nstombstonecsn", "targetuniqueid"}
"""Lower case: attributes that the server itself needs, or that replicas search for at times that a log may miss."""
SEARCHED_BY_RULES = frozenset({"member", "nsroledn", "uniquemember"})
"""Lower case: what rules in the entries make the server search for. Access control by a groupdnattr that is a URL
searches for the groups of the client (ldap/servers/plugins/acl/acllas.c, acllas__eval_memberGroupDnAttr), a search for
nsRole for the members of managed roles (DSEE's Reference 820-4811, "Limitations on Using Roles")."""


@dataclass(frozen=True, slots=True)
class EntryChange:
    """Index types and matching rules to add to the index entry of one attribute, or types to remove from it."""

    attribute: str
    """Its name in the configuration, else as given."""
    types: tuple[str, ...]
    rules: tuple[str, ...] = ()
    known: IndexDefinition | None = None
    """Its present index entry."""
    is_default: bool = False
    """It is, or may be, one of the default indexes: 389-ds 2.3.1 recreates a deleted entry at its next start, treats
    the empty index as built, and finds nothing. So the entry is kept, with the type `none`."""
    undefined: bool = False
    """No known schema defines the attribute: it may be a number, whose index needs an ordering rule (389-ds)."""

    @property
    def orders(self) -> bool:
        """Return whether the index gets or has an ordering rule."""
        return any("orderingmatch" in rule.lower() for rule in (*self.rules, *(self.known.rules if self.known else ())))


@dataclass(frozen=True, slots=True)
class EntryChanges:
    """The possible ones of some proposed changes."""

    changes: tuple[EntryChange, ...]
    left_out: int = 0
    """Number of proposed changes that cannot be put into a command."""

    @property
    def new(self) -> tuple[EntryChange, ...]:
        """Return the changes of attributes without an index entry."""
        return tuple(change for change in self.changes if change.known is None)

    @property
    def extended(self) -> tuple[EntryChange, ...]:
        """Return the changes that add types or rules to an existing index entry."""
        return tuple(change for change in self.changes if change.known is not None and (change.types or change.rules))

    @property
    def perhaps_numbers(self) -> tuple[EntryChange, ...]:
        """Return the changes that may sort numbers as text, so that ranges miss entries."""
        return tuple(
            change for change in self.changes if change.undefined and "eq" in change.types and not change.orders
        )

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the names of all attributes, in the order given."""
        return tuple(change.attribute for change in self.changes)

    @property
    def listed(self) -> str:
        """Return `displayName (eq, sub), employeeNumber (eq)`."""
        return ", ".join(
            f"{change.attribute} ({', '.join((*change.types, *change.rules)) or 'built'})" for change in self.changes
        )

    @property
    def left_out_sentence(self) -> str:
        """Return a sentence on the changes that are left out, with a space at its end; empty if there are none."""
        if not self.left_out:
            return ""
        return (
            f"Left out: {self.left_out} that cannot be put into a command: not the name of an attribute type, a system "
            "index, values that the server computes, or a matching rule that an existing index lacks. "
        )

    @property
    def why_none(self) -> str:
        """Return why there is nothing to do."""
        return self.left_out_sentence.strip() or "Nothing to do."


def to_add(
    changes: Sequence[Change],
    backend: Backend,
    configuration: IndexConfiguration,
    schema: Schema,
    *,
    keeps_rules: bool = False,
) -> EntryChanges:
    """Return which indexes to add; an existing index that is not built has no types to add.

    `keeps_rules`: what needs another matching rule in an existing index is left out.
    """
    fit = [
        change
        for change in changes
        if change.type in TYPES
        and _may_be_changed(change.attribute, backend, schema)
        and schema.names(change.attribute).isdisjoint(SYSTEM | configuration.virtual_attributes.keys())
        and (not change.rule or is_attribute_type(change.rule))
        and not (keeps_rules and _changes_rules(change, backend, schema))
    ]
    possible = [_to_add(its, backend, configuration, schema) for its in _by_attribute(fit, schema)]
    return EntryChanges(tuple(possible), len(changes) - len(fit))


def to_drop(
    changes: Sequence[Change], backend: Backend, configuration: IndexConfiguration, schema: Schema
) -> EntryChanges:
    """Return which indexes to remove; one of computed values may be removed, because it misses entries."""
    fit = [
        change
        for change in changes
        if _may_be_changed(change.attribute, backend, schema)
        and schema.names(change.attribute).isdisjoint(NEVER_DROPPED)
        and _has(change, backend, schema)
    ]
    possible = [_to_drop(its, backend, configuration, schema) for its in _by_attribute(fit, schema)]
    return EntryChanges(tuple(possible), len(changes) - len(fit))


def set_by(chosen: EntryChanges) -> tuple[IndexDefinition, ...]:
    """Return the index types and matching rules that changes add."""
    return tuple(
        IndexDefinition(attribute=change.attribute, types=frozenset(change.types), rules=tuple(change.rules))
        for change in chosen.changes
    )


def to_build(attributes: Iterable[str], backend: Backend, schema: Schema) -> tuple[str, ...]:
    """Return the attributes whose indexes a command can build, by their names in the configuration."""
    known = (
        (attribute, backend.definition(schema.names(attribute)))
        for attribute in attributes
        if is_attribute_type(attribute)
    )
    named = (its.attribute if its else one for one, its in known)
    return tuple(dict.fromkeys(one for one in named if is_attribute_type(one)))


def _to_add(changes: list[Change], backend: Backend, configuration: IndexConfiguration, schema: Schema) -> EntryChange:
    """Return what to add for one attribute."""
    names = schema.names(changes[0].attribute)
    known = backend.definition(names)
    missing = {change.type for change in changes if known is None or change.type not in known.types}
    rules = {change.rule for change in changes} - {"", *(known.rules if known else ())}
    name = known.attribute if known else changes[0].attribute
    default, undefined = _is_default(names, configuration), schema.find(name) is None
    return EntryChange(name, in_order(missing), tuple(sorted(rules)), known, default, undefined)


def _changes_rules(change: Change, backend: Backend, schema: Schema) -> bool:
    known = backend.definition(schema.names(change.attribute))
    return known is not None and bool(change.rule) and change.rule not in known.rules


def _to_drop(changes: list[Change], backend: Backend, configuration: IndexConfiguration, schema: Schema) -> EntryChange:
    names = schema.names(changes[0].attribute)
    known = backend.definition(names)
    name = known.attribute if known else changes[0].attribute
    types = in_order({change.type for change in changes})
    return EntryChange(name, types, known=known, is_default=_is_default(names, configuration))


def _is_default(names: frozenset[str], configuration: IndexConfiguration) -> bool:
    """Return whether an attribute has, or may have, a default index."""
    templates = configuration.templates
    return not templates or any(template.attribute.lower() in names for template in templates)


def _by_attribute(changes: Iterable[Change], schema: Schema) -> Iterable[list[Change]]:
    """Return the changes grouped by attribute; they may use different names of it."""
    grouped: defaultdict[str, list[Change]] = defaultdict(list)
    for change in changes:
        grouped[schema.primary(change.attribute).lower()].append(change)
    return grouped.values()


def in_order(types: set[str]) -> tuple[str, ...]:
    """Return the types in the order of TYPES."""
    return tuple(one for one in TYPES if one in types)


def _has(change: Change, backend: Backend, schema: Schema) -> bool:
    known = backend.definition(schema.names(change.attribute))
    return known is not None and change.type in known.types and change.type in TYPES


def _may_be_changed(attribute: str, backend: Backend, schema: Schema) -> bool:
    known = backend.definition(schema.names(attribute))
    named = known.attribute if known else attribute
    return is_attribute_type(attribute) and is_attribute_type(named) and not (known and known.system)


def removes_all(one: EntryChange) -> bool:
    """Return whether an attribute has no index type left without these."""
    return one.known is None or one.known.types <= set(one.types)


def in_no_definition(backend: Backend, attribute: str, schema: Schema, unknown: str = "") -> Iterator[str]:
    """Yield the commands that end a block where a definition in the database names an attribute.

    `unknown` is the word of a command that stands for a suffix which the evidence does not contain.
    """
    others = sorted(name for name in schema.names(attribute) if name != attribute.lower() and is_attribute_type(name))
    for suffix in suffix_words(backend, unknown):
        yield " ".join(["in_no_definition", suffix, attribute, *others])
