"""How long slapd builds indexes, as intervals: entries per second measured with 2.5.13 and back-mdb on an SSD.

slapindex -q, eq or pres                            200,000 to 450,000
slapindex -q, sub, values of 6 to 200 octets        2,100 to 150,000
the online indexer, one transaction for each entry  220 to 1,400; 60 to 80,000 in a file system in memory
stop and start of slapd, without a load             0.1 s
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers.indexes.build_time import build_seconds, interval
from ldapdiag.servers.openldap.index_lines import SUBSTRING_TYPES
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.servers.indexes.candidates import Change

STOP_AND_START = (1, 10)
"""Seconds: slapd waits for the operations that are running."""
SLAPINDEX, SLAPINDEX_SUB, ONLINE = (50_000, 500_000), (2_000, 100_000), (100, 2_000)
"""Entries per second; for slapindex of each attribute."""


def stopped_seconds(entries: int, changes: Iterable[Change]) -> tuple[int, int]:
    """Return for how many seconds slapd is stopped to build these indexes, at least and at most."""
    substring = {change.attribute.lower() for change in changes if change.type in SUBSTRING_TYPES}
    others = {change.attribute.lower() for change in changes} - substring
    shortest, longest = build_seconds(entries, [*[SLAPINDEX_SUB] * len(substring), *[SLAPINDEX] * len(others)])
    return shortest + STOP_AND_START[0], longest + STOP_AND_START[1]


def stopped(backend: Backend, changes: Iterable[Change]) -> str:
    """Return a sentence: for how long slapd is stopped, and by which assumptions."""
    rates = (
        f"slapindex reads {interval(SLAPINDEX)} entries per second for eq or pres of an attribute, "
        f"{interval(SLAPINDEX_SUB)} for sub"
    )
    built = tuple(changes)
    if not built:
        return f"slapd is stopped and started again: no search is answered for {interval(STOP_AND_START)} s. "
    if backend.entries is None:
        return (
            f"slapd is stopped while slapindex runs. The evidence does not contain the number of entries: {rates}, and "
            f"slapd needs {interval(STOP_AND_START)} s to stop and start. "
        )
    return (
        f"No search is answered for {interval(stopped_seconds(backend.entries, built))} s, while slapd is stopped: "
        f"{rates}, and there are {number(backend.entries)}. "
    )


def online(backend: Backend) -> str:
    """Return a sentence: how long the online indexer runs."""
    rate = f"{interval(ONLINE)} entries per second"
    if backend.entries is None:
        return f"The online indexer reads {rate}."
    seconds = build_seconds(backend.entries, [ONLINE])
    return f"The build takes {interval(seconds)} s ({number(backend.entries)} entries, {rate})."
