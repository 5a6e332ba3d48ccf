"""The hosts of an earlier report, by the names that they have now: a folder may have been renamed since."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ldapdiag.baseline.reported import ReportedHost

NAMED = 5
"""Hosts that a note names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostNames:
    """The hosts of two reports that are the same."""

    present: Mapping[str, str] = field(default_factory=dict)
    """The present name of each earlier host that is in both."""
    doubts: Mapping[str, str] = field(default_factory=dict)
    """By the earlier name: why it is not certain that the host is the same."""
    notes: Sequence[str] = ()

    def of(self, name: str) -> str:
        """Return a text with the present names of hosts: a name stands alone or between blanks and one of `|@:`."""
        changed = {old: new for old, new in self.present.items() if old != new}
        if not changed:
            return name
        names = "|".join(re.escape(one) for one in sorted(changed, key=len, reverse=True))
        return re.sub(rf"(?<![^\s|@])(?:{names})(?![^\s|:])", lambda found: changed[found.group()], name)


def same_hosts(before: Sequence[ReportedHost], now: Sequence[ReportedHost]) -> HostNames:
    """Match hosts by name, addresses and files; a name alone is enough unless the addresses contradict it."""
    pairs: dict[str, str] = {}
    doubts: dict[str, str] = {}
    notes: list[str] = []
    old = {one.name: one for one in before}
    new = {one.name: one for one in now}

    def take(name: str, other: str) -> None:
        pairs[name] = other
        del old[name], new[other]

    for name in old.keys() & new.keys():
        if not _contradict(old[name], new[name]):
            take(name, name)
    for shared, what in ((_addresses, "addresses"), (_contents, "files")):
        for name, other in list(_only_pairs(old, new, shared)):
            take(name, other)
            notes.append(f"{other} is {name} of the baseline: it has the same {what}")
    for name in sorted(old.keys() & new.keys()):
        take(name, name)
        doubts[name] = f"{name} has none of the addresses that it had in the baseline"
    if len(old) == len(new) == 1:
        (name,), (other,) = old, new
        if not _contradict(old[name], new[other]) and old[name].is_server is new[other].is_server:
            take(name, other)
            doubts[name] = f"{other} is taken for {name} of the baseline, which no address shows"
    notes += doubts.values()
    return HostNames(present=pairs, doubts=doubts, notes=(*notes, *_of_one_report_alone(pairs, list(old), list(new))))


def _of_one_report_alone(pairs: Mapping[str, str], old: list[str], new: list[str]) -> Iterator[str]:
    if old and new and not pairs:
        yield f"the baseline is about other hosts: {_listed(old)}; this report is about {_listed(new)}"
        return
    if old:
        yield f"of the baseline, {_listed(old)} {'is' if len(old) == 1 else 'are'} not in this evidence"
    if new:
        yield f"the baseline does not contain {_listed(new)}"


def _listed(names: list[str]) -> str:
    names = sorted(names)
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def _contradict(one: ReportedHost, other: ReportedHost) -> bool:
    return bool(one.addresses and other.addresses and not one.addresses & other.addresses)


def _addresses(host: ReportedHost) -> frozenset[str]:
    return host.addresses


def _contents(host: ReportedHost) -> frozenset[str]:
    return host.contents


def _only_pairs(
    old: Mapping[str, ReportedHost],
    new: Mapping[str, ReportedHost],
    shared: Callable[[ReportedHost], frozenset[str]],
) -> Iterator[tuple[str, str]]:
    """Yield the hosts that have something in common with each other, and with no further host.

    What several hosts of one report have (a virtual address, a configuration that replicas share) identifies none.
    """
    owners = [Counter(item for host in hosts.values() for item in shared(host)) for hosts in (old, new)]
    own_old = {item: name for name, one in old.items() for item in shared(one) if owners[0][item] == 1}
    own_new = {item: name for name, one in new.items() for item in shared(one) if owners[1][item] == 1}
    pairs = {(own_old[item], own_new[item]) for item in own_old.keys() & own_new.keys()}
    left, right = Counter(name for name, _ in pairs), Counter(name for _, name in pairs)
    for name, other in sorted(pairs):
        if left[name] == right[other] == 1 and not _contradict(old[name], new[other]):
            yield name, other
