"""Folders: which of them belong to one server, where no socket table identifies the host.

    /var/log/dirsrv/slapd-ds1/access    /etc/dirsrv/slapd-ds1/dse.ldif     one server: the folders have one name
    case/access                         case/config/dse.ldif               one server: no other folder is as near
    ldaps://ds1 (live)                  logs/access                        one server: there is no other
    ds1/access, ds1/dse.ldif            ds2/dse.ldif                       two: the log has its own configuration

Facts of another product belong to another server.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.hosts.layout import ancestors, base_name
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.flows import BoxTimeouts, FlowTable, TrackingCounters
from ldapdiag.evidence.host_facts import CaptureTimes, HostDescription, KernelSettings, RouteTable, TcpCounters
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.processes import BootTime, ProcessTable
from ldapdiag.evidence.ruleset import Ruleset
from ldapdiag.evidence.storage import STORAGE_OF_HOST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.analysis.hosts.layout import Layout

COMPATIBLE_FAMILY = {Family.DSEE: Family.DS389, Family.PING: Family.OPENDJ}
"""Families that count as one where the product is not named."""


HOST_FACTS = (
    HostDescription,
    RouteTable,
    Ruleset,
    TrackingCounters,
    FlowTable,
    BoxTimeouts,
    KernelSettings,
    TcpCounters,
    ProcessTable,
    BootTime,
    *STORAGE_OF_HOST,
)
"""Facts of a host that need not be a directory server: a folder without a socket table that has one is a host."""


def name_servers(facts: Iterable[Any]) -> dict[str, str]:
    """Return the server's name for each folder that shares its server with another folder."""
    facts_in: dict[str, list[Any]] = defaultdict(list)
    for fact in facts:
        if not isinstance(fact, CaptureTimes):
            facts_in[fact.origin.folder].append(fact)
    logs = [folder for folder, found in facts_in.items() if _has(found, AccessLog)]
    by_log: dict[str, list[str]] = defaultdict(list)
    for folder in facts_in.keys() - set(logs):
        if log := _nearest(folder, [log for log in logs if _may_be_one(facts_in[log], facts_in[folder])]):
            by_log[log].append(folder)
    names: dict[str, str] = {}
    for log, others in by_log.items():
        indexed = [folder for folder in others if _has(facts_in[folder], IndexConfiguration)]
        own = _nearest(log, indexed)
        joined = [folder for folder in others if folder not in indexed or folder == own]
        names |= dict.fromkeys((log, *joined), _name(log, joined))
    return names


def _name(log: str, joined: list[str]) -> str:
    """Return a server's name: its target, the parent of its folders, or the folder of its log."""
    live = [folder for folder in joined if "/" not in folder]
    if len(live) == 1:
        return base_name(live[0])
    parent = log.rpartition("/")[0]
    shared = parent and all(folder.rpartition("/")[0] == parent for folder in joined)
    return base_name(parent) if shared else base_name(log)


def _has(facts: Iterable[Any], kind: type[Any]) -> bool:
    return any(isinstance(fact, kind) for fact in facts)


def _may_be_one(log: list[Any], others: list[Any]) -> bool:
    """Return whether both may belong to one server: one product, and not each with an index configuration."""
    if _has(log, IndexConfiguration) and _has(others, IndexConfiguration):
        return False
    one, two = _families(log), _families(others)
    return not one or not two or not one.isdisjoint(two)


def _families(facts: Iterable[Any]) -> set[Family]:
    """Return the products these facts name."""
    named = (fact.family if isinstance(fact, AccessLog) else _identified(fact) for fact in facts)
    return {COMPATIBLE_FAMILY.get(family, family) for family in named if family}


def _identified(fact: Any) -> Family | None:  # noqa: ANN401  facts of all kinds
    identity = getattr(fact, "identity", None)
    return identity.family if identity else None


def _nearest(folder: str, others: list[str]) -> str | None:
    """Return the folder of the same name, else the one that shares most of the file path; None if two are equal."""
    ranked = sorted(others, key=lambda other: _nearness(folder, other), reverse=True)
    if len(ranked) > 1 and _nearness(folder, ranked[0]) == _nearness(folder, ranked[1]):
        return None
    return ranked[0] if ranked else None


def _nearness(folder: str, other: str) -> tuple[bool, int]:
    shared = 0
    for one, two in zip(folder.split("/"), other.split("/"), strict=False):
        if one != two:
            break
        shared += 1
    return base_name(folder) == base_name(other), shared


def other_folders(facts: Iterable[Any], by_folder: dict[str, set[str]], layout: Layout) -> dict[str, set[str]]:
    """Return the only host of each folder without a socket table: that of its tree, its snapshots, or around it.

    A folder lies within a host's if other hosts do not: `ldap/logs` beside `app1`, never `incident/fw` in `incident`.
    """
    by_host: dict[str, set[str]] = defaultdict(set)
    for folder, hosts in by_folder.items():
        by_host[layout.host(folder)] |= hosts
    found: dict[str, set[str]] = {}
    for folder in {fact.origin.folder for fact in facts} - by_folder.keys():
        place = layout.host(folder)
        around = next((one for one in ancestors(place) if one in by_host), None)
        outside = around and any(not f"{other}/".startswith(f"{around}/") for other in by_host)
        hosts = by_host.get(place) or (by_host[around] if around and outside else set())
        if len(hosts) == 1:
            found[folder] = hosts
    return found


def hosts_without_table(facts: Iterable[Any], by_folder: dict[str, set[str]], layout: Layout) -> dict[str, str]:
    """Return the hosts of folders that have no socket table but other facts of a host: middleboxes, most often.

    Folders of one name that have the same kind of fact are different hosts, unless they are snapshots of one.
    """
    kinds: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    folders = {fact.origin.folder: fact for fact in facts if isinstance(fact, HOST_FACTS)}
    for fact in facts:
        if isinstance(fact, HOST_FACTS) and fact.origin.folder not in by_folder:
            folder = fact.origin.folder
            kinds[layout.name(folder)][layout.host(folder)].add(fact.kind)
    rivals = {
        name
        for name, by_host in kinds.items()
        if any(not one.isdisjoint(other) for one, other in combinations(by_host.values(), 2))
    }
    return {
        folder: "/".join(layout.host(folder).split("/")[-2:]) if layout.name(folder) in rivals else layout.name(folder)
        for folder in folders
        if folder not in by_folder
    }


def replicas_without_table(facts: Iterable[Any], by_folder: dict[str, set[str]]) -> dict[str, str]:
    """Return the servers of folders that have an index configuration only, if another server has its own, too."""
    indexed = {fact.origin.folder for fact in facts if isinstance(fact, IndexConfiguration)}
    return {folder: base_name(folder) for folder in indexed - by_folder.keys()} if indexed & by_folder.keys() else {}
