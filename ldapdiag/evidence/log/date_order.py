"""Whether 05/11/2026 is the fifth of November or May 11: the dates of a file decide it, or nothing does.

No culture writes some times with AM or PM after dates with slashes, and some without: such a file contradicts itself.
A date with a number above 12 decides. Else the order of the events may: those of one day show whether the file goes
forwards or backwards in time, and its days have to go the same way: those of each server, as one may follow another.
Where both show nothing, dates with slashes before a time with AM or PM are taken as those of the United States, and all
others as of cultures with the day first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

Stamp = tuple[int, int, int, int, bool, str]
"""First and second number of a date, its year, the seconds of the day, whether the United States write it so, and the
server, whose events have an order of their own."""

MONTHS = 12
MOST_SERVERS = 1000
"""Servers whose last event is known at a time."""


class DateOrder(NamedTuple):
    """Whether the day is the first number of a date."""

    readings: frozenset[bool]
    """Those possible; none: the file contradicts itself."""
    is_usual: bool = False
    """Both are possible, and the first number is taken as such times are mostly written."""

    @property
    def day_first(self) -> bool:
        """Whether the day is the first number, if that is decided."""
        return True in self.readings


def date_order(stamps: Iterable[Stamp]) -> DateOrder:
    """Return what the dates of a file show."""
    forwards = backwards = 0
    possible = {True: [0, 0], False: [0, 0]}
    """Steps to a later and to an earlier day, if the day is the first number."""
    shown: set[bool] = set()
    clocks: set[bool] = set()
    last: dict[str, Stamp] = {}
    stamp: Stamp | None = None
    for stamp in stamps:
        clocks.add(stamp[4])
        before = last.get(stamp[5])
        if stamp[0] > MONTHS >= stamp[1] or stamp[1] > MONTHS >= stamp[0]:
            shown.add(stamp[0] > MONTHS)
        if before and before[:3] == stamp[:3]:
            forwards += stamp[3] > before[3]
            backwards += stamp[3] < before[3]
        elif before and not shown:
            for is_first, steps in possible.items():
                steps[_date(stamp, is_first) < _date(before, is_first)] += 1
        if len(last) >= MOST_SERVERS:
            last.clear()
        last[stamp[5]] = stamp
    if len(shown) > 1 or len(clocks) > 1:
        return DateOrder(frozenset())
    if shown:
        return DateOrder(frozenset(shown))
    one_way = [is_first for is_first, steps in possible.items() if _is_one_way(steps, forwards, backwards)]
    if len(one_way) == 1 and not (forwards and backwards):
        return DateOrder(frozenset(one_way))
    return DateOrder(frozenset({stamp is None or not stamp[4]}), is_usual=True)


def _is_one_way(steps: list[int], forwards: int, backwards: int) -> bool:
    """Return whether the days go one way, the same as the events of one day."""
    later, earlier = steps[0] + forwards, steps[1] + backwards
    return not (later and earlier)


def _date(stamp: Stamp, is_first: bool) -> tuple[int, int, int]:  # noqa: FBT001  a reading of the date
    one, two, year, *_ = stamp
    return (year, two, one) if is_first else (year, one, two)
