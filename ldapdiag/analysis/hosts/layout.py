"""Layout: what the folders of the evidence stand for: a host, the tree of a host, or a snapshot of several.

dc1/ldap              dc2/ldap                   two hosts
snap1/ldap            snap2/ldap                 two snapshots of one host, in this order
ldap/2026-11-22T10:00 app1/2026-11-22T10:01      one snapshot of two hosts
sosreport-app1/proc/net  sosreport-app1/sos_commands/networking   one host
1/ldap, 1/app1        2/ldap, 2/app1             snapshots, if the addresses are the same
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.snapshot_names import looks_like_number, looks_like_snapshot, rank, time_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from datetime import datetime

TREE = re.compile(
    r"(?P<host>.*?[^/])/(?:"
    r"proc(?:/(?:net|sys|self|\d+)(?:/.*)?)?|sos_commands(?:/.*)?"
    r"|etc(?:/(?:dirsrv|openldap|ldap|haproxy|sysctl\.d)(?:/.*)?)?"
    r"|var/(?:log|lib)(?:/(?:dirsrv|openldap|ldap|slapd)(?:/.*)?)?)"
)
"""A folder within a copy of a host's file system; `/proc/net` itself is no copy."""

REPORT = re.compile(r"sosreport-(?P<host>.+?)(?:[-.]\d{5,})?(?:-\d{4}-\d\d-\d\d-\w+|-\d{8,14}(?:-\w+)?)?")
"""The folder of a host's report: sosreport-HOST-CASE-2026-11-22-abcdefg."""

LONGEST_ROUND_SECONDS = 900.0
"""Folders named by times further apart belong to different snapshots."""

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """What each folder stands for."""

    roots: Mapping[str, str] = field(default_factory=dict)
    """The root of the tree that a folder belongs to, most often the folder itself."""
    hosts: Mapping[str, str] = field(default_factory=dict)
    """That root without the names of snapshots: equal for all snapshots of a host."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """The number of the snapshot, from 1, in order of time; 0 or missing: the folders name none."""
    unordered: AbstractSet[str] = frozenset()
    """The folders of snapshots whose names show no order."""

    def root(self, folder: str) -> str:
        """Return the folder of a host's evidence at one time."""
        return self.roots.get(folder, folder)

    def host(self, folder: str) -> str:
        """Return the folder of a host's evidence, without the names of snapshots."""
        return self.hosts.get(folder, folder)

    def name(self, folder: str) -> str:
        """Return the name of a folder's host."""
        name = base_name(self.host(folder))
        found = REPORT.fullmatch(name)
        return found["host"] if found else name


def lay_out(folders: Iterable[str], addresses: Mapping[str, AbstractSet[str]]) -> Layout:
    """Return what the folders stand for; `addresses` are those in the tables of each folder that identify a host."""
    roots = {folder: _root(folder) for folder in sorted(set(folders))}
    owned: dict[str, set[str]] = defaultdict(set)
    for folder, found in addresses.items():
        owned[roots.get(folder, folder)] |= found
    paths = {root: tuple(root.split("/")) for root in sorted(set(roots.values()))}
    series = _series(paths.values(), {paths[root]: found for root, found in owned.items() if root in paths})
    hosts = {root: "/".join(_without(path, series)) or root for root, path in paths.items()}
    labels = {root: _label(path, series) for root, path in paths.items()}
    numbers = _numbers(hosts, labels)
    free = {root for root, label in labels.items() if not all(map(_shows_order, label))}
    return Layout(
        roots=roots,
        hosts={folder: hosts[root] for folder, root in roots.items()},
        numbers={folder: numbers[root] for folder, root in roots.items() if root in numbers},
        unordered={folder for folder, root in roots.items() if root in free},
    )


def ancestors(folder: str) -> Iterator[str]:
    """Yield the folders around a folder, the nearest first."""
    while folder := folder.rpartition("/")[0]:
        yield folder


def base_name(folder: str) -> str:
    """Return the last part of a folder's path, its name."""
    return folder.rstrip("/").rpartition("/")[2] or folder


def _root(folder: str) -> str:
    found = TREE.fullmatch(folder)
    return found["host"] if found else folder


def _series(paths: Iterable[Parts], owned: Mapping[Parts, AbstractSet[str]]) -> set[Parts]:
    """Return the folders that stand for snapshots, each by its path."""
    children: dict[Parts, set[str]] = defaultdict(set)
    every = list(paths)
    for path in every:
        for at in range(len(path)):
            children[path[:at]].add(path[at])
    found: set[Parts] = set()
    for parent, names in children.items():
        by_name = {name for name in names if looks_like_snapshot(name)}
        numbered = {name for name in names if looks_like_number(name)} - by_name
        for candidates, agreeing in ((by_name, 0), (numbered, 1), (names - by_name - numbered, 2)):
            if _may_be_snapshots(parent, candidates, owned, agreeing):
                found |= {(*parent, name) for name in candidates}
    return found


def _may_be_snapshots(
    parent: Parts, names: AbstractSet[str], owned: Mapping[Parts, AbstractSet[str]], agreeing: int
) -> bool:
    """Return whether at least `agreeing` hosts have the same addresses in the folders of these names, and none others.

    What the folders have in common is compared: `snap1/ldap` with `snap2/ldap`.
    """
    if not names or (agreeing and len(names) < 2):
        return False
    below: dict[Parts, list[AbstractSet[str]]] = defaultdict(list)
    for path, addresses in owned.items():
        if path[: len(parent)] == parent and len(path) > len(parent) and path[len(parent)] in names and addresses:
            below[path[len(parent) + 1 :]].append(addresses)
    pairs = [(one, other) for several in below.values() for one, other in combinations(several, 2)]
    if any(one.isdisjoint(other) for one, other in pairs):
        return False
    same = sum(all(one == several[0] for one in several[1:]) for several in below.values() if len(several) > 1)
    return same >= agreeing


def _shows_order(name: str) -> bool:
    return looks_like_snapshot(name) or looks_like_number(name)


def _without(path: Parts, series: AbstractSet[Parts]) -> Parts:
    return tuple(name for at, name in enumerate(path) if path[: at + 1] not in series)


def _label(path: Parts, series: AbstractSet[Parts]) -> Parts:
    return tuple(name for at, name in enumerate(path) if path[: at + 1] in series)


def _numbers(hosts: Mapping[str, str], labels: Mapping[str, Parts]) -> dict[str, int]:
    """Return the number of each folder's snapshot; folders named by near times are one snapshot of several hosts."""
    numbers: dict[str, int] = {}
    number, known = 0, set[str]()
    began: datetime | None = None
    last: Parts | None = None
    several = {host for root, host in hosts.items() if labels[root]}
    for root in sorted((one for one, host in hosts.items() if host in several), key=lambda one: _order(labels[one])):
        label, at = labels[root], time_of(labels[root])
        near = at is not None and began is not None and (at - began).total_seconds() <= LONGEST_ROUND_SECONDS
        if label != last and not (near and hosts[root] not in known):
            number, known, began = number + 1, set(), at
        numbers[root], last = number, label
        known.add(hosts[root])
    return numbers


def _order(label: Sequence[str]) -> tuple[object, ...]:
    """Return the sort key of a snapshot; evidence beside those of old or new ones lies between them."""
    return tuple(rank(name) for name in label or ("",))
