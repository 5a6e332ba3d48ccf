"""Bracketing: what looks before and after another host's look prove (DESIGN, pairing, 4: client, server, client)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.pairing.skew import seconds_apart
from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.snapshots import Snapshot
    from ldapdiag.analysis.pairing.direction import UnjoinedDirection
    from ldapdiag.analysis.pairing.socket_index import ClientIndex

ONE_VISIT = 120.0
"""Seconds; looks further apart were taken for other reasons than to bracket each other."""


def is_before(one: Snapshot, other: Snapshot) -> bool:
    """Tell whether a look is known to have been taken before another."""
    return one.taken is not None and other.taken is not None and one.taken.end <= other.taken.start


def bracketing(ends: UnjoinedDirection, views: Sequence[ClientIndex]) -> float | None:
    """Return the seconds from the client's look before the server's to that; None unless looks bracket it closely.

    With ages at the server, such looks tell of every connection but the youngest whether its client has it.
    """
    look = ends.look
    earlier = [seconds_apart(view.look, look) or 0.0 for view in views if is_before(view.look, look)]
    if look.sockets.last_received is None or not earlier or len(earlier) == len(views):
        return None
    return min(earlier) if min(earlier) <= ONE_VISIT else None


def judged_by_looks(ends: UnjoinedDirection, server: Host, views: Sequence[ClientIndex]) -> bool:
    """Tell whether looks alone are to prove what is missing, and no count of those that come and go.

    Such counts do not see connections that are aborted: these leave no TIME-WAIT.
    """
    if bracketing(ends, views) is not None:
        return True
    before = [is_before(view.look, ends.look) for view in views]
    twice = any(
        is_before(look, view.look) for look in server.snapshots for view in views if is_before(view.look, ends.look)
    )
    return twice and not all(before)


def preceding(ends: UnjoinedDirection, views: Sequence[ClientIndex]) -> set[int]:
    """Return rows that were there, by their age, when the client was looked at before, and that it did not have.

    What it had closed by then, and still retransmitted the end of, it did not have.
    """
    look, ports, ages = ends.look, ends.look.sockets.remote_port, ends.look.sockets.last_received
    found: set[int] = set()
    for view in views:
        if ages is None or not is_before(view.look, look):
            continue
        apart = (seconds_apart(view.look, look) or 0.0) * 1000
        had = {port for port, row in view.sockets.get(ends.way, {}).items() if not view.retransmits_its_end(row)}
        found |= {row for row in ends.rows if ports[row] not in had and (age := ages[row]) is not None and age > apart}
    return found


def persistent(ends: UnjoinedDirection, server: Host, looks: Sequence[Snapshot]) -> set[int]:
    """Return rows that an earlier look at the server shows, too, with a look at the client in between."""
    between = [look for look in looks if is_before(look, ends.look)]
    earlier = [look for look in server.snapshots if any(is_before(look, one) for one in between)]
    if not earlier:
        return set()
    row_of = {ends.key_of(row): row for row in ends.rows}
    return {
        row_of[key]
        for look in earlier
        for row, (key, state) in enumerate(zip(look.sockets.keys(), look.sockets.state, strict=True))
        if state is TcpState.ESTABLISHED and key in row_of and is_same(look, row, ends.look, row_of[key])
    }


def is_same(one: Snapshot, row: int, other: Snapshot, its_row: int) -> bool:
    """Tell whether rows of one key are one socket, by cookie, then inode, else by belief: a port may be used again."""
    for name in ("cookie", "inode"):
        numbers, others = getattr(one.sockets, name), getattr(other.sockets, name)
        if numbers and others and numbers[row] and others[its_row]:
            return bool(numbers[row] == others[its_row])
    return True
