"""DrainChoice: the idle timeout that closes dead connections and cuts no live one, with the evidence for it.

docs/how-it-decides.md, "What to set", states the rule.

Round values: the seconds that administrators set.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ldapdiag.analysis.idle.replay import Replayed, replay
from ldapdiag.evidence.log.idle_times import TIMEOUTS
from ldapdiag.evidence.log.stamps import MILLISECOND
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.idle.idle_profile import IdleProfile
    from ldapdiag.servers.idle.enforcement import IdleEnforcement

CAUTIOUS = 300
"""Seconds; without evidence that a shorter timeout cuts no live connection, none is recommended."""
LIVE_MARGIN = 1.5
MOST_CUTS = 1.0
"""Cuts a day that an access log must exclude before a timeout below CAUTIOUS is chosen: a longer timeout costs hardly
any descriptors, and a cut may cost a client a request."""
SHORTEST = TIMEOUTS[0]
"""Seconds; a shorter idle timeout closes pooled connections that are in use, however urgent the situation is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestIdle:
    """The longest idle time of a live connection, in seconds, and where it was seen."""

    seconds: float
    source: str
    client: str = ""
    account: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainChoice:
    """The chosen idle timeout, what else was possible, and what each costs. Seconds."""

    seconds: int
    unhurried: int
    """The choice if the descriptors did not run out first."""
    seconds_left: float | None = None
    """The seconds before which the descriptors hardly run out; None: not forecast."""
    longest: LongestIdle | None = None
    live_ages: int = 0
    """Live connections whose socket ages are known."""
    log_seconds: float | None = None
    """The time that the access log shows, without its gaps; None: there is none."""
    silent_seconds: float = 0.0
    """The time of the access log's gaps: without a record for longer than any idle time."""
    rows: tuple[Replayed, ...] = ()
    """The replay of each candidate, ascending; empty without an access log."""
    most_cuts_per_day: float | None = None
    """Cuts a day that the log excludes at 95 % if it shows none; None: it is too short, or there is none."""
    gaps: tuple[str, ...] = ()
    """Why idle times may be longer than the evidence shows, as clauses."""
    hidden_above: float | None = None
    """Seconds after which a middlebox drops idle connections, before a client could use them again."""

    @property
    def hurried(self) -> bool:
        """Return whether the descriptors would run out before a timeout that cuts no live connection."""
        return self.seconds < self.unhurried

    @property
    def thin(self) -> bool:
        """Return whether the evidence does not exclude, at 95 %, that the timeout cuts MOST_CUTS a day."""
        if self.gaps or self.hidden_above is not None:
            return True
        return self.most_cuts_per_day is None or self.most_cuts_per_day > MOST_CUTS

    def row(self, timeout: int | None) -> Replayed | None:
        """Return the replay of a timeout; None where it was not replayed."""
        return next((row for row in self.rows if row.timeout == timeout), None)

    @property
    def chosen(self) -> Replayed | None:
        """Return the replay of the chosen timeout."""
        return self.row(self.seconds)


def choose_drain(
    profile: IdleProfile,
    live_ages: Sequence[float],
    enforcement: IdleEnforcement,
    *,
    seconds_left: float | None = None,
    drops_after: float | None = None,
    gaps: Sequence[str] = (),
) -> DrainChoice:
    """Choose the smallest timeout with a margin above each live idle time and no cut in the replay.

    `drops_after`: a middlebox drops connections that are idle for longer, so that nothing shows their use.
    """
    rows = replay(profile, TIMEOUTS, enforcement)
    longest = max(_longest_idle(profile, live_ages, enforcement), key=lambda one: one.seconds, default=None)
    wanted = max(SHORTEST, at_least(LIVE_MARGIN * (longest.seconds if longest else 0)))
    harmless = next(
        (row.timeout for row in rows if row.timeout >= wanted and not row.cut and not row.undecided), wanted
    )

    def choice(unhurried: int) -> DrainChoice:
        return DrainChoice(
            seconds=unhurried if seconds_left is None else min(unhurried, max(SHORTEST, at_most(seconds_left) or 0)),
            unhurried=unhurried,
            seconds_left=seconds_left,
            longest=longest,
            live_ages=len(live_ages),
            log_seconds=profile.log_seconds,
            silent_seconds=profile.silent_seconds,
            rows=rows,
            most_cuts_per_day=profile.most_cuts_per_day(unhurried),
            gaps=tuple(gaps),
            hidden_above=drops_after if drops_after is not None and drops_after < unhurried else None,
        )

    shortest = choice(harmless)
    return choice(max(harmless, CAUTIOUS)) if shortest.thin else shortest


def _longest_idle(
    profile: IdleProfile, live_ages: Sequence[float], enforcement: IdleEnforcement
) -> Iterator[LongestIdle]:
    """Yield the longest idle time by each source; exempt accounts are not closed, however long they are idle."""
    if live_ages:
        yield LongestIdle(seconds=max(live_ages), source="socket ages")
    for group in profile.groups:
        seconds = group.used.longest[0] // MILLISECOND / 1000
        if seconds > 0 and not group.belongs_to(enforcement.exempt):
            yield LongestIdle(seconds=seconds, source="access log", client=group.client, account=group.account)


ROUND_SECONDS = (5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 600, 900, 1200, 1800, 3600, 5400, 7200)
ROUND_HOURS = tuple(hours * 3600 for hours in (3, 4, 6, 8, 12, 24))
ROUND_VALUES = ROUND_SECONDS + ROUND_HOURS


def at_least(seconds: float) -> int:
    """Return the smallest round value that is not below this; the largest above that."""
    return next((value for value in ROUND_VALUES if value >= seconds), ROUND_VALUES[-1])


def at_most(seconds: float) -> int | None:
    """Return the largest round value that is not above this; None below the smallest."""
    return max((value for value in ROUND_VALUES if value <= seconds), default=None)
