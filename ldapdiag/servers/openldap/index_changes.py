"""Changes of slapd's `index` lines that add or remove index types, with validated attribute names.

To add sub for cn:

    index cn eq       replace `cn eq` by `cn eq,sub`; slapd refuses a second line for cn
    index cn,sn eq    replace `cn,sn eq` by `cn eq,sub` and `sn eq`
    index name eq     add `cn eq,sub`: only the nearest line is used, so it must contain eq too

During the build of that last one slapd scans for (cn=x).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes import IndexDefinition
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.remedy import is_attribute_description
from ldapdiag.servers.indexes.candidates import Change
from ldapdiag.servers.openldap.index_lines import SUBSTRING_TYPES, line_of, own_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.evidence.schema import Schema

TYPES = ("pres", "eq", "approx", "sub", "subinitial", "subany", "subfinal")
NEVER_DROPPED = frozenset({"objectclass", "entrycsn", "entryuuid"})
"""Lower case: slapd itself searches by these, for referrals in every search and for replication."""


@dataclass(frozen=True, slots=True)
class LineChanges:
    """Changes of the index lines of one database."""

    removed_lines: tuple[str, ...]
    """As written in the configuration."""
    added_lines: tuple[str, ...]
    listed: str
    """The changes for people: `cn sub, mail eq`."""
    attributes: tuple[str, ...]
    left_out: int
    """Number of changes that cannot or must not be put into a command."""
    added: tuple[Change, ...] = ()
    """Index types that the lines contain only after the change."""
    removed: tuple[Change, ...] = ()
    """Index types that they contain only before it."""
    written: tuple[IndexDefinition, ...] = ()
    """The indexes of the added lines; `written` of each is the line that its own replaces."""

    @property
    def reversed(self) -> LineChanges:
        """Return the changes that undo these."""
        return replace(
            self, removed_lines=self.added_lines, added_lines=self.removed_lines, added=self.removed, removed=self.added
        )

    @property
    def left_out_sentence(self) -> str:
        """Return a sentence on the changes that are left out, with a space at its end; empty if there are none."""
        if not self.left_out:
            return ""
        return (
            f"Left out: {self.left_out} that cannot be put into a command: not the name of an attribute type, or an "
            "index that slapd needs. "
        )


def with_types(changes: Sequence[Change], backend: Backend, schema: Schema) -> LineChanges:
    """Return the line changes that add index types."""
    fit = [one for one in changes if is_attribute_description(one.attribute) and one.type in TYPES]
    wanted: dict[str, IndexDefinition] = {}
    for change in fit:
        name, *tags = change.attribute.split(";")
        own = own_line(name, tags, backend, schema)
        key = _key(change.attribute, schema)
        known = wanted.get(key) or own or _inherited(change.attribute, backend, schema)
        types = known.types | {change.type}
        if change.type == "sub":
            types = types - SUBSTRING_TYPES | {"sub"}
        wanted[key] = replace(known, types=types)
    return _changes(wanted, fit, backend, schema, len(changes) - len(fit))


def without_types(changes: Sequence[Change], backend: Backend, schema: Schema) -> LineChanges:
    """Return the line changes that remove index types; a line without types is removed."""
    fit, wanted = [], dict[str, IndexDefinition]()
    for change in changes:
        name, *tags = change.attribute.split(";")
        own = own_line(name, tags, backend, schema) if is_attribute_description(change.attribute) else None
        if own is None or not NEVER_DROPPED.isdisjoint(schema.names(name)) or not _removed(change) & own.types:
            continue
        key = _key(change.attribute, schema)
        known = wanted.get(key, own)
        wanted[key] = replace(known, types=known.types - _removed(change))
        fit.append(change)
    return _changes(wanted, fit, backend, schema, len(changes) - len(fit))


def rewritten(attributes: Sequence[str], backend: Backend, schema: Schema) -> LineChanges:
    """Return the lines of attributes, to be removed and added again."""
    names = [attribute for attribute in attributes if is_attribute_description(attribute)]
    own = [own_line(name.split(";")[0], name.split(";")[1:], backend, schema) for name in names]
    found = [one for one in own if one is not None]
    lines = tuple(dict.fromkeys(map(line_as_written, found)))
    built = tuple(Change(one.attribute, type_) for one in found for type_ in TYPES if type_ in one.types)
    return LineChanges(lines, lines, ", ".join(names), tuple(names), len(attributes) - len(names), built)


def line_as_written(definition: IndexDefinition) -> str:
    """Return the line of a definition as configured, else as it would be written."""
    return definition.written or line(definition)


def line(definition: IndexDefinition) -> str:
    """Return a line for one attribute."""
    specials = [*([] if definition.subtypes else ["nosubtypes"]), *([] if definition.options else ["notags"])]
    types = [*(one for one in TYPES if one in definition.types), *specials]
    return f"{definition.attribute} {','.join(types)}"


def _key(attribute: str, schema: Schema) -> str:
    """Return a key that is the same for all names of an attribute description."""
    name, *tags = attribute.split(";")
    return ";".join((schema.primary(name), *sorted(tags))).lower()


def _types(definition: IndexDefinition | None) -> frozenset[str]:
    """Return the types of a line; one substring type stands for all of them."""
    if definition is None:
        return frozenset()
    return definition.types | (SUBSTRING_TYPES if definition.types & SUBSTRING_TYPES else frozenset())


def _removed(change: Change) -> frozenset[str]:
    return SUBSTRING_TYPES if change.type in SUBSTRING_TYPES else frozenset({change.type})


def _inherited(attribute: str, backend: Backend, schema: Schema) -> IndexDefinition:
    """Return a definition with the types that an attribute without a line of its own inherits from a supertype."""
    name, *tags = attribute.split(";")
    inherited = line_of(name, tags, backend, schema)
    return IndexDefinition(attribute=attribute, types=inherited.types if inherited else frozenset())


def _changes(
    wanted: dict[str, IndexDefinition], fit: Iterable[Change], backend: Backend, schema: Schema, left_out: int
) -> LineChanges:
    """Return the line changes for these attributes; the other attributes of a removed line keep their types."""
    owned: dict[str, IndexDefinition] = {}
    added, removed = list[Change](), list[Change]()
    for attribute, one in wanted.items():
        name, *tags = attribute.split(";")
        own = own_line(name, tags, backend, schema)
        added += [Change(one.attribute, each) for each in TYPES if each in one.types - _types(own)]
        if own is not None:
            owned[own.attribute.lower()] = one
            removed += [Change(one.attribute, each) for each in TYPES if each in own.types - _types(one)]
    removed_lines = dict.fromkeys(
        line_as_written(definition) for definition in backend.definitions if definition.attribute.lower() in owned
    )
    beside = [
        definition
        for definition in backend.definitions
        if line_as_written(definition) in removed_lines and definition.attribute.lower() not in owned
    ]
    written = {line(one): one for one in (*beside, *wanted.values()) if one.types}
    done = dict.fromkeys(fit)
    return LineChanges(
        removed_lines=tuple(one for one in removed_lines if one not in written),
        added_lines=tuple(one for one in written if one not in removed_lines),
        listed=", ".join(f"{one.attribute} {one.type}" for one in done),
        attributes=tuple(dict.fromkeys(one.attribute for one in done)),
        left_out=left_out,
        added=tuple(added),
        removed=tuple(removed),
        written=tuple(one for text, one in written.items() if text not in removed_lines),
    )
