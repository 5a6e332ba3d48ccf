"""Indexing: what is known of one server's indexes: how they are set, its schema, and what it says itself of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.hosts.instances import Instance, facts_of
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.indexes import Backend, IndexConfiguration
from ldapdiag.evidence.indexes.entry_count import EntryCount
from ldapdiag.evidence.indexes.explanations import IndexExplanations
from ldapdiag.evidence.indexes.index_status import IndexStatus
from ldapdiag.evidence.ldif import comparable
from ldapdiag.evidence.schema import Schema
from ldapdiag.evidence.schema.merging import merged
from ldapdiag.evidence.schema.standard import standard

if TYPE_CHECKING:
    from collections.abc import Sequence

SERVER_SUFFIXES = ("cn=config", "cn=monitor", "cn=schema", "cn=subschema", "cn=accesslog", "cn=changelog")
"""Where servers keep themselves: no database of anybody's, whatever is asked there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerIndexes:
    """One server's indexes."""

    kind: ClassVar[str] = "indexing"
    how: ClassVar[str] = IndexConfiguration.how

    host: str
    configuration: IndexConfiguration
    schema: Schema
    entries: Mapping[str, int]
    """Of each suffix, comparable."""
    explanations: tuple[IndexExplanations, ...] = ()
    statuses: tuple[IndexStatus, ...] = ()
    origins: tuple[str, ...] = ()

    def backends(self, base: str, *, below: bool = True) -> tuple[Backend, ...]:
        """Return the databases that a search below a base is answered from; none for the server's own places.

        The first holds the base; others hold suffixes `below` it.
        """
        place = comparable(base)
        if any(place == own_place or place.endswith(f",{own_place}") for own_place in SERVER_SUFFIXES):
            return ()
        told = self.configuration.backends
        suffixes = [(comparable(suffix), one) for one in told for suffix in one.suffixes]
        held = [(len(suffix), one) for suffix, one in suffixes if is_within(place, suffix)]
        nearest = max(held, key=lambda pair: pair[0])[1] if held else None
        others = (
            [one for suffix, one in suffixes if suffix != place and is_within(suffix, place)] if below and place else []
        )
        found = [*([nearest] if nearest else []), *others]
        if found:
            return tuple({one.name: one for one in found}.values())
        open_to_all = [one for one in told if not one.suffixes or not place]
        return tuple(open_to_all) if len(open_to_all) == 1 else ()


def is_within(place: str, suffix: str) -> bool:
    """Tell whether a DN is a suffix or lies in it; both comparable."""
    return bool(place) and (place == suffix or not suffix or place.endswith(f",{suffix}"))


def find_server_indexes(
    server: Instance,
    configurations: tuple[IndexConfiguration, ...],
    schemas: tuple[Schema, ...],
    counts: tuple[EntryCount, ...],
    explanations: tuple[IndexExplanations, ...],
    statuses: tuple[IndexStatus, ...],
) -> ServerIndexes | Missing:
    """Put together what is told of a server's indexes."""
    told = [one for one in facts_of(configurations, server.host) if server.family in {None, one.identity.family}]
    if not told:
        return Missing(
            host=server.host,
            reason=f"no index configuration of {server.host}",
            lacks=(IndexConfiguration.kind,),
            how=IndexConfiguration.how,
        )
    configuration = merged_indexes(told)
    if not configuration.identity.version:
        configuration = replace(configuration, identity=server.identity or configuration.identity)
    known = facts_of(schemas, server.host)
    told_suffixes = [one.suffix for one in facts_of(statuses, server.host)]
    told_suffixes += [one.suffix for one in facts_of(counts, server.host)]
    suffixes = tuple(dict.fromkeys(told_suffixes))
    if len(configuration.backends) == 1 and not configuration.backends[0].suffixes:
        configuration = replace(configuration, backends=(replace(configuration.backends[0], suffixes=suffixes),))
    return ServerIndexes(
        host=server.host,
        configuration=configuration,
        schema=merged([*known, standard()]) or standard(),
        entries={comparable(one.suffix): one.entries for one in facts_of(counts, server.host)},
        explanations=tuple(facts_of(explanations, server.host)),
        statuses=tuple(facts_of(statuses, server.host)),
        origins=server.origins_of(*told, *known),
    )


def merged_indexes(told: Sequence[IndexConfiguration]) -> IndexConfiguration:
    """Return one configuration of several excerpts; what the whole one says goes first."""
    ordered = sorted(told, key=lambda one: (not one.whole, -_size(one), one.origin.path))
    first, *others = ordered
    for other in others:
        first = replace(
            first,
            backends=_joined(first.backends, other.backends),
            templates=first.templates or other.templates,
            virtual_attributes={**other.virtual_attributes, **first.virtual_attributes},
            internal_searches={**other.internal_searches, **first.internal_searches},
            **{
                name.name: getattr(other, name.name)
                for name in fields(IndexConfiguration)
                if getattr(first, name.name) is None
            },
        )
    return first


def _size(configuration: IndexConfiguration) -> int:
    return sum(len(one.definitions) for one in configuration.backends)


def _joined(some: tuple[Backend, ...], others: tuple[Backend, ...]) -> tuple[Backend, ...]:
    """Return the backends of both; of one that both tell of, the other fills in what the first leaves out."""
    by_name = {one.name.lower(): one for one in some}
    for other in others:
        name = other.name.lower()
        if name not in by_name and len(by_name) == len(others) == 1 and "" in {name, *by_name}:
            ((name, only),) = by_name.items()  # the text that tells of one does not name it
            by_name[name] = replace(_filled(only, other), name=only.name or other.name)
        else:
            by_name[name] = _filled(by_name[name], other) if name in by_name else other
    return tuple(by_name.values())


def _filled(known: Backend, other: Backend) -> Backend:
    return replace(
        known,
        suffixes=known.suffixes or other.suffixes,
        definitions=known.definitions or other.definitions,
        entry=known.entry or other.entry,
        kind=known.kind or other.kind,
        refuses_unindexed=known.refuses_unindexed or other.refuses_unindexed,
        entry_limit=other.entry_limit if known.entry_limit is None else known.entry_limit,
    )
