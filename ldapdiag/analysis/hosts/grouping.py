"""Grouping: which socket tables are one host's (docs/how-it-decides.md, "Whose table it is")."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import field
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.layout import Layout, base_name
from ldapdiag.evidence.addresses import identifies_a_host, is_exact
from ldapdiag.evidence.sockets import SocketTable, TcpState
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.evidence.sockets import Key

SAMPLED_ROWS = 1000


@dataclass(slots=True)
class HostGroup:
    """Tables that belong to one host, as far as grouping has come."""

    folder: str
    tables: list[SocketTable]
    addresses: set[str]
    """Identifying local addresses."""
    with_peers: set[str]
    """Those of them that have connections."""
    name: str = ""
    merged: list[str] = field(default_factory=list)
    differs: bool = False
    """The tables of these folders have different addresses: the names of the folders make them one host's."""

    @property
    def merge_reason(self) -> str | None:
        """Return why tables of several folders are one host's; None when there is one folder."""
        if not self.merged:
            return None
        others = ", ".join(base_name(folder) for folder in self.merged)
        if self.differs:
            return f"{others} has a snapshot of the same host, by the names of the folders"
        return f"{others} shows the same addresses: {', '.join(sorted(self.with_peers))}"

    def may_merge(self, other: HostGroup) -> bool:
        """Return whether two groups of one folder are one host: shared rows, or addresses that do not contradict."""
        if not self.addresses and not other.addresses:
            return shares_rows(self.tables, other.tables)
        if not self.addresses or not other.addresses:
            truncated, known = (other, self) if self.addresses else (self, other)
            return shares_ports(truncated.tables, known.tables)
        if not self.addresses & other.addresses:
            return False
        contradict = self.addresses - other.addresses and other.addresses - self.addresses
        return not contradict or shares_rows(self.tables, other.tables)


def group_tables(
    tables: list[SocketTable], namespaces: Mapping[str, str] = MappingProxyType({}), layout: Layout | None = None
) -> list[HostGroup]:
    """Return the groups of tables that are one host's, each with its name.

    `namespaces` are by folder, where a host description names one: two namespaces are two hosts, whatever their
    addresses.
    """
    layout = layout or Layout()
    folders: dict[str, list[SocketTable]] = defaultdict(list)
    for table in sorted(tables, key=lambda table: table.origin.path):
        folders[layout.root(table.origin.folder)].append(table)
    groups = [
        group
        for folder in sorted(folders)
        for group in _groups_in(folder, folders[folder], one_host=folder in namespaces)
    ]
    groups = _merged_across_folders(groups, namespaces, layout)
    _name(groups, folders, layout)
    return groups


def _groups_in(folder: str, tables: list[SocketTable], *, one_host: bool) -> list[HostGroup]:
    groups: list[HostGroup] = []
    unplaced: list[SocketTable] = []
    for table in tables:
        addresses = {address for address in set(table.local_address) if identifies_a_host(address)}
        with_peers = _addresses_with_peers(table)
        if not addresses and not with_peers:
            unplaced.append(table)
            continue
        new = HostGroup(folder, [table], addresses, with_peers & addresses)
        for old in [group for group in groups if one_host or group.may_merge(new)]:
            groups.remove(old)
            new = _union(old, new)
        groups.append(new)
    if len(groups) == 1:
        groups[0].tables.extend(unplaced)
    elif unplaced:
        groups.append(HostGroup(folder, unplaced, set(), set()))
    return groups


def connected_addresses(table: SocketTable) -> set[str]:
    """Return the local addresses of a table that have connections and identify a host."""
    return {address for address in _addresses_with_peers(table) if identifies_a_host(address)}


def _addresses_with_peers(table: SocketTable) -> set[str]:
    pairs = set(zip(table.local_address, (port > 0 for port in table.remote_port), strict=True))
    return {address for address, has_peer in pairs if has_peer}


def _union(one: HostGroup, other: HostGroup) -> HostGroup:
    return HostGroup(
        one.folder,
        one.tables + other.tables,
        one.addresses | other.addresses,
        one.with_peers | other.with_peers,
        merged=one.merged,
    )


def _merged_across_folders(groups: list[HostGroup], namespaces: Mapping[str, str], layout: Layout) -> list[HostGroup]:
    """Merge groups of different folders that are one host's."""
    alone = Counter(group.folder for group in groups)
    merged: list[HostGroup] = []
    alike: dict[object, list[int]] = defaultdict(list)
    for group in groups:
        keys: tuple[object, ...] = (layout.host(group.folder), frozenset(group.with_peers))
        candidates = sorted({number for key in keys for number in alike[key]})
        near = (merged[number] for number in candidates)
        twin = next((one for one in near if _are_one(one, group, namespaces, layout, alone)), None)
        if twin is None:
            for key in keys:
                alike[key].append(len(merged))
            merged.append(group)
        else:
            twin.differs |= twin.with_peers != group.with_peers
            twin.tables.extend(group.tables)
            twin.addresses |= group.addresses
            twin.merged.append(group.folder)
    return merged


def _are_one(
    one: HostGroup, other: HostGroup, namespaces: Mapping[str, str], layout: Layout, alone: Mapping[str, int]
) -> bool:
    """Return whether groups of two folders are one host's.

    They are if the folders are snapshots of one host and the addresses do not contradict, or if they share rows and all
    identifying addresses that have connections. Equal addresses alone are not enough: two replicas may share a virtual
    address, and the connections of one would be missing at the other.
    """
    folders = one.folder, other.folder
    if one.folder == other.folder:
        return False
    equal = bool(one.with_peers) and one.with_peers == other.with_peers
    if layout.host(one.folder) == layout.host(other.folder):
        if equal or any(alone[folder] > 1 for folder in folders):
            return equal
        return not (one.addresses and other.addresses) or not one.addresses.isdisjoint(other.addresses)
    named = {namespaces.get(folder) for folder in folders} - {None}
    return equal and len(named) <= 1 and (len(named) == 1 or shares_rows(one.tables, other.tables))


def _name(groups: list[HostGroup], folders: dict[str, list[SocketTable]], layout: Layout) -> None:
    """Name a group after its folder when it is the only one there, else after its first file's stem."""
    groups_in = Counter(group.folder for group in groups)
    single = {folder: groups_in[folder] == 1 for folder in folders}
    for group in groups:
        file = group.tables[0].origin.path.rpartition("/")[2]
        group.name = layout.name(group.folder) if single[group.folder] else file.rpartition(".")[0] or file
    same, taken = Counter(group.name for group in groups), set[str]()
    for number, group in enumerate(groups, 1):
        if same[group.name] > 1:
            parents = (
                layout.host(group.folder).rstrip("/").split("/")[-2:]
                if single[group.folder]
                else [layout.name(group.folder), group.name]
            )
            group.name = "/".join(parents)
        if group.name in taken:
            group.name = f"{group.name} ({number})"
        taken.add(group.name)


def shares_rows(some: Sequence[SocketTable], others: Sequence[SocketTable]) -> bool:
    """Return whether two sets of tables share an established socket (the first SAMPLED_ROWS are looked up)."""
    sample = set(islice((key for table in some for key in _established(table)), SAMPLED_ROWS))
    return any(key in sample for table in others for key in table.keys())  # noqa: SIM118  not a mapping


def shares_ports(truncated: Sequence[SocketTable], known: Sequence[SocketTable]) -> bool:
    """Return whether other tables have the ports of at least half of the sockets with a truncated or named address."""
    sample = list(
        islice((key[1::2] for table in truncated for key in _established(table) if not is_exact(key[0])), SAMPLED_ROWS)
    )
    pairs = {key[1::2] for table in known for key in _established(table)} if sample else set()
    return bool(sample) and 2 * sum(pair in pairs for pair in sample) >= len(sample)


def _established(table: SocketTable) -> Iterator[Key]:
    rows = zip(table.keys(), table.state, strict=True)
    return (key for key, state in rows if state is TcpState.ESTABLISHED)
