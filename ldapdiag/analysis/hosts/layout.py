"""Layout: what the folders of the evidence stand for: a host, the tree of a host, or a snapshot of several.

dc1/ldap              dc2/ldap                   two hosts
snap1/ldap            snap2/ldap                 two snapshots of one host, in this order
ldap/2026-11-22T10:00 app1/2026-11-22T10:01      one snapshot of two hosts
sosreport-app1/proc/net  sosreport-app1/sos_commands/networking   one host
1/ldap, 1/app1        2/ldap, 2/app1             snapshots, if the addresses are the same

Snapshot names: folders that people name after the time of a snapshot, and the order of these names.

snap1 snap2 snap10    before during after    2026-11-22T10:00    10:05:30    t0 t1    old
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

TREE = pattern(
    r"(?P<host>.*?[^/])/(?:"
    r"proc(?:/(?:net|sys|self|\d+)(?:/.*)?)?|sos_commands(?:/.*)?"
    r"|etc(?:/(?:dirsrv|openldap|ldap|haproxy|sysctl\.d)(?:/.*)?)?"
    r"|var/(?:log|lib)(?:/(?:dirsrv|openldap|ldap|slapd)(?:/.*)?)?)"
)
"""A folder within a copy of a host's file system; `/proc/net` itself is no copy."""

REPORT = pattern(r"sosreport-(?P<host>.+?)(?:[-.]\d{5,})?(?:-\d{4}-\d\d-\d\d-\w+|-\d{8,14}(?:-\w+)?)?")
"""The folder of a host's report: sosreport-HOST-CASE-2026-11-22-abcdefg."""

ARCHIVE = pattern(r"\.(?:tar|tar\.\w{1,4}|t[gbx]z|tbz2|tzst)$", re.IGNORECASE)

LONGEST_ROUND_SECONDS = 900.0
"""Folders named by times further apart belong to different snapshots."""

Parts = tuple[str, ...]
Within = dict[str, dict[Parts, "AbstractSet[str]"]]
"""Addresses by the name of a folder and the path within it."""


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
    paths = {root: _unpacked(root) for root in sorted(set(roots.values()))}
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


def _unpacked(root: str) -> Parts:
    """Return the path of a folder as if its archive had been unpacked: `snap1.tgz/snap1/ldap` is `snap1/ldap`."""
    path: list[str] = []
    for name in root.split("/"):
        if not (path and path[-1] != name and ARCHIVE.sub("", path[-1]) == name):
            path.append(name)
        else:
            path[-1] = name
    return tuple(path)


def _series(paths: Iterable[Parts], owned: Mapping[Parts, AbstractSet[str]]) -> set[Parts]:
    """Return the folders that stand for snapshots, each by its path."""
    names: dict[Parts, set[str]] = defaultdict(set)
    within: dict[Parts, Within] = defaultdict(lambda: defaultdict(dict))
    for path in paths:
        for at, name in enumerate(path):
            names[path[:at]].add(name)
            if owned.get(path):
                within[path[:at]][name][path[at + 1 :]] = owned[path]
    return {(*parent, name) for parent, several in names.items() for name in _snapshots(several, within[parent])}


def _snapshots(names: AbstractSet[str], within: Within) -> set[str]:
    """Return the names that stand for snapshots, among the folders of one folder.

    Their meaning suffices if no address contradicts. Numbers also need a host that has the same addresses in all of
    them, and names without a meaning two such hosts.
    """
    meant = {name for name in names if looks_like_snapshot(name)}
    numbered = {name for name in names if looks_like_number(name)} - meant
    found = set() if _contradict(within, meant) else meant
    if len(numbered) > 1 and _agreeing(within, numbered) and not _contradict(within, numbered):
        found |= numbered
    holders: dict[Parts, set[str]] = defaultdict(set)
    for name in names - meant - numbered:
        for rest in within.get(name, {}):
            holders[rest].add(name)
    alike = Counter(frozenset(several) for rest, several in holders.items() if rest and len(several) > 1)
    for others, _ in alike.most_common(1):
        if _agreeing(within, others) > 1 and not _contradict(within, others):
            found |= others
    return found


def _agreeing(within: Within, names: AbstractSet[str]) -> int:
    """Return how many hosts have the same addresses in the folders of all these names."""
    first, *others = (within.get(name, {}) for name in sorted(names))
    return sum(all(other.get(rest) == addresses for other in others) for rest, addresses in first.items())


def _contradict(within: Within, names: AbstractSet[str]) -> bool:
    """Return whether any host has different addresses in the folders of these names."""
    known: dict[Parts, AbstractSet[str]] = {}
    for name in sorted(names):
        for rest, addresses in within.get(name, {}).items():
            if known.setdefault(rest, addresses).isdisjoint(addresses):
                return True
    return False


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


DAY = r"(?P<year>(?:19|20)\d\d)[-_.]?(?P<month>\d\d)[-_.]?(?P<day>\d\d)"
CLOCK = r"(?P<hour>[01]\d|2[0-3])[:h_.-]?(?P<minute>[0-5]\d)(?:[:m_.-]?(?P<second>[0-5]\d))?(?:\.\d+)?s?"
DATED = pattern(rf"{DAY}(?:[T_ .-]?{CLOCK})?(?:Z|UTC|[+-]\d\d:?\d\d)?", re.IGNORECASE)
TIMED = pattern(CLOCK.replace("[:h_.-]?", "[:h_.-]", 1), re.IGNORECASE)
"""A clock time alone; four digits without a separator may be anything."""

NUMBERED = pattern(
    r"(?:snap|snapshot|sample|capture|round|run|pass|take|look|step|t|time|try|interval|iteration)[-_. #]?\d{1,6}",
    re.IGNORECASE,
)
WORDS = {
    **dict.fromkeys(("baseline", "old", "older", "previous", "prev", "yesterday"), -3),
    **dict.fromkeys(("before", "earlier", "start", "begin"), -2),
    **dict.fromkeys(("during", "incident", "now"), -1),
    **dict.fromkeys(("after", "later", "end", "last", "latest", "new", "newer", "today"), 1),
}
"""Words, and their order: before, during, unnamed or numbered, after."""

SNAPSHOT_WORDS = WORDS.keys() - {"incident"}
"""A folder `incident` contains hosts; it has an order beside `before`."""

NUMBER = pattern(r"\d{1,10}")
DIGITS = pattern(r"(\d+)")


def looks_like_snapshot(name: str) -> bool:
    """Return whether a folder is named after a time, or numbered as a snapshot."""
    return bool(
        name.lower() in SNAPSHOT_WORDS or NUMBERED.fullmatch(name) or DATED.fullmatch(name) or TIMED.fullmatch(name)
    )


def looks_like_number(name: str) -> bool:
    """Return whether a folder is only numbered: hosts may be, too."""
    return NUMBER.fullmatch(name) is not None


def rank(name: str) -> tuple[int, tuple[tuple[int, str], ...]]:
    """Return the sort key of a snapshot's name: words by their meaning, numbers by their value."""
    parts = tuple((int(part), "") if part.isdigit() else (-1, part.lower()) for part in DIGITS.split(name) if part)
    return WORDS.get(name.lower(), 0), parts


def time_of(names: Sequence[str]) -> datetime | None:
    """Return the time that the names of folders state together; None if they state none."""
    day, at = None, None
    for name in names:
        if found := DATED.fullmatch(name):
            day = _date(found)
        found = found if found and found["hour"] else TIMED.fullmatch(name)
        if found:
            at = timedelta(hours=int(found["hour"]), minutes=int(found["minute"]), seconds=int(found["second"] or 0))
    if at is None:
        return None
    return (day or datetime(1970, 1, 1)) + at  # noqa: DTZ001  only compared with others


def _date(found: re.Match[str]) -> datetime | None:
    try:
        return datetime(int(found["year"]), int(found["month"]), int(found["day"]))  # noqa: DTZ001  as above
    except ValueError:
        return None
