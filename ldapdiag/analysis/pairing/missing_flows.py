"""Missing flows: what it proves that a middlebox on the path has no entry for a connection that the server shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds, seconds_since_received
from ldapdiag.analysis.pairing.skew import minimum_age_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection


def rows_without_flow(
    middleboxes: Sequence[Middlebox], unjoined: UnjoinedDirection, rows: Collection[int], live: Collection[int]
) -> frozenset[int]:
    """Return those of the server's rows that some middlebox would have an entry for if they were live.

    A flow table that lacks most of the live connections was truncated or belongs to another path. It was also taken at
    its own time: it proves nothing of a connection that was opened later, or that may have closed before.
    """
    found: set[int] = set()
    for middlebox in middleboxes:
        if 2 * sum(middlebox.carries(unjoined.key_of(row)) for row in live) >= len(live):
            absent = (row for row in rows if unjoined.key_of(row) not in middlebox.flows)
            found.update(row for row in absent if _existed(middlebox, unjoined, row, live))
    return frozenset(found)


def _existed(middlebox: Middlebox, unjoined: UnjoinedDirection, row: int, live: Collection[int]) -> bool:
    """Return whether a connection existed, by its age, when the flow table was taken; true where times are unknown."""
    snapshot = unjoined.snapshot
    taken = middlebox.nearest_time(snapshot.taken)
    age = column_seconds(snapshot.sockets.last_received, row)
    if age is None or taken is None or snapshot.taken is None:
        return True
    minimum = minimum_age_seconds(snapshot.taken, taken, seconds_since_received(snapshot.sockets, live))
    return age > max(snapshot.taken.seconds_apart(taken), minimum)
