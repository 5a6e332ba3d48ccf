"""Folders: which of them hold one server's words, where no socket table says whose they are.

    /var/log/dirsrv/slapd-ds1/access    /etc/dirsrv/slapd-ds1/dse.ldif     one server: their names are one
    case/access                         case/config/dse.ldif               one server: nothing else is as near
    ldaps://ds1 (live)                  logs/access                        one server: there is no other
    ds1/access, ds1/dse.ldif            ds2/dse.ldif                       two: the log has its own configuration

The words of another product are another server's.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.hosts.grouping import short
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.host_facts import CaptureTimes
from ldapdiag.evidence.indexes import IndexConfiguration

if TYPE_CHECKING:
    from collections.abc import Iterable

ALIKE = {Family.DSEE: Family.DS389, Family.PING: Family.OPENDJ}
"""Families whose words may be taken for the other's where nothing names the product."""


def names_of_servers(facts: Iterable[Any]) -> dict[str, str]:
    """Return the name of the server that each folder of several tells of; folders that stand alone are left out."""
    told: dict[str, list[Any]] = defaultdict(list)
    for fact in facts:
        if not isinstance(fact, CaptureTimes):
            told[fact.origin.folder].append(fact)
    logs = [folder for folder, words in told.items() if _has(words, AccessLog)]
    homes: dict[str, list[str]] = defaultdict(list)
    for folder in told.keys() - set(logs):
        if home := _nearest(folder, [log for log in logs if _may_be_one(told[log], told[folder])]):
            homes[home].append(folder)
    names: dict[str, str] = {}
    for log, others in homes.items():
        rivals = [folder for folder in others if _has(told[folder], IndexConfiguration)]
        own = _nearest(log, rivals)
        joined = [folder for folder in others if folder not in rivals or folder == own]
        names |= dict.fromkeys((log, *joined), _name(log, joined))
    return names


def _name(log: str, joined: list[str]) -> str:
    """Return what to call a server: its target, what its folders lie in, or the folder of its log."""
    live = [folder for folder in joined if "/" not in folder]
    if len(live) == 1:
        return short(live[0])
    above = log.rpartition("/")[0]
    return short(above) if above and all(folder.rpartition("/")[0] == above for folder in joined) else short(log)


def _has(words: Iterable[Any], kind: type[Any]) -> bool:
    return any(isinstance(fact, kind) for fact in words)


def _may_be_one(log: list[Any], others: list[Any]) -> bool:
    """Tell whether both may be of one server: of one product, and not each with indexes of its own."""
    if _has(log, IndexConfiguration) and _has(others, IndexConfiguration):
        return False
    one, two = _families(log), _families(others)
    return not one or not two or not one.isdisjoint(two)


def _families(words: Iterable[Any]) -> set[Family]:
    """Return the products these facts name."""
    named = (fact.family if isinstance(fact, AccessLog) else _named(fact) for fact in words)
    return {ALIKE.get(family, family) for family in named if family}


def _named(fact: Any) -> Family | None:  # noqa: ANN401  facts of all kinds
    identity = getattr(fact, "identity", None)
    return identity.family if identity else None


def _nearest(folder: str, others: list[str]) -> str | None:
    """Return the folder of the same name, the one that shares most of its path, or the only one; None of equals."""
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
    return short(folder) == short(other), shared
