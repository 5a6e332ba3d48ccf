"""Skew: connections open and close between two tables, so that an absence alone proves nothing.

A connection counts as absent only if snapshots before and after prove it, if it was idle for longer than the time
between the tables, or if churn is too small to explain it (docs/how-it-decides.md, "Snapshots and skew").
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from math import ceil, inf

from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.origin import Span
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import counted

TIME_WAIT_SECONDS = 60
"""How long Linux keeps a socket in TIME-WAIT (include/net/tcp.h, TCP_TIMEWAIT_LEN)."""

CHURN_FACTOR = 3
"""Absences up to this many times the expected churn are taken for churn."""

SECOND = timedelta(seconds=1)
"""Servers report times in whole seconds, rounded down."""

MINIMUM_IDLE_SECONDS = 5.0
"""Applications that close a connection soon after its last use leave it idle for less."""

TOO_YOUNG = "absent in snapshots before and after, but too young for that to prove it"

FEW_ABSENCES = 10
"""Up to this many absences, a lack of new connections at the other end proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChurnEvidence:
    """What two tables show of connections between two endpoints that opened or closed."""

    reverse: int
    """Rows of the other table that the first lacks or has in another state: the same churn, seen at the other end."""
    time_wait: int | None
    """TIME-WAIT rows at both ends; None when a table does not show them."""
    interval_seconds: float | None
    """Between the tables; None when a time is unknown."""
    opened: int | None = 0
    """Absent connections that may have been opened after the other table was taken; None: unbounded."""
    unnumbered: int = 0
    """Rows of the other table whose port is a name without a number: any absent connection may be one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChurnBound:
    """An upper bound of the absences that churn can explain, and its reason. `budget` is inf when unbounded."""

    budget: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentRows:
    """Rows of one end's table that are absent at the other end, without those that churn can explain."""

    count: int = 0
    rows: tuple[int, ...] | None = ()
    """None when their number is known but not which they are."""
    unproven: Mapping[str, int] = field(default_factory=dict)
    """Rows that churn can explain, by reason."""
    reasons: tuple[str, ...] = ()
    """Why those counted are not churn."""

    def excluding(self, count: int, reason: str) -> AbsentRows:
        """Return these rows without so many that a reason explains; which they are is not known unless all are."""
        excluded = min(count, self.count)
        if not excluded:
            return self
        unproven = {**self.unproven, reason: excluded}
        if excluded == self.count:
            return AbsentRows(unproven=unproven)
        return replace(self, count=self.count - excluded, rows=None, unproven=unproven)

    def including(self, rows: Collection[int]) -> AbsentRows:
        """Return these rows and others that are absent for certain."""
        known = None if self.rows is None else (*self.rows, *rows)
        return replace(self, count=self.count + len(rows), rows=known)

    def ports(self, column: Sequence[int]) -> tuple[int, ...] | None:
        """Return the ports of these rows in a column, ascending; None when the rows are not known."""
        return None if self.rows is None else tuple(sorted(column[row] for row in self.rows))


def exclude_churn(
    absent: Sequence[int],
    ages: Sequence[int | None] | None,
    persistent: Collection[int],
    evidence: ChurnEvidence,
    *,
    minimum_age: float = 0.0,
    bracketed: bool = False,
) -> AbsentRows:
    """Return the absent rows that churn cannot explain; `ages` are milliseconds, by row.

    A row older than the time between the tables existed when the other table was taken, if that was taken first. If it
    was taken later, the row may have closed meanwhile, and counts only from `minimum_age` seconds on
    (minimum_age_seconds). `persistent` rows are proven by snapshots. With `bracketed` snapshots and ages nothing else
    is claimed.
    """
    interval = evidence.interval_seconds
    limit = inf if interval is None else max(interval, minimum_age) * 1000
    old = {row for row in absent if ages is not None and (age := ages[row]) is not None and age > limit}
    proven = tuple(row for row in absent if row in old or row in persistent)
    others = [row for row in absent if row not in old and row not in persistent]
    reasons = _proof_reasons(len(old), interval, minimum_age, sum(row in persistent for row in absent))
    if not others or bracketed:
        young = {TOO_YOUNG: len(others)} if others else {}
        return AbsentRows(count=len(proven), rows=proven, unproven=young, reasons=reasons)
    bound = bound_churn(len(others), evidence)
    if len(others) <= bound.budget:
        return AbsentRows(count=len(proven), rows=proven, unproven={bound.reason: len(others)}, reasons=reasons)
    reasons = (*reasons, bound.reason)
    if bound.budget == 0:
        return AbsentRows(count=len(absent), rows=tuple(absent), reasons=reasons)
    budget = int(bound.budget)
    return AbsentRows(count=len(absent) - budget, rows=None, unproven={bound.reason: budget}, reasons=reasons)


def _proof_reasons(old: int, interval: float | None, minimum_age: float, persistent: int) -> tuple[str, ...]:
    reasons = []
    if old and interval is not None:
        beyond = (
            f", and than {minimum_age:.0f} s, at least twice the longest idle time of a socket held at both ends"
            if minimum_age
            else ""
        )
        between = f"{interval:.1f} s" if interval >= 0.05 else "time"
        reasons.append(f"{old} had been idle for longer than the {between} between the tables{beyond}")
    if persistent:
        verb = "is" if persistent == 1 else "are"
        reasons.append(f"{persistent} {verb} in snapshots before and after the other end's table")
    return tuple(reasons)


def bound_churn(absent: int, evidence: ChurnEvidence) -> ChurnBound:
    """Return the tightest bound on churn between two tables, and on rows that only appear to be absent.

    TIME-WAIT and new connections at the other end bound what has closed. An application that only opens connections
    causes neither: against a table that was taken before, openings need a bound as well.
    """
    closed = bound_closings(absent, evidence)
    if evidence.unnumbered:
        named = counted(evidence.unnumbered, "port name")
        reason = f"the other end's table has {named} instead of numbers (taken without -n); {closed.reason}"
        closed = ChurnBound(budget=closed.budget + evidence.unnumbered, reason=reason)
    if evidence.opened is None:
        reason = f"they may have been opened after the other end's table was taken; {closed.reason}"
        return ChurnBound(budget=inf, reason=reason)
    if not evidence.opened:
        return closed
    opened = f"{evidence.opened} {'was' if evidence.opened == 1 else 'were'} opened"
    reason = f"{opened} after the other end's table was taken; {closed.reason}"
    return ChurnBound(budget=closed.budget + evidence.opened, reason=reason)


def bound_closings(absent: int, evidence: ChurnEvidence) -> ChurnBound:
    """Return the tightest bound on connections that closed between two tables."""
    bounds = [ChurnBound(budget=inf, reason="connections open and close, and no evidence bounds how many")]
    if absent > CHURN_FACTOR * evidence.reverse + FEW_ABSENCES:
        new = f"only {counted(evidence.reverse, 'new connection')}" if evidence.reverse else "no new connection"
        reason = f"churn would show at both ends, but the other end has {new}"
        bounds.append(ChurnBound(budget=CHURN_FACTOR * evidence.reverse, reason=reason))
    if evidence.time_wait == 0:
        reason = "none closed in the minute before the tables (no TIME-WAIT at either end)"
        bounds.append(ChurnBound(budget=0, reason=reason))
    elif evidence.time_wait is not None and (interval := evidence.interval_seconds) is not None:
        reason = f"{evidence.time_wait} closed in the last minute (TIME-WAIT), the tables are {interval:.1f} s apart"
        budget = ceil(CHURN_FACTOR * interval * evidence.time_wait / TIME_WAIT_SECONDS)
        bounds.append(ChurnBound(budget=budget, reason=reason))
    return min(bounds, key=lambda bound: bound.budget)


def count_opened(
    monitor: Monitor | None, times: Iterable[datetime | None], taken: Span | None, other: Span | None
) -> int | None:
    """Return how many connections of a client may have been opened between the table `other` and the one `taken`.

    `times` are those at which `monitor` reports its connections to have been opened.
    None when `taken` is later and the server does not list its connections with their opening times. Of unknown times
    nothing is claimed either way, and 0 is returned (docs/decisions.md, "Upper bounds on churn only").
    """
    if taken is None or other is None or taken.is_before(other):
        return 0
    if (
        monitor is None
        or monitor.connections is None
        or monitor.taken_at is None
        or monitor.taken_at - clock_offset(monitor) + SECOND < taken.start
    ):
        return None
    since = other.start - SECOND + clock_offset(monitor)
    opened = list(times)
    return None if None in opened else sum(time is not None and time >= since for time in opened)


def clock_offset(monitor: Monitor) -> timedelta:
    """Return how far the server's clock is ahead of the clock that timed its answer, at least."""
    at_server, taken = monitor.taken_at, monitor.origin.taken
    if at_server is None or taken is None or taken.start - SECOND <= at_server <= taken.end:
        return timedelta(0)
    return at_server - (taken.end if at_server > taken.end else taken.start)


def minimum_age_seconds(taken: Span | None, other: Span | None, live_idle_seconds: Iterable[float]) -> float:
    """Return the age from which a row of the table `taken` cannot have closed before the table `other`, in seconds.

    0 if `other` was taken before. Else twice the longest idle time of a live connection: connections that are closed
    because they are idle are hardly older than the oldest live one.
    """
    if taken is None or other is None or other.is_before(taken):
        return 0.0
    return 2 * max((MINIMUM_IDLE_SECONDS, *live_idle_seconds))
