"""Settings and versions that differ between servers with the same data: those that decide speed and limits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.servers.defaults import ByVersion

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.analysis.hosts.instances import Instance
    from ldapdiag.evidence.indexes import IndexConfiguration

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
    known = [one for one in rows if len(one.values) > 1]
    version = Difference(name="version", values=versions)
    return ComparedSettings(
        settings=tuple(one for one in known if one.servers),
        versions=version if version.values and version.servers else None,
        compared=len(known),
    )


def _of_servers(servers: Sequence[Instance]) -> Iterator[Difference]:
    for name, words in OF_SERVER.items():
        values = {one.name: _setting(one, name) for one in servers}
        yield Difference(
            name=words, values={server: str(value) for server, value in values.items() if value is not None}
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
        values = {one.name: getattr(indexes[one.name], name) for one in servers if one.name in indexes}
        yield Difference(
            name=words, values={server: str(value) for server, value in values.items() if value is not None}
        )
