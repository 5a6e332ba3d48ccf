"""Words of OpenDJ, its relatives and PingDirectory for indexes, as their configuration and their tools write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

TYPES = frozenset({"presence", "equality", "ordering", "substring", "approximate", "extensible"})
LOCAL_DB = "local-db"
"""The kind of backend of OpenDS, OpenDJ 2, Oracle Unified Directory and PingDirectory."""

OF_PING = frozenset({"ds-entry-unique-id", "ds-soft-delete-from-dn", "ds-soft-delete-timestamp"})
"""Indexed on PingDirectory alone."""
SYSTEM = OF_PING | {"aci", "ds-sync-conflict", "ds-sync-hist", "entryuuid", "objectclass"}
"""Indexes that the server itself cannot do without: access control, replication, groups (the template config.ldif of
OpenDJ; Ping's administration guide, general tips on indexes)."""


def types_of(words: Iterable[str]) -> frozenset[str]:
    """Return the types of index that are among these words; a newer one than we know is none we can judge."""
    return frozenset(word.strip().lower() for word in words) & TYPES


def is_system(attribute: str) -> bool:
    """Tell whether the index of an attribute is the server's own."""
    return attribute.lower() in SYSTEM


def type_of_key(index: str) -> str:
    """Return the type of an index by the name OpenDJ gives its keys: `caseIgnoreSubstringsMatch:6` is a substring.

    Rules that order by the keys of their equality rule have no index of their own (servers/opends_matching_rules.py).
    """
    name = index.partition(":")[0].lower()
    if name in TYPES:
        return name
    return next((word for part, word in PARTS.items() if part in name), "equality")


PARTS = {"substring": "substring", "orderingmatch": "ordering", "approx": "approximate"}
