"""Connections over time in intervals of equal length, from readings at any times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.timeline import MOST, STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.analysis.load.readings import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledConnections:
    """The readings of one source."""

    source: str
    step: int
    """Seconds of an interval. Each begins at a multiple of it since 1970 (UTC), as those of an access log do."""
    first: int
    """The number of the first interval since 1970."""
    values: tuple[int | None, ...]
    """The most connections in a reading of each interval; None: it has no reading. The first and the last have one."""


def sampled_connections(readings: Iterable[Reading]) -> Iterator[SampledConnections]:
    """Yield the intervals of each source with readings of two times or more, in the order of their names."""
    by_source: dict[str, list[Reading]] = {}
    for reading in sorted(readings, key=lambda one: (one.source, one.time, one.open)):
        by_source.setdefault(reading.source, []).append(reading)
    for source, several in by_source.items():
        begin, end = (int(several[place].time.timestamp()) for place in (0, -1))
        if several[0].time == several[-1].time:
            continue
        step = next((step for step in STEPS if end // step - begin // step < MOST), STEPS[-1])
        values: list[int | None] = [None] * min(MOST, end // step - begin // step + 1)
        for reading in several:
            place = min(MOST - 1, int(reading.time.timestamp()) // step - begin // step)
            values[place] = max(values[place] or 0, reading.open)
        yield SampledConnections(
            source=source,
            step=step,
            first=begin // step,
            values=tuple(values),
        )
