"""Indexes by dsconfig and rebuild-index: the commands of OpenDJ, its relatives and PingDirectory."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes.opends_index_types import SYSTEM, TYPES
from ldapdiag.remedy import is_attribute_type, is_distinguished_name
from ldapdiag.servers.missing_names import NO_BACKEND, NO_SUFFIX, missing_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.evidence.indexes import Backend, IndexDefinition
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.candidates import Change
    from ldapdiag.servers.dsconfig import Dsconfig

BACKEND_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
NEVER_DROPPED = SYSTEM
"""Lower case: what the server needs for itself, whatever a log shows. Nor is it ever added to."""
Types = Mapping[str, tuple[str, ...]]
"""Types of index, by attribute."""
ADDABLE = TYPES - {"extensible"}
"""What can be added without further settings."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of some changes can be said in commands."""

    types: Types
    """By attribute, in the order they were given."""
    left_out: int
    """Changes whose attribute or type is fit for no command."""

    @property
    def sentence(self) -> str:
        """Return what is to be said of those left out; empty where there are none."""
        if not self.left_out:
            return ""
        return (
            f"Left out: {self.left_out} that cannot be put into a command: not the name of an attribute type, or an "
            "index of the server's own. "
        )


@dataclass(frozen=True, slots=True)
class IndexTool:
    """dsconfig and rebuild-index at one server and backend."""

    tool: Dsconfig
    rebuild: str
    """rebuild-index with its connection options."""
    backend: Backend
    schema: Schema
    noun: str
    """backend-index, local-db-index: what the product calls an index."""
    owner: str = "--backend-name"
    """The option that names the backend."""

    def add(self, wanted: Types) -> list[str]:
        """Return the commands that set indexes; those that are set already are passed over."""
        return [
            self._create(attribute, types) if known is None else self._set(attribute, "add", types)
            for attribute, known, types in self._missing(wanted)
        ]

    def undo_add(self, wanted: Types) -> list[str]:
        """Return the commands that take back what `add` sets."""
        return [
            self._delete(attribute) if known is None else self._set(attribute, "remove", types)
            for attribute, known, types in self._missing(wanted)
        ]

    def remove(self, wanted: Types) -> list[str]:
        """Return the commands that take types away; with its last one the index of an attribute goes."""
        return [
            self._delete(attribute) if whole else self._set(attribute, "remove", types)
            for attribute, whole, types in self._present(wanted)
        ]

    def undo_remove(self, wanted: Types) -> list[str]:
        """Return the commands that set again what `remove` takes away; it must then be built."""
        return [
            self._create(attribute, types) if whole else self._set(attribute, "add", types)
            for attribute, whole, types in self._present(wanted)
        ]

    def build(self, attributes: Iterable[str]) -> list[str]:
        """Return the commands that build indexes, one for each suffix of the backend."""
        named = " ".join(f"--index {attribute}" for attribute in attributes)
        return [f"{self.rebuild} --baseDN {suffix} {named}" for suffix in suffixes_of(self.backend)]

    def build_invalid(self) -> list[str]:
        """Return the commands that build whatever is not valid (OpenDJ)."""
        return [f"{self.rebuild} --baseDN {suffix} --rebuildDegraded" for suffix in suffixes_of(self.backend)]

    def show(self, attribute: str) -> str:
        """Return the command that shows how an attribute is indexed."""
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


def to_add(changes: Sequence[Change], backend: Backend, schema: Schema) -> Wanted:
    """Return which indexes to add."""
    return _wanted([one if one.type in ADDABLE else None for one in changes], backend, schema)


def to_drop(changes: Sequence[Change], backend: Backend, schema: Schema) -> Wanted:
    """Return which indexes to take away: never one that the server itself needs."""
    return _wanted([one if _may_go(one, backend, schema) else None for one in changes], backend, schema)


def _may_go(change: Change, backend: Backend, schema: Schema) -> bool:
    known = backend.definition(schema.names(change.attribute))
    return known is not None and not known.system and change.type in known.types


def _wanted(changes: Sequence[Change | None], backend: Backend, schema: Schema) -> Wanted:
    """Return the types by attribute, but for what fits no command."""
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
    return Wanted({name: tuple(its) for name, its in types.items()}, left_out)


def to_build(attributes: Iterable[str], backend: Backend, schema: Schema) -> tuple[str, ...]:
    """Return the attributes whose indexes a command can build, by the names they are configured by."""
    known = ((one, backend.definition(schema.names(one))) for one in attributes)
    named = (its.attribute if its else one for one, its in known)
    return tuple(dict.fromkeys(one for one in named if _is_name(one)))


def _is_name(attribute: str) -> bool:
    """Tell whether dsconfig may be given an attribute: not by its OID, as tried with OpenDJ 4.10.1."""
    return is_attribute_type(attribute) and attribute[0].isalpha()


def listed(types: Types) -> str:
    """Return `cn (equality, substring), sn (equality)`."""
    return ", ".join(f"{attribute} ({', '.join(its)})" for attribute, its in types.items())


def backend_name(backend: Backend) -> str:
    """Return the name of a backend as it may stand in a command; empty where it may not."""
    return backend.name if BACKEND_NAME.fullmatch(backend.name) else ""


def suffixes_of(backend: Backend) -> list[str]:
    """Return its suffixes that are DNs, quoted."""
    return [shlex.quote(one) for one in backend.suffixes if is_distinguished_name(one)]


def lacking_of(server: str, backend: Backend) -> list[str]:
    """Return what commands need and is not told."""
    return missing_names(server, (backend_name(backend), NO_BACKEND), (suffixes_of(backend), NO_SUFFIX))
