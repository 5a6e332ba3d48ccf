"""Chance: whether two numbers of two reports differ by more than what scatters.

Events that arrive at random scatter by the root of their number, and the root of that number by one half, however many
they are. So two numbers differ beyond chance if their roots do, by what one event counts in each of them.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

SHARE = 0.1
"""Less than this share of what a number was is no change."""
BEYOND_CHANCE = 4.0
"""Standard errors: one comparison in 16,000 exceeds them by chance; a site of 40 findings makes as many in a year."""
HOUR = 3_600
LARGEST = 1e18
"""Numbers below are compared; not those that only a file has which no report wrote, as of 400 digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A number that can be compared: a count, a rate, a share or a value."""

    value: float
    events: float | None
    """Independent events; None: it does not scatter."""
    scatter: float = 1.0
    """How much more the sum of what they count varies than if each counted the same: 1 + (spread / mean)²."""

    @property
    def weight(self) -> float:
        """Return what one event counts; 0 if nothing was counted."""
        return self.value / self.events if self.events else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a finding has of the main number of its check; the first of `measures` is shown."""

    key: str
    measures: tuple[Measure, ...]
    """Of what a log contains, per operation and per hour: a job by the clock costs more per operation at a weekend."""
    unit: str = ""

    def by_much_less_than(self, other: Measured) -> bool:
        """Return whether it is of fewer than half as many events, because each counts more than twice as much.

        More events of equal weight are no longer log, but growth.
        """
        one, another = self.measures[0], other.measures[0]
        if one.events is None or another.events is None or not 2 * one.events < another.events:
            return False
        return not one.weight or one.weight > 2 * another.weight


def number_of(observed: Mapping[str, Any], key: str) -> float | None:
    """Return a number that was observed; None if it was not, or is no number that is compared."""
    value = observed.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if 0 <= value < LARGEST else None


def difference(before: Measured, now: Measured) -> int:
    """Return 1 if a number has grown by more than chance and SHARE explain, -1 if it has shrunk so, else 0.

    Of several measures all have to.
    """
    signs = {_difference(one, other) for one, other in zip(before.measures, now.measures, strict=False)}
    return signs.pop() if len(signs) == 1 else 0


def _difference(before: Measure, now: Measure) -> int:
    if not abs(now.value - before.value) > SHARE * before.value:
        return 0
    sign = 1 if now.value > before.value else -1
    if before.events is None or now.events is None:
        return sign
    weights = [before.weight, now.weight]
    # Of rare long times a short log shows few or none, and so too little spread as well: the larger one holds for both.
    scatter = sqrt(max(before.scatter, now.scatter) * sum(weight or max(weights) for weight in weights))
    return sign if 2 * abs(sqrt(now.value) - sqrt(before.value)) > BEYOND_CHANCE * scatter else 0
