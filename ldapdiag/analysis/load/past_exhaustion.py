"""Times at which a server had reached its limit: how often and when, by its logs and its access log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.time_axis import time_axis
from ldapdiag.evidence.log.stamps import SECOND, when
from ldapdiag.evidence.logged_time import logged_time
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.log.traffic import Traffic
    from ldapdiag.evidence.server_log import ServerLog


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached:
    """One kind of sign that the limit was reached."""

    meaning: str
    """As in `accepted and closed at once: no descriptor left`."""
    count: int
    """How often: lines, or times that the connections rose to the limit."""
    first: datetime | None
    last: datetime | None
    """None: the lines have no year."""
    source: str
    """The file."""
    clause: str
    """The same for the report, without times."""


def limit_reached(
    logs: Sequence[ServerLog], traffic: Traffic | None, served: int | None, limit: int | None
) -> tuple[LimitReached, ...]:
    """Return what shows that the limit was reached; of two copies of one log the larger count is used."""
    signs: dict[str, LimitReached] = {}
    for log in logs:
        for message in log.exhaustion_messages:
            if message.meaning in signs and signs[message.meaning].count >= message.count:
                continue
            signs[message.meaning] = LimitReached(
                meaning=message.meaning,
                count=message.count,
                first=logged_time(message.first),
                last=logged_time(message.last),
                source=log.origin.path,
                clause=f"{message.meaning} ({counted(message.count, 'time')})",
            )
    return (*signs.values(), *_peaks(traffic, served, limit))


def logged_peak(traffic: Traffic | None, served: int | None, limit: int | None) -> int | None:
    """Return the most connections at once in an access log if they are as many as the limit allows; else None.

    A log with lost lines may lack closes. So does one that shows more connections than the limit, unless the limit was
    a different one at the time.
    """
    peak = traffic.segment.peak if traffic and not traffic.segment.lost else 0
    room = served or limit
    return peak if room and limit and room <= peak <= limit else None


def _peaks(traffic: Traffic | None, served: int | None, limit: int | None) -> tuple[LimitReached, ...]:
    peak, room = logged_peak(traffic, served, limit), served or limit or 0
    if traffic is None or peak is None:
        return ()
    axis = time_axis(traffic.segment)
    # The limit may be reached and left within one interval; the peak is known then, and its time is not.
    full = [place for place, count in enumerate(axis.open) if count >= room] if axis else []
    rises = sum(place - 1 not in full for place in full)
    return (
        LimitReached(
            meaning="as many connections open as the limit allows",
            count=max(1, rises),
            first=when(axis.at(full[0])) if axis and full else None,
            last=when(min(axis.at(full[-1] + 1), axis.end + SECOND)) if axis and full else None,
            source=", ".join(traffic.origins),
            clause=f"{counted(peak, 'connection')} open at once in its access log, of {number(room)} possible",
        ),
    )
