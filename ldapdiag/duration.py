"""Durations as people write them: a number in a known unit, or with units of its own.

300  0.5  5m  1h30m  250ms
"""

from __future__ import annotations

import re

from ldapdiag.errors import UsageError
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
"""Seconds."""
MILLISECOND = 0.001
NAMES, PLAIN, WITH_UNIT = {"s": "seconds", "d": "days"}, {"s": "300", "d": "30"}, {"s": "5m", "d": "4w"}
"""Of the units in which durations are counted: the plural, and values that are always taken."""
NUMBER = pattern(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)
DURATION = pattern(rf"(?:{NUMBER.pattern}(?:ms|[smhdw]))+", re.ASCII)
PART = pattern(rf"({NUMBER.pattern})(ms|[smhdw])", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """The durations that an option or a key takes. Without a unit they are in `unit`."""

    least: float = 0
    most: float | None = None
    unit: str = "s"
    whole: bool = False
    """Only whole units: 1500ms is none."""

    def value_of(self, text: str) -> float:
        """Return the duration in `unit`; raise UsageError with what is taken for anything else."""
        if NUMBER.fullmatch(text):
            value = float(text)
        elif DURATION.fullmatch(text):
            parts = ((float(number), unit) for number, unit in PART.findall(text))
            value = sum(number * UNITS.get(unit, MILLISECOND) for number, unit in parts) / UNITS[self.unit]
        else:
            raise UsageError(
                f"takes {NAMES[self.unit]} or {WITH_UNIT[self.unit]}, as in {PLAIN[self.unit]}; {text!r} is neither"
            )
        if value < self.least or (self.most is not None and value > self.most):
            raise UsageError(f"takes {self.range}; {text} is out of this range")
        if value.is_integer():
            return int(value)
        if self.whole:
            raise UsageError(f"takes whole {NAMES[self.unit]}; {text} has a fraction")
        return value

    @property
    def range(self) -> str:
        """Return the range in words."""
        noun = NAMES[self.unit]
        return f"{self.least:,} {noun} or more" if self.most is None else f"{self.least:,} to {self.most:,} {noun}"

    @property
    def forms(self) -> str:
        """Return the range, and how it may be written otherwise."""
        return f"{self.range}, or as in {WITH_UNIT[self.unit]}"
