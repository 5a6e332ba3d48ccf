"""Index types and system indexes of OpenDJ, its relatives and PingDirectory, as configuration and tools name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

TYPES = frozenset({"presence", "equality", "ordering", "substring", "approximate", "extensible"})
LOCAL_DB = "local-db"
"""The kind of backend of OpenDS, OpenDJ 2, Oracle Unified Directory and PingDirectory."""

OF_PING = frozenset({"ds-entry-unique-id", "ds-soft-delete-from-dn", "ds-soft-delete-timestamp"})
"""Indexed by PingDirectory only."""
SYSTEM = OF_PING | {"aci", "ds-sync-conflict", "ds-sync-hist", "entryuuid", "objectclass"}
"""Indexes that the server itself needs for access control, replication and groups (the template config.ldif of OpenDJ;
Ping's administration guide, general tips on indexes)."""


def types_of(words: Iterable[str]) -> frozenset[str]:
    """Return the known index types among these words; unknown ones are ignored."""
    return frozenset(word.strip().lower() for word in words) & TYPES


def is_system(attribute: str) -> bool:
    """Return whether the server itself needs the index of this attribute."""
    return attribute.lower() in SYSTEM


def type_of_key(index: str) -> str:
    """Return the index type of OpenDJ's name for a tree of keys: substring for `caseIgnoreSubstringsMatch:6`.

    Rules that order by the keys of their equality rule have no index of their own (servers/opends_matching_rules.py).
    """
    name = index.partition(":")[0].lower()
    if name in TYPES:
        return name
    return next((word for part, word in PARTS.items() if part in name), "equality")


PARTS = {"substring": "substring", "orderingmatch": "ordering", "approx": "approximate"}
