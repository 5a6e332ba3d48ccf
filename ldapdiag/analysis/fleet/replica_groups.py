"""ReplicaGroup: servers of one product with the same data, so that what one does can be held against the others.

They have the same suffix by their index configurations, or the logs of two contain searches below one base.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import ClassVar

from ldapdiag.analysis.fleet.comparison import Comparison
from ldapdiag.analysis.fleet.differences import is_elsewhere
from ldapdiag.analysis.fleet.replicas import Fleet, fleet_of
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes, is_server_suffix
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.ldif import comparable
from ldapdiag.lazy_dataclass import dataclass

DEEPEST = 30
"""Levels of a DN that are looked at."""

Data = tuple[Family, str]
"""A product, and a suffix or base in comparable form."""


@dataclass(frozen=True, kw_only=True)
class ReplicaGroup:
    """Servers of one product with the same data."""

    kind: ClassVar[str] = "replicas"
    how: ClassVar[str] = "name the access log and the configuration of every replica, each in a folder of its own"

    family: Family
    suffix: str
    """The shortest that they share, as comparable; it names the group."""
    servers: tuple[Instance, ...]
    """By name; at least two."""
    fleet: Fleet
    """Those that have access logs."""
    origins: tuple[str, ...]
    """Of the logs."""

    @cached_property
    def comparison(self) -> Comparison:
        """Return their access logs side by side."""
        return Comparison(self.fleet)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the servers."""
        return tuple(server.name for server in self.servers)


@provides(ReplicaGroup)
def find_replicas(
    servers: tuple[Instance, ...], traffics: tuple[Traffic, ...], indexings: tuple[ServerIndexes, ...]
) -> Iterator[ReplicaGroup]:
    """Yield the groups of servers that have data in common."""
    traffic = {one.server: one for one in traffics}
    indexing = {one.server: one for one in indexings}
    data = {
        server.name: frozenset(_data(server, traffic.get(server.name), indexing.get(server.name)))
        for server in servers
        if not server.proxy
    }
    by_name = {server.name: server for server in servers}
    for names in _joined(data):
        logged = [traffic[name] for name in names if name in traffic]
        family, suffix = min((each for name in names for each in data[name]), key=lambda each: (len(each[1]), each))
        yield ReplicaGroup(
            family=family,
            suffix=suffix,
            servers=tuple(by_name[name] for name in names),
            fleet=fleet_of((one.server, one.workload) for one in logged),
            origins=tuple(sorted({origin for one in logged for origin in one.origins})),
        )


def _data(server: Instance, traffic: Traffic | None, indexing: ServerIndexes | None) -> Iterator[Data]:
    """Yield what a server has: the suffixes of its databases, else the bases of the searches that it answered."""
    family = server.family or (traffic.workload.family if traffic else None)
    if family is None:
        return
    suffixes = (
        [suffix for backend in indexing.configuration.backends for suffix in backend.suffixes] if indexing else []
    )
    if not suffixes and traffic is not None:
        suffixes = [
            group.base
            for group in traffic.workload.searches
            if group.answered and not group.unidentified and not is_elsewhere(group)
        ]
    for suffix in suffixes:
        if suffix and not is_server_suffix(suffix):
            yield family, comparable(suffix)


def _joined(data: Mapping[str, Iterable[Data]]) -> Iterator[tuple[str, ...]]:
    """Yield the names of servers that share data, directly or through others; a base belongs to those above it."""
    owners: defaultdict[Data, list[str]] = defaultdict(list)
    for name in sorted(data):
        for each in data[name]:
            owners[each].append(name)
    first = {name: name for name in data}

    def root(name: str) -> str:
        while first[name] != name:
            first[name] = first[first[name]]
            name = first[name]
        return name

    for (family, base), names in owners.items():
        above = next((owners[family, ancestor] for ancestor in _ancestors(base) if (family, ancestor) in owners), ())
        for name in (*names[1:], *above[:1]):
            first[root(name)] = root(names[0])
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(data):
        groups[root(name)].append(name)
    yield from (tuple(names) for names in groups.values() if len(names) > 1)


def _ancestors(dn: str) -> Iterator[str]:
    """Yield the DNs above a comparable one, the nearest first."""
    parts = dn.rsplit(",", DEEPEST)
    yield from (",".join(parts[place:]) for place in range(1, len(parts)))
