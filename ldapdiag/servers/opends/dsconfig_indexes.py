"""Commands of dsconfig and rebuild-index for indexes of OpenDJ, its relatives and PingDirectory.

Index remedies with dsconfig, for OpenDJ, its relatives and PingDirectory: add, build and drop indexes.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes import IndexDefinition
from ldapdiag.evidence.indexes.opends_index_types import SYSTEM, TYPES
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, is_attribute_type, is_distinguished_name
from ldapdiag.servers.commands.remedy_texts import (
    INDEX_BY_HAND,
    NO_BACKEND,
    NO_SUFFIX,
    advice_if_missing,
    missing_names,
)
from ldapdiag.servers.opends.dsconfig import PASSWORD_HINT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.commands.server_address import ServerAddress
    from ldapdiag.servers.indexes.candidates import Change, IndexPlace
    from ldapdiag.servers.opends.dsconfig import Dsconfig


BACKEND_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
NEVER_DROPPED = SYSTEM
"""Lower case: attributes that the server itself needs; no type is added to their indexes either."""
Types = Mapping[str, tuple[str, ...]]
"""Index types by attribute."""
ADDABLE = TYPES - {"extensible"}
"""Index types that need no further settings."""


@dataclass(frozen=True, slots=True)
class TypeChanges:
    """The possible ones of some proposed changes of index types."""

    types: Types
    """In the order given."""
    left_out: int
    """Number of changes whose attribute or type cannot be put into a command."""

    @property
    def left_out_sentence(self) -> str:
        """Return a sentence on the changes that are left out, with a space at its end; empty if there are none."""
        if not self.left_out:
            return ""
        return (
            f"Left out: {self.left_out} that cannot be put into a command: not the name of an attribute type, or a "
            "system index. "
        )


@dataclass(frozen=True, slots=True)
class IndexTool:
    """dsconfig and rebuild-index with the options for one server and backend."""

    tool: Dsconfig
    rebuild: str
    """rebuild-index with its connection options."""
    backend: Backend
    schema: Schema
    noun: str
    """The product's name of an index in subcommands: backend-index, local-db-index."""
    owner: str = "--backend-name"
    """The option that names the backend."""

    def add(self, wanted: Types) -> list[str]:
        """Return the commands that add index types; existing ones are skipped."""
        return [
            self._create(attribute, types) if known is None else self._set(attribute, "add", types)
            for attribute, known, types in self._missing(wanted)
        ]

    def undo_add(self, wanted: Types) -> list[str]:
        """Return the commands that undo `add`."""
        return [
            self._delete(attribute) if known is None else self._set(attribute, "remove", types)
            for attribute, known, types in self._missing(wanted)
        ]

    def remove(self, wanted: Types) -> list[str]:
        """Return the commands that remove index types; an index without types is deleted."""
        return [
            self._delete(attribute) if whole else self._set(attribute, "remove", types)
            for attribute, whole, types in self._present(wanted)
        ]

    def undo_remove(self, wanted: Types) -> list[str]:
        """Return the commands that undo `remove`; the indexes must then be built."""
        return [
            self._create(attribute, types) if whole else self._set(attribute, "add", types)
            for attribute, whole, types in self._present(wanted)
        ]

    def build(self, attributes: Iterable[str]) -> list[str]:
        """Return the commands that build indexes, one per suffix of the backend."""
        named = " ".join(f"--index {attribute}" for attribute in attributes)
        return [f"{self.rebuild} --baseDN {suffix} {named}" for suffix in suffixes_of(self.backend)]

    def build_invalid(self) -> list[str]:
        """Return the commands that build all invalid indexes (OpenDJ)."""
        return [f"{self.rebuild} --baseDN {suffix} --rebuildDegraded" for suffix in suffixes_of(self.backend)]

    def show(self, attribute: str) -> str:
        """Return the command that shows the index of an attribute."""
        return self._run(f"get-{self.noun}-prop", attribute)

    def _missing(self, wanted: Types) -> Iterator[tuple[str, IndexDefinition | None, list[str]]]:
        for attribute, types in wanted.items():
            known = self.backend.definition(self.schema.names(attribute))
            missing = [one for one in types if known is None or one not in known.types]
            if missing:
                yield attribute, known, missing

    def _present(self, wanted: Types) -> Iterator[tuple[str, bool, list[str]]]:
        for attribute, types in wanted.items():
            known = self.backend.definition(self.schema.names(attribute))
            present = [one for one in types if known is not None and one in known.types]
            if known is not None and present:
                yield attribute, known.types == set(present), present

    def _create(self, attribute: str, types: Iterable[str]) -> str:
        return self._run(f"create-{self.noun}", attribute, *(f'--set "index-type:{one}"' for one in types))

    def _delete(self, attribute: str) -> str:
        return self._run(f"delete-{self.noun}", attribute)

    def _set(self, attribute: str, how: str, types: Iterable[str]) -> str:
        return self._run(f"set-{self.noun}-prop", attribute, *(f'--{how} "index-type:{one}"' for one in types))

    def _run(self, command: str, attribute: str, *settings: str) -> str:
        return self.tool.run(
            command, f"{self.owner} {backend_name(self.backend)}", f"--index-name {attribute}", *settings
        )


def to_add(changes: Sequence[Change], backend: Backend, schema: Schema) -> TypeChanges:
    """Return which indexes to add."""
    return _possible([change if change.type in ADDABLE else None for change in changes], backend, schema)


def set_by(chosen: TypeChanges) -> tuple[IndexDefinition, ...]:
    """Return the index types that changes add."""
    return tuple(IndexDefinition(attribute=name, types=frozenset(types)) for name, types in chosen.types.items())


def to_drop(changes: Sequence[Change], backend: Backend, schema: Schema) -> TypeChanges:
    """Return which indexes to remove; never one that the server itself needs."""
    return _possible(
        [change if _is_removable(change, backend, schema) else None for change in changes], backend, schema
    )


def _is_removable(change: Change, backend: Backend, schema: Schema) -> bool:
    known = backend.definition(schema.names(change.attribute))
    return known is not None and not known.system and change.type in known.types


def _possible(changes: Sequence[Change | None], backend: Backend, schema: Schema) -> TypeChanges:
    """Return the types by attribute, without those that cannot be put into a command."""
    types: defaultdict[str, list[str]] = defaultdict(list)
    left_out = 0
    for change in changes:
        names = schema.names(change.attribute) if change else frozenset()
        known = backend.definition(names)
        name = known.attribute if known else schema.primary(change.attribute) if change else ""
        if change is None or not _is_name(name) or not names.isdisjoint(NEVER_DROPPED):
            left_out += 1
        elif change.type not in types[name]:
            types[name].append(change.type)
    return TypeChanges({name: tuple(its) for name, its in types.items()}, left_out)


def to_build(attributes: Iterable[str], backend: Backend, schema: Schema) -> tuple[str, ...]:
    """Return the attributes whose indexes a command can build, by their names in the configuration."""
    known = ((attribute, backend.definition(schema.names(attribute))) for attribute in attributes)
    named = (its.attribute if its else one for one, its in known)
    return tuple(dict.fromkeys(one for one in named if _is_name(one)))


def _is_name(attribute: str) -> bool:
    """Return whether dsconfig accepts an attribute name; it rejects an OID (tested with OpenDJ 4.10.1)."""
    return is_attribute_type(attribute) and attribute[0].isalpha()


def listed(types: Types) -> str:
    """Return `cn (equality, substring), sn (equality)`."""
    return ", ".join(f"{attribute} ({', '.join(its)})" for attribute, its in types.items())


def backend_name(backend: Backend) -> str:
    """Return the name of a backend if it is valid in a command, else an empty string."""
    return backend.name if BACKEND_NAME.fullmatch(backend.name) else ""


def suffixes_of(backend: Backend) -> list[str]:
    """Return the suffixes of a backend that are DNs, quoted."""
    return [shlex.quote(suffix) for suffix in backend.suffixes if is_distinguished_name(suffix)]


def missing_for(backend: Backend) -> list[str]:
    """Return the names that the commands need and the evidence lacks."""
    return missing_names((backend_name(backend), NO_BACKEND), (suffixes_of(backend), NO_SUFFIX))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnnamedBuild:
    """What a product's build remedy is if no name of an attribute is valid in a command."""

    kind: RemedyKind
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DsconfigIndexRemedies:
    """Index remedies for one server and backend, with the texts of its product."""

    server: ServerAddress
    family: Family
    tool: IndexTool
    while_it_builds: str
    """The risk of a build: its effect on searches, and the replicas."""
    once_dropped: str
    """The risk of a removal: its effect on searches that need the index."""
    verify: Callable[[str], str]
    """Returns the command that shows whether the index of an attribute works."""
    unnamed: UnnamedBuild

    def add(self, changes: Sequence[Change]) -> Remedy:
        """Add indexes and build them."""
        tool = self.tool
        wanted = to_add(changes, tool.backend, tool.schema)
        named = listed(wanted.types)
        commands = "\n".join([*tool.add(wanted.types), *tool.build(wanted.types)]) if named else ""
        remedy = Remedy(
            title=f"Index {named}" if named else INDEX_BY_HAND,
            target=self.server.name,
            where=Where.SERVER,
            kind=RemedyKind.SHELL if named else RemedyKind.ADVICE,
            text=commands or wanted.left_out_sentence.strip(),
            changes=f"Searches by these attributes use an index. {wanted.left_out_sentence}{PASSWORD_HINT}",
            risk=self.while_it_builds,
            undo="\n".join(tool.undo_add(wanted.types)),
            verify="\n".join(map(self.verify, wanted.types)),
            family=self.family,
            needs=Needs.REINDEX,
            brief=commands,
        )
        return self._ready(remedy)

    def build(self, attributes: Sequence[str]) -> Remedy:
        """Build configured indexes."""
        names = to_build(attributes, self.tool.backend, self.tool.schema)
        remedy = Remedy(
            title=f"Build the indexes of {', '.join(names)}" if names else self.unnamed.title,
            target=self.server.name,
            where=Where.SERVER,
            kind=RemedyKind.SHELL if names else self.unnamed.kind,
            text="\n".join(self.tool.build(names)) if names else self.unnamed.text,
            changes=f"The indexes are used again. {PASSWORD_HINT}",
            risk=self.while_it_builds,
            undo="",
            verify="\n".join(map(self.verify, names)),
            family=self.family,
            needs=Needs.REINDEX,
        )
        return self._ready(remedy)

    def drop(self, changes: Sequence[Change]) -> Remedy:
        """Remove indexes."""
        tool = self.tool
        wanted = to_drop(changes, tool.backend, tool.schema)
        named = listed(wanted.types)
        remedy = Remedy(
            title=f"Drop the index of {named}" if named else "Drop no index",
            target=self.server.name,
            where=Where.SERVER,
            kind=RemedyKind.SHELL if named else RemedyKind.ADVICE,
            text="\n".join(tool.remove(wanted.types)) if named else wanted.left_out_sentence.strip(),
            changes=(
                "Changes of these attributes become cheaper, and the database becomes smaller. "
                f"{wanted.left_out_sentence}{PASSWORD_HINT}"
            ),
            risk=self.once_dropped,
            undo="\n".join([*tool.undo_remove(wanted.types), *tool.build(wanted.types)]) if named else "",
            verify="\n".join(map(tool.show, wanted.types)),
            family=self.family,
        )
        return self._ready(remedy)

    def _ready(self, remedy: Remedy) -> Remedy:
        return advice_if_missing(remedy, missing_for(self.tool.backend))


@dataclass(frozen=True, slots=True)
class DsconfigIndexFunctions:
    """The functions of a product's index remedies that differ between products only in the remedies they start from."""

    remedies: Callable[[IndexPlace], DsconfigIndexRemedies]

    def add_indexes(self, place: IndexPlace, changes: Sequence[Change]) -> Remedy:
        """Add indexes and build them."""
        return self.remedies(place).add(changes)

    def build_indexes(self, place: IndexPlace, attributes: Sequence[str]) -> Remedy:
        """Build configured indexes."""
        return self.remedies(place).build(attributes)

    def drop_indexes(self, place: IndexPlace, changes: Sequence[Change]) -> Remedy:
        """Remove indexes."""
        return self.remedies(place).drop(changes)


def indexes_set_by_add(
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,  # noqa: ARG001  part of the interface
    schema: Schema,
) -> tuple[IndexDefinition, ...]:
    """Return the index types that the commands of add_indexes add."""
    return set_by(to_add(changes, backend, schema))
