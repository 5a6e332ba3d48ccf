"""Missing flows: what it proves that a middlebox on the path has no entry for a connection that the server shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.analysis.hosts.ages import column_seconds, seconds_since_received
from ldapdiag.analysis.pairing.skew import minimum_age_seconds
from ldapdiag.evidence.flows import Relay

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection


class MissingFlows(NamedTuple):
    """The server's rows that are dead because a middlebox has no entry for them, and the middleboxes."""

    rows: frozenset[int]
    hosts: tuple[str, ...]


def rows_without_flow(
    middleboxes: Sequence[Middlebox], unjoined: UnjoinedDirection, rows: Collection[int], live: Collection[int]
) -> MissingFlows:
    """Return those of the server's rows that some middlebox would have an entry for if they were live.

    A flow table that lacks most of the live connections was truncated or belongs to another path. It was also taken at
    its own time: it proves nothing of a connection that was opened later, or that may have closed before.
    """
    found: dict[str, set[int]] = {}
    for middlebox in middleboxes:
        if 2 * sum(middlebox.carries(unjoined.key_of(row)) for row in live) >= len(live):
            absent = (row for row in rows if unjoined.key_of(row) not in middlebox.flows)
            found[middlebox.host] = {row for row in absent if _existed(middlebox, unjoined, row, live)}
    return MissingFlows(
        frozenset(row for lacking in found.values() for row in lacking),
        tuple(sorted(host for host in found if found[host])),
    )


def rows_without_flow_beyond(
    translator: Middlebox,
    others: Sequence[Middlebox],
    unjoined: UnjoinedDirection,
    rows: Collection[int],
) -> MissingFlows:
    """Return those of the rows that a translator carries, and a middlebox between it and the server does not.

    That one must have connections of this direction that are in use: its table then has their keys as the server does.
    What has been idle for nearly as long as those rows may be dead as well, and is not asked for.
    """
    keys = {row: unjoined.key_of(row) for row in unjoined.rows}
    between = [
        one
        for one in others
        if one.relay is Relay.NAT
        and one.whole
        and one.host not in {translator.host, unjoined.table.origin.host}
        and any(map(one.carries, keys.values()))
    ]
    lacking = [
        row for row in rows if translator.carries(keys[row]) and any(keys[row] not in one.flows for one in between)
    ]
    in_use = _in_use(unjoined, lacking)
    return rows_without_flow(between if in_use else (), unjoined, lacking, in_use)


def _in_use(unjoined: UnjoinedDirection, idle: Sequence[int]) -> Sequence[int]:
    """Return the rows that were idle for less than half as long as any of these; none where no ages are known."""
    shortest = min(seconds_since_received(unjoined.table, idle), default=0.0)
    ages = ((row, column_seconds(unjoined.table.last_received, row)) for row in unjoined.rows)
    return [row for row, age in ages if age is not None and 2 * age < shortest]


def _existed(middlebox: Middlebox, unjoined: UnjoinedDirection, row: int, live: Collection[int]) -> bool:
    """Return whether a connection existed, by its age, when the flow table was taken; true where times are unknown."""
    snapshot = unjoined.snapshot
    taken = middlebox.nearest_time(snapshot.taken)
    age = column_seconds(snapshot.sockets.last_received, row)
    if age is None or taken is None or snapshot.taken is None:
        return True
    minimum = minimum_age_seconds(snapshot.taken, taken, seconds_since_received(snapshot.sockets, live))
    return age > max(snapshot.taken.seconds_apart(taken), minimum)
