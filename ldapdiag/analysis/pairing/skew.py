"""Skew: two tables are never taken at once, so a socket that one lacks may simply have come or gone between.

DESIGN, pairing, rule 4: a socket counts as missing only if looks before and after prove it, if it has been idle for
longer than the time between the tables, or if so few connections come and go that churn cannot explain it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import ceil, inf

from ldapdiag.analysis.hosts.snapshots import Snapshot
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.origin import Span

TIME_WAIT_SECONDS = 60
"""How long Linux keeps a socket in TIME-WAIT (include/net/tcp.h, TCP_TIMEWAIT_LEN)."""

SAFETY = 3
"""Absences up to this many times the expected churn are taken for churn."""

SECOND = timedelta(seconds=1)
"""Servers tell times in whole seconds, cut."""

SHORTEST_REST = 5.0
"""Seconds; applications that close what they have just used rest for less."""

SMALL = 10
"""Up to this many absences, a lack of turnover at the other end proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turnover:
    """What was seen of connections between two endpoints coming and going."""

    reverse: int
    """Rows of the other table that the first lacks or has in another state: the same churn, seen from the other end."""
    time_wait: int | None
    """TIME-WAIT rows between them at both ends; None when a table would not show them."""
    apart: float | None
    """Seconds between the tables; None when a time is unknown."""
    opened: int | None = 0
    """How many of the absent ones may have been opened after the other table was taken; None: nothing bounds it."""
    unnamed: int = 0
    """Rows of the other table whose port is a name without a number: any of the absent ones may be among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Churn:
    """How many absences connections coming and going could explain: an upper bound, and how it is known."""

    budget: float
    """inf: nothing bounds it."""
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivors:
    """Absent rows after churn is taken off."""

    count: int
    rows: tuple[int, ...] | None
    """None when their number is known but not which they are."""
    unproven: dict[str, int]
    because: tuple[str, ...]


def survivors(
    absent: Sequence[int],
    ages: Sequence[int | None] | None,
    persistent: Collection[int],
    turnover: Turnover,
    *,
    least: float = 0.0,
    bracketed: bool = False,
) -> Survivors:
    """Return the absent rows that coming and going cannot explain; `ages` are milliseconds, by row.

    A row older than the time between the tables was there when the other table was taken, if that was taken first. If
    it was taken later, the row may have closed meanwhile, and counts by its age from `least` seconds on (at_least).
    With `bracketed` looks and ages all that can be proven is proven by them, and of the rest nothing is claimed.
    """
    apart = turnover.apart
    limit = inf if apart is None else max(apart, least) * 1000
    old = {row for row in absent if ages is not None and (age := ages[row]) is not None and age > limit}
    proven = [row for row in absent if row in old or row in persistent]
    rest = [row for row in absent if row not in old and row not in persistent]
    because = []
    if old and apart is not None:
        because.append(f"{len(old)} had been idle for longer than the {apart:.1f} s between the tables{_beyond(least)}")
    if lasting := sum(row in persistent for row in absent):
        because.append(f"{lasting} stand in looks before and after the other end's table")
    if not rest or bracketed:
        unproven = {"not at the other end in looks before and after, and too young to have been missed": len(rest)}
        return Survivors(
            count=len(proven), rows=tuple(proven), unproven=unproven if rest else {}, because=tuple(because)
        )
    churn = churn_of(len(rest), turnover)
    if len(rest) <= churn.budget:
        return Survivors(
            count=len(proven), rows=tuple(proven), unproven={churn.because: len(rest)}, because=tuple(because)
        )
    because.append(churn.because)
    if churn.budget == 0:
        return Survivors(count=len(absent), rows=tuple(absent), unproven={}, because=tuple(because))
    budget = int(churn.budget)
    return Survivors(count=len(absent) - budget, rows=None, unproven={churn.because: budget}, because=tuple(because))


def churn_of(absent: int, turnover: Turnover) -> Churn:
    """Return the tightest bound on churn between two tables, and on rows that only seem to be absent.

    TIME-WAIT and turnover bound what has closed. An application that only opens connections leaves neither: a table
    that was taken after the other end's needs a bound on openings as well.
    """
    closed = closings_of(absent, turnover)
    if turnover.unnamed:
        because = f"{turnover.unnamed} have a name for a port at the other end (taken without -n); {closed.because}"
        closed = Churn(budget=closed.budget + turnover.unnamed, because=because)
    if turnover.opened is None:
        because = f"they may have been opened after the other end's table was taken; {closed.because}"
        return Churn(budget=inf, because=because)
    if not turnover.opened:
        return closed
    because = f"{turnover.opened} were opened after the other end's table was taken; {closed.because}"
    return Churn(budget=closed.budget + turnover.opened, because=because)


def closings_of(absent: int, turnover: Turnover) -> Churn:
    """Return the tightest bound on connections closed between two tables."""
    bounds = [Churn(budget=inf, because="connections come and go, and nothing tells how fast")]
    if absent > SAFETY * turnover.reverse + SMALL:
        bounds.append(
            Churn(
                budget=SAFETY * turnover.reverse,
                because=f"churn would show at both ends, but {turnover.reverse or 'none'} of the other end's are new",
            )
        )
    if turnover.time_wait == 0:
        bounds.append(
            Churn(budget=0, because="none closed in the minute before the tables (no TIME-WAIT at either end)")
        )
    elif turnover.time_wait is not None and turnover.apart is not None:
        bounds.append(
            Churn(
                budget=ceil(SAFETY * turnover.apart * turnover.time_wait / TIME_WAIT_SECONDS),
                because=f"{turnover.time_wait} closed in the last minute (TIME-WAIT), the tables are "
                f"{turnover.apart:.1f} s apart",
            )
        )
    return min(bounds, key=lambda churn: churn.budget)


def opened_meanwhile(monitor: Monitor | None, client: str, here: Span | None, there: Span | None) -> int | None:
    """Return how many connections of a client may have been opened between the table `there` and the one `here`.

    None when `here` was taken later and the server does not list its connections with their opening times. Of unknown
    times nothing is said either way, and 0 is returned (DESIGN: no TIME-WAIT, no churn).
    """
    if here is None or there is None or here.end <= there.start:
        return 0
    if (
        monitor is None
        or monitor.connections is None
        or monitor.taken_at is None
        or monitor.taken_at - server_ahead(monitor) + SECOND < here.start
    ):
        return None
    since = there.start - SECOND + server_ahead(monitor)
    times = [connection.opened for connection in monitor.connections if connection.client == client]
    return None if None in times else sum(time is not None and time >= since for time in times)


def server_ahead(monitor: Monitor) -> timedelta:
    """Return how far the server's clock is ahead of the one that timed its answer, as far as that is certain."""
    told, taken = monitor.taken_at, monitor.origin.taken
    if told is None or taken is None or taken.start - SECOND <= told <= taken.end:
        return timedelta(0)
    return told - (taken.end if told > taken.end else taken.start)


def neighbours(looks: Sequence[Snapshot], at: Snapshot) -> list[Snapshot]:
    """Return the looks nearest in time before and after a look of another host; of unknown times, all."""
    moment = at.taken
    timed = [(look, look.taken) for look in looks if look.taken is not None]
    if moment is None or len(timed) < len(looks):
        return list(looks)
    before = [look for look, span in timed if span.start <= moment.start]
    after = [look for look, span in timed if span.start > moment.start]
    return before[-1:] + after[:1]


def _beyond(least: float) -> str:
    return f", and than twice what living ones rest ({least:.0f} s)" if least else ""


def at_least(here: Span | None, there: Span | None, living: Iterable[float]) -> float:
    """Return from which age on, in seconds, a row is old enough not to have closed between the table here and there.

    Any age, if the other table was taken before. Else one that no living connection reaches: those that are closed for
    having rested are hardly older than the oldest that are not yet.
    """
    if here is None or there is None or there.end <= here.start:
        return 0.0
    return 2 * max((SHORTEST_REST, *living))


def seconds_apart(one: Snapshot, other: Snapshot) -> float | None:
    """Return the longest time between the moments of two looks, in seconds; None when a time is unknown."""
    return one.taken.seconds_apart(other.taken) if one.taken and other.taken else None
