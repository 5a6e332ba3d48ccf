"""What differs between servers that should be alike: their searches, and their settings.

Searches that one server answers in another way than the others do: without an index, or much more slowly.

Settings and versions that differ between servers with the same data: those that decide speed and limits.
"""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.defaults import ByVersion

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.analysis.fleet.replicas import Fleet
    from ldapdiag.analysis.hosts.instances import Instance
    from ldapdiag.analysis.log.searches import SearchGroup
    from ldapdiag.evidence.indexes import IndexConfiguration


Key = tuple[Family | None, str, str, str]
"""Product, shape, base and scope, in lower case: only some products note what is unindexed."""

ENOUGH = 100
"""Results of a server, below which nothing is said of it."""
SLOWER = 4.0
"""Times the median of the other servers' medians."""
NOTICEABLE = 1_000_000
"""Nanoseconds that a search must take longer."""
NOT_HERE = (10, 32)
"""referral and noSuchObject (RFC 4511, appendix A): the server does not have the entries."""
MOSTLY, HARDLY = 0.5, 0.01
"""Shares of the results that are noted as unindexed: a server lacks the index, or has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferingSearch:
    """One kind of search, on a server where it differs from the others. Times in nanoseconds."""

    server: str
    group: SearchGroup
    others: tuple[str, ...]
    """The servers that it was compared with."""
    their_median: int
    wait: int | None
    """The median of the waits for a worker thread, which the time includes; None: the log does not have them."""
    their_wait: int | None
    lacks_index: bool
    """It is unindexed here and indexed there; False: it is only slower."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Return shape, base and scope."""
        return self.group.shape, self.group.base, self.group.scope

    @property
    def lost(self) -> int:
        """Return the time that it took longer than the others, in total."""
        return max(0, self.group.answered * self.longer)

    @property
    def longer(self) -> int:
        """Return by how much the median is longer."""
        return self.group.etimes.p50 - self.their_median

    @property
    def longer_wait(self) -> int | None:
        """Return how much of that is a longer wait, by its median; None: a log does not have the waits."""
        if self.wait is None or self.their_wait is None:
            return None
        return max(0, min(self.wait - self.their_wait, self.longer))


def differing_searches(fleet: Fleet) -> tuple[DifferingSearch, ...]:
    """Return the searches that differ, those that lack an index first, then by the time lost."""
    found = [one for groups in compared_searches(fleet).values() for one in _differing(groups)]
    return tuple(sorted(found, key=lambda one: (not one.lacks_index, -one.lost, one.server, one.key)))


def compared_searches(fleet: Fleet) -> dict[Key, dict[str, SearchGroup]]:
    """Return the searches that several servers of one product answered often enough, by server."""
    by_key: dict[Key, dict[str, SearchGroup]] = {}
    for replica in fleet.replicas:
        for group in replica.workload.plain_searches:
            if group.answered >= ENOUGH and not group.unidentified and not is_elsewhere(group):
                key = (replica.workload.family, group.shape.lower(), group.base.lower(), group.scope)
                by_key.setdefault(key, {})[replica.name] = group
    return {key: groups for key, groups in by_key.items() if len(groups) > 1}


def is_elsewhere(group: SearchGroup) -> bool:
    """Return whether the server mostly answered that it does not have the entries."""
    return sum(group.errors.get(code, 0) for code in NOT_HERE) > group.answered / 2


def _differing(groups: dict[str, SearchGroup]) -> Iterator[DifferingSearch]:
    shares = {name: group.unindexed / group.answered for name, group in groups.items()}
    with_index = tuple(name for name, share in shares.items() if share <= HARDLY)
    for name, group in groups.items():
        others = tuple(one for one in groups if one != name)
        lacks_index = shares[name] >= MOSTLY and bool(with_index)
        against = with_index if lacks_index else others
        their_median = int(median(groups[one].etimes.p50 for one in against))
        longer = group.etimes.p50 - their_median
        is_slower = len(others) > 1 and group.etimes.p50 >= SLOWER * their_median and longer >= NOTICEABLE
        if lacks_index or is_slower:
            waits = [wait for one in against if (wait := _median_wait(groups[one])) is not None]
            yield DifferingSearch(
                server=name,
                group=group,
                others=against,
                their_median=their_median,
                wait=_median_wait(group),
                their_wait=int(median(waits)) if waits else None,
                lacks_index=lacks_index,
            )


def _median_wait(group: SearchGroup) -> int | None:
    waits = group.waits
    return waits.p50 if waits and waits.count * 2 >= group.answered else None


OF_SERVER = {
    "idle_timeout_seconds": "idle timeout in seconds",
    "threads": "worker threads",
    "max_threads_per_connection": "worker threads for one connection",
    "max_descriptors": "descriptors",
    "connection_table_size": "size of the connection table",
    "max_connections": "connections",
    "listen_backlog": "backlog of connections to accept",
}
OF_INDEXES = {
    "scan_limit": "ID list scan limit",
    "paged_scan_limit": "ID list scan limit of paged searches",
    "lookthrough_limit": "look-through limit",
    "range_lookthrough_limit": "look-through limit of ranges",
    "paged_lookthrough_limit": "look-through limit of paged searches",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One setting, or the version, with several values."""

    name: str
    values: Mapping[str, str]
    """By server; those whose value is not known are left out."""

    @property
    def most(self) -> str:
        """Return the commonest value; of several, the least in the order of text."""
        counts = Counter(self.values.values())
        return min(counts, key=lambda value: (-counts[value], value))

    @property
    def servers(self) -> tuple[str, ...]:
        """Return the servers that do not have the commonest value."""
        return tuple(sorted(name for name, value in self.values.items() if value != self.most))

    @property
    def by_value(self) -> dict[str, list[str]]:
        """Return the servers by value, the commonest value first."""
        values = sorted(set(self.values.values()), key=lambda value: (value != self.most, value))
        return {each: sorted(name for name, value in self.values.items() if value == each) for each in values}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSettings:
    """What differs, and how much was compared."""

    settings: tuple[Difference, ...]
    versions: Difference | None
    """None: those that are known are equal."""
    compared: int
    """Settings of which two servers or more show the value."""


def compared_settings(
    servers: Sequence[Instance], indexes: Mapping[str, IndexConfiguration], versions: Mapping[str, str]
) -> ComparedSettings:
    """Compare servers by their configurations; `versions` by server."""
    rows = [*_of_servers(servers), *_of_indexes(servers, indexes)]
    known = [row for row in rows if len(row.values) > 1]
    version = Difference(name="version", values=versions)
    return ComparedSettings(
        settings=tuple(one for one in known if one.servers),
        versions=version if version.values and version.servers else None,
        compared=len(known),
    )


def _of_servers(servers: Sequence[Instance]) -> Iterator[Difference]:
    for name, words in OF_SERVER.items():
        values = {server.name: _setting(server, name) for server in servers}
        yield Difference(
            name=words, values={server: str(value) for server, value in values.items() if value is not None}
        )
    limits = {server.name: dict(server.configuration.query_limits) for server in servers if server.configuration}
    for name in sorted({name for of_one in limits.values() for name in of_one}):
        yield Difference(
            name=name, values={server: str(of_one[name]) for server, of_one in limits.items() if name in of_one}
        )


def _setting(server: Instance, name: str) -> int | None:
    """Return a setting as configured, or its default where the whole configuration does not have it."""
    if server.configuration is None:
        return None
    value: int | None = getattr(server.configuration, name)
    default = getattr(server.product.defaults, name, None) if server.product else None
    if value is None and server.configuration.complete and isinstance(default, ByVersion):
        return default.at(server.version)
    return value


def _of_indexes(servers: Sequence[Instance], indexes: Mapping[str, IndexConfiguration]) -> Iterator[Difference]:
    for name, words in OF_INDEXES.items():
        values = {server.name: getattr(indexes[server.name], name) for server in servers if server.name in indexes}
        yield Difference(
            name=words, values={server: str(value) for server, value in values.items() if value is not None}
        )
