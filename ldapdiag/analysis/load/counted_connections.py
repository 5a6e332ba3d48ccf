"""How many connections a server had open when: from the snapshots of its sockets, its access log and recorded runs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ldapdiag.analysis.load.readings import Reading
from ldapdiag.analysis.log.time_axis import time_axis
from ldapdiag.evidence.history import readings as recorded
from ldapdiag.evidence.log.stamps import when
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.log.traffic import Traffic
    from ldapdiag.evidence.history import History

SOCKET_TABLE = "socket table"
"""What a recorded run names as the source of connections that its snapshots show."""
MOST_NAMES = 3
SNAPSHOTS = "the snapshots of its sockets"
LOG = "its access log"


def snapshot_readings(host: Host, ports: frozenset[int]) -> Iterator[Reading]:
    """Yield the established connections in each snapshot with a time."""
    for snapshot in host.snapshots:
        if snapshot.taken:
            yield Reading(snapshot.taken.start, len(snapshot.sockets.established_at(ports)), SNAPSHOTS)


def logged_readings(traffic: Traffic) -> Iterator[Reading]:
    """Yield the connections open at the end of each interval of an access log.

    Connections that stay open and silent all the time are not in a log: their number is missing in each reading, and
    not in the growth. A log with lost lines may lack closes: it yields none.
    """
    axis = time_axis(traffic.segment)
    if axis is None or traffic.segment.lost:
        return
    for place, count in enumerate(axis.open):
        yield Reading(when(min(axis.at(place + 1), axis.end)), count, LOG)


def recorded_readings(history: History, server: str, now: Reading | None) -> Iterator[Reading]:
    """Yield the connections in the recorded runs, counted in the way in which most runs counted them, and those now."""
    runs = [one for one in recorded(history, server) if one.connections is not None]
    ways = Counter(one.connections_source for one in runs)
    if not ways:
        return
    way = max(ways, key=lambda one: (ways[one], one))
    source = f"the runs recorded in {history.origin.path}"
    for one in runs:
        if one.connections_source == way:
            yield Reading(one.taken, one.connections or 0, source)
    if now is not None and way == SOCKET_TABLE:
        yield Reading(now.time, now.open, source)


def other_servers(histories: Iterable[History], server: str) -> Iterator[str]:
    """Yield which histories have no run of a server, with the names that they have: it may have another name there."""
    for history in histories:
        if history.servers and server not in history.servers:
            more = len(history.servers) - MOST_NAMES
            names = ", ".join(history.servers[:MOST_NAMES]) + (
                f" and {counted(more, 'more server')}" if more > 0 else ""
            )
            yield f"without {history.origin.path} (it has runs of {names}, and none of {server})"
