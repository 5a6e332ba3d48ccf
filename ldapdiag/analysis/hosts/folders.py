"""Folders: which of them belong to one server, where no socket table identifies the host.

    /var/log/dirsrv/slapd-ds1/access    /etc/dirsrv/slapd-ds1/dse.ldif     one server: the folders have one name
    case/access                         case/config/dse.ldif               one server: no other folder is as near
    ldaps://ds1 (live)                  logs/access                        one server: there is no other
    ds1/access, ds1/dse.ldif            ds2/dse.ldif                       two: the log has its own configuration

Facts of another product belong to another server.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.hosts.layout import base_name
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.host_facts import CaptureTimes
from ldapdiag.evidence.indexes import IndexConfiguration

if TYPE_CHECKING:
    from collections.abc import Iterable

COMPATIBLE_FAMILY = {Family.DSEE: Family.DS389, Family.PING: Family.OPENDJ}
"""Families that count as one where the product is not named."""


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
