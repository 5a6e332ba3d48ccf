"""ServerIndexes: one server's index configuration, schema and entry counts, and its own reports on its indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.hosts.instances import Instance, facts_of
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.indexes import Backend, IndexConfiguration
from ldapdiag.evidence.indexes.entry_count import EntryCount
from ldapdiag.evidence.indexes.explanations import IndexExplanations
from ldapdiag.evidence.indexes.index_status import IndexStatus
from ldapdiag.evidence.ldif import comparable
from ldapdiag.evidence.schema import Schema
from ldapdiag.evidence.schema.descriptions import merged
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.commands.server_address import ServerAddress
from ldapdiag.servers.indexes.candidates import IndexPlace
from ldapdiag.servers.traits import traits_of

if TYPE_CHECKING:
    from collections.abc import Sequence

SERVER_SUFFIXES = ("cn=config", "cn=monitor", "cn=schema", "cn=subschema", "cn=accesslog", "cn=changelog")
"""Suffixes of the servers themselves: no index is advised for searches below them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerIndexes:
    """The indexes of one server."""

    kind: ClassVar[str] = "indexing"
    how: ClassVar[str] = IndexConfiguration.how

    server: str
    """The server, by the name of its instance."""
    host: str
    address: ServerAddress
    configuration: IndexConfiguration
    schema: Schema
    """Completed with the attribute types of the standards."""
    entries: Mapping[str, int]
    """Number of entries by comparable suffix."""
    explanations: tuple[IndexExplanations, ...] = ()
    statuses: tuple[IndexStatus, ...] = ()
    schema_is_known: bool = False
    """The server's own schema was collected, all of it."""
    origins: tuple[str, ...] = ()

    def place(self, backend: Backend) -> IndexPlace:
        """Return what adds, builds and drops indexes of one of its databases."""
        return IndexPlace(self.address, backend, self.configuration, self.schema)

    def backends(self, base: str, *, below: bool = True) -> tuple[Backend, ...]:
        """Return the databases that answer a search; none for the server's own suffixes.

        The first contains the base; the others have suffixes `below` it. slapd searches a database below another only
        if it is glued to it (subordinate, slapd.conf(5)).
        """
        if is_server_suffix(base):
            return ()
        base_dn = comparable(base)
        backends = self.configuration.backends
        suffixes = [(comparable(suffix), backend) for backend in backends for suffix in backend.suffixes]
        containing = [(len(suffix), backend) for suffix, backend in suffixes if is_within(base_dn, suffix)]
        found = [max(containing, key=lambda pair: pair[0])[1]] if containing else []
        if below and base_dn:
            found += [
                backend
                for suffix, backend in suffixes
                if suffix != base_dn and is_within(suffix, base_dn)
                if backend.glued or not traits_of(self.configuration.identity.family).needs_glue
            ]
        if found:
            return tuple({backend.name: backend for backend in found}.values())
        # A single database of unknown suffix, or the only one below the root.
        possible = [backend for backend in backends if not backend.suffixes or not base_dn]
        return tuple(possible) if len(possible) == 1 else ()


def is_within(dn: str, suffix: str) -> bool:
    """Return whether a DN equals a suffix or is below it; both comparable."""
    return bool(dn) and (dn == suffix or not suffix or dn.endswith(f",{suffix}"))


def is_server_suffix(base: str) -> bool:
    """Return whether a base is, or is below, a suffix of the server itself."""
    base_dn = comparable(base)
    return any(base_dn == own or base_dn.endswith(f",{own}") for own in SERVER_SUFFIXES)


@provides(ServerIndexes)
def find_server_indexes(
    server: Instance,
    configurations: tuple[IndexConfiguration, ...],
    schemas: tuple[Schema, ...],
    counts: tuple[EntryCount, ...],
    explanations: tuple[IndexExplanations, ...],
    statuses: tuple[IndexStatus, ...],
) -> ServerIndexes | Missing:
    """Combine the evidence of one server's indexes."""
    if (inapplicable := server.not_a_directory) is not None:
        return inapplicable
    own = [
        configuration
        for configuration in facts_of(configurations, server.name)
        if server.family in {None, configuration.identity.family}
    ]
    if not own:
        return Missing(
            host=server.name,
            reason=f"no index configuration of {server.name}",
            lacks=(IndexConfiguration.kind,),
            how=IndexConfiguration.how,
        )
    own_statuses, own_counts = facts_of(statuses, server.name), facts_of(counts, server.name)
    suffixes = [status.suffix for status in own_statuses] + [count.suffix for count in own_counts]
    own_schemas = facts_of(schemas, server.name)
    entries = {comparable(count.suffix): count.entries for count in own_counts}
    return ServerIndexes(
        server=server.name,
        host=server.host,
        address=server.address,
        configuration=_completed(merged_indexes(own), server, tuple(dict.fromkeys(suffixes)), entries),
        schema=merged([*own_schemas, standard()]) or standard(),
        schema_is_known=any(schema.whole for schema in own_schemas),
        entries=entries,
        explanations=tuple(facts_of(explanations, server.name)),
        statuses=tuple(own_statuses),
        origins=server.origins_of(*own, *own_schemas),
    )


def _completed(
    configuration: IndexConfiguration, server: Instance, suffixes: tuple[str, ...], entries: Mapping[str, int]
) -> IndexConfiguration:
    """Fill in the version, the suffixes of a single database and the numbers of entries from other evidence."""
    if not configuration.identity.version:
        configuration = replace(configuration, identity=server.identity or configuration.identity)
    if len(configuration.backends) == 1 and not configuration.backends[0].suffixes:
        configuration = replace(configuration, backends=(replace(configuration.backends[0], suffixes=suffixes),))
    return replace(configuration, backends=tuple(_counted(backend, entries) for backend in configuration.backends))


def _counted(backend: Backend, entries: Mapping[str, int]) -> Backend:
    """Return a database with the number of its entries, as far as one of its suffixes has a count."""
    counts = [entries[suffix] for suffix in map(comparable, backend.suffixes) if suffix in entries]
    return replace(backend, entries=sum(counts)) if counts else backend


def merged_indexes(excerpts: Sequence[IndexConfiguration]) -> IndexConfiguration:
    """Merge several excerpts of one configuration; a whole configuration takes precedence."""
    ordered = sorted(excerpts, key=lambda excerpt: (not excerpt.whole, -_size(excerpt), excerpt.origin.path))
    first, *others = ordered
    for other in others:
        first = replace(
            first,
            backends=_merged_backends(first.backends, other.backends),
            templates=first.templates or other.templates,
            virtual_attributes={**other.virtual_attributes, **first.virtual_attributes},
            internal_searches=tuple(dict.fromkeys((*first.internal_searches, *other.internal_searches))),
            hidden_searches=tuple(dict.fromkeys((*first.hidden_searches, *other.hidden_searches))),
            **{
                field.name: getattr(other, field.name)
                for field in fields(IndexConfiguration)
                if getattr(first, field.name) is None
            },
        )
    return first


def _size(configuration: IndexConfiguration) -> int:
    return sum(len(backend.definitions) for backend in configuration.backends)


def _merged_backends(first: tuple[Backend, ...], others: tuple[Backend, ...]) -> tuple[Backend, ...]:
    """Return the backends of both; the second completes a backend that is in both."""
    by_name = {backend.name.lower(): backend for backend in first}
    for other in others:
        name = other.name.lower()
        if name not in by_name and len(by_name) == len(others) == 1 and "" in {name, *by_name}:
            # Of one database in each text, one text does not name it.
            ((name, only),) = by_name.items()
            by_name[name] = replace(_merged_backend(only, other), name=only.name or other.name)
        else:
            by_name[name] = _merged_backend(by_name[name], other) if name in by_name else other
    return tuple(by_name.values())


def _merged_backend(first: Backend, other: Backend) -> Backend:
    return replace(
        first,
        suffixes=first.suffixes or other.suffixes,
        definitions=first.definitions or other.definitions,
        vlv_searches=first.vlv_searches or other.vlv_searches,
        entry=first.entry or other.entry,
        modified=first.modified or other.modified,
        kind=first.kind or other.kind,
        refuses_unindexed=first.refuses_unindexed or other.refuses_unindexed,
        entry_limit=other.entry_limit if first.entry_limit is None else first.entry_limit,
    )
