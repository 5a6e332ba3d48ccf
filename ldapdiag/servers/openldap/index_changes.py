"""Which index lines of slapd must go, and which must come, for other types of index: names of attributes validated.

index cn eq            and sub for cn:  `cn eq` goes, `cn eq,sub` comes; slapd refuses a second line for cn
index cn,sn eq         and sub for cn:  `cn,sn eq` goes, `cn eq,sub` and `sn eq` come
index name eq          and sub for cn:  `cn eq,sub` comes: the nearest line alone answers, so it takes over eq

While that last one is built, (cn=x) is looked up nowhere: slapd scans for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes import IndexDefinition
from ldapdiag.remedy import is_attribute_description
from ldapdiag.servers.candidates import Change
from ldapdiag.servers.openldap.index_lines import SUBSTRING_TYPES, line_of, own_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.evidence.schema import Schema

TYPES = ("pres", "eq", "approx", "sub", "subinitial", "subany", "subfinal")
NEVER_DROPPED = frozenset({"objectclass", "entrycsn", "entryuuid"})
"""Lower case: slapd itself searches by these, for referrals in every search, and to replicate."""


@dataclass(frozen=True, slots=True)
class LineChanges:
    """What becomes of the lines of one database."""

    gone: tuple[str, ...]
    """As written."""
    come: tuple[str, ...]
    listed: str
    """What is done, for people: `cn sub, mail eq`."""
    attributes: tuple[str, ...]
    left_out: int
    """Changes that cannot or must not be put into a command."""
    added: tuple[Change, ...] = ()
    """What the lines say afterwards, and do not yet."""
    removed: tuple[Change, ...] = ()
    """What they say, and do not afterwards."""

    @property
    def reversed(self) -> LineChanges:
        """Return what takes them back."""
        return replace(self, gone=self.come, come=self.gone, added=self.removed, removed=self.added)

    @property
    def sentence(self) -> str:
        """Return what is to be said of those left out, with a blank behind it; empty where there are none."""
        if not self.left_out:
            return ""
        return (
            f"Left out: {self.left_out} that cannot be put into a command: not the name of an attribute type, or an "
            "index that slapd needs. "
        )


def with_types(changes: Sequence[Change], backend: Backend, schema: Schema) -> LineChanges:
    """Return the lines that add types of index."""
    fit = [one for one in changes if is_attribute_description(one.attribute) and one.type in TYPES]
    wanted: dict[str, IndexDefinition] = {}
    for change in fit:
        name, *tags = change.attribute.split(";")
        own = own_line(name, tags, backend.definitions, schema)
        key = _key(change.attribute, schema)
        known = wanted.get(key) or own or _inherited(change.attribute, backend, schema)
        types = known.types | {change.type}
        if change.type == "sub":
            types = types - SUBSTRING_TYPES | {"sub"}
        wanted[key] = replace(known, types=types)
    return _changes(wanted, fit, backend, schema, len(changes) - len(fit))


def without_types(changes: Sequence[Change], backend: Backend, schema: Schema) -> LineChanges:
    """Return the lines that take types away, and with the last one the line."""
    fit, wanted = [], dict[str, IndexDefinition]()
    for change in changes:
        name, *tags = change.attribute.split(";")
        own = own_line(name, tags, backend.definitions, schema) if is_attribute_description(change.attribute) else None
        if own is None or not NEVER_DROPPED.isdisjoint(schema.names(name)) or not _removed(change) & own.types:
            continue
        key = _key(change.attribute, schema)
        known = wanted.get(key, own)
        wanted[key] = replace(known, types=known.types - _removed(change))
        fit.append(change)
    return _changes(wanted, fit, backend, schema, len(changes) - len(fit))


def again(attributes: Sequence[str], backend: Backend, schema: Schema) -> LineChanges:
    """Return the lines of attributes, to go and to come again."""
    names = [one for one in attributes if is_attribute_description(one)]
    found = [own_line(one.split(";")[0], one.split(";")[1:], backend.definitions, schema) for one in names]
    lines = tuple(dict.fromkeys(written(one) for one in found if one is not None))
    return LineChanges(lines, lines, ", ".join(names), tuple(names), len(attributes) - len(names))


def written(definition: IndexDefinition) -> str:
    """Return the line that says what a definition says."""
    return definition.written or line(definition)


def line(definition: IndexDefinition) -> str:
    """Return a line for one attribute alone."""
    specials = [*([] if definition.subtypes else ["nosubtypes"]), *([] if definition.options else ["notags"])]
    types = [*(one for one in TYPES if one in definition.types), *specials]
    return f"{definition.attribute} {','.join(types)}"


def _key(attribute: str, schema: Schema) -> str:
    """Return what two names of one attribute description have in common."""
    name, *tags = attribute.split(";")
    return ";".join((schema.primary(name), *sorted(tags))).lower()


def _said(definition: IndexDefinition | None) -> frozenset[str]:
    """Return the types of a line; one for any substrings is one for all."""
    if definition is None:
        return frozenset()
    return definition.types | (SUBSTRING_TYPES if definition.types & SUBSTRING_TYPES else frozenset())


def _removed(change: Change) -> frozenset[str]:
    return SUBSTRING_TYPES if change.type in SUBSTRING_TYPES else frozenset({change.type})


def _inherited(attribute: str, backend: Backend, schema: Schema) -> IndexDefinition:
    """Return what an attribute without a line of its own has of a supertype's."""
    name, *tags = attribute.split(";")
    answering = line_of(name, tags, backend.definitions, schema)
    return IndexDefinition(attribute=attribute, types=answering.types if answering else frozenset())


def _changes(
    wanted: dict[str, IndexDefinition], fit: Iterable[Change], backend: Backend, schema: Schema, left_out: int
) -> LineChanges:
    """Return what the lines must be for these attributes; the others of a line that goes keep what they have."""
    owned: dict[str, IndexDefinition] = {}
    added, removed = list[Change](), list[Change]()
    for asked, one in wanted.items():
        name, *tags = asked.split(";")
        own = own_line(name, tags, backend.definitions, schema)
        added += [Change(one.attribute, each) for each in TYPES if each in one.types - _said(own)]
        if own is not None:
            owned[own.attribute.lower()] = one
            removed += [Change(one.attribute, each) for each in TYPES if each in own.types - _said(one)]
    gone = dict.fromkeys(written(one) for one in backend.definitions if one.attribute.lower() in owned)
    beside = [one for one in backend.definitions if written(one) in gone and one.attribute.lower() not in owned]
    come = [line(one) for one in (*beside, *wanted.values()) if one.types]
    done = dict.fromkeys(fit)
    return LineChanges(
        gone=tuple(one for one in gone if one not in come),
        come=tuple(one for one in come if one not in gone),
        listed=", ".join(f"{one.attribute} {one.type}" for one in done),
        attributes=tuple(dict.fromkeys(one.attribute for one in done)),
        left_out=left_out,
        added=tuple(added),
        removed=tuple(removed),
    )
