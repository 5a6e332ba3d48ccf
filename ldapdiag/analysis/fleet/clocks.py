"""Clocks: which server's time stamps are ahead of the others', by the clients that the servers have in common.

    client    other servers               this one
    job 1     |-------|                         |-------|        both its beginnings and its ends come an hour later,
    job 2         |------------|                    |------------|       those of every job

A client's first and last use of a server count where they are clearly within the log. A log that began later has other
edges and the same uses; a server that joined or was drained has uses that begin or end together.

Of servers in two halves, whose clocks differ by the same, none shows which half is right: the one ahead is shifted.
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil, isqrt
from statistics import median
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.spellings import OTHER_NAME, UNKNOWN_NAME
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.lazy_dataclass import NamedTuple, dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.analysis.log.workload import Workload

LEAST = 60 * SECOND
"""Smaller differences are not looked for."""
FEWEST = 6
"""Beginnings and ends of uses at a server, of which at least two each are at times of their own."""
MOST = 0.75
"""Of them, at least so many must agree."""
AGREE = 4
"""Differences agree within this part (1/4) of the shift."""
RATES = 10
"""A use begins within the log if nothing came before it for so many of its client's intervals between connections."""
EDGE = 20
"""And not within this part (1/20) of the log."""


class TimeRange(NamedTuple):
    """A time in nanoseconds since 1970, from its beginning to its end."""

    begin: int
    end: int

    @property
    def length(self) -> int:
        """Return its length in nanoseconds."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockShift:
    """A server's clock against the others'. Times in nanoseconds."""

    ahead: int
    """Negative: it is behind."""
    uncertainty: int
    uses: int
    """Beginnings and ends of uses that were compared."""
    clients: int
    has_zone: bool
    """Its time stamps have their time zone: else it may be in another one."""
    is_certain: bool
    """The log's end is shifted, too; one that only begins later is of a server that was started later."""
    is_half: bool = False
    """Half of the servers are so, against the other half: which of them are right is not known."""


class _Edge(NamedTuple):
    """The beginning or the end of a client's use of a server."""

    client: str
    is_end: bool
    server: int
    at: int


def clocks_of(workloads: Sequence[Workload], spans: Sequence[TimeRange]) -> tuple[ClockShift | None, ...]:
    """Return the clock of each server whose clock differs."""
    compared: list[list[tuple[_Edge, int]]] = [[] for _ in workloads]
    edges: dict[tuple[str, bool], list[_Edge]] = {}
    for server, (workload, span) in enumerate(zip(workloads, spans, strict=True)):
        for edge in _edges(server, workload, span):
            edges.setdefault((edge.client, edge.is_end), []).append(edge)
    for several in edges.values():
        if len(several) > 2 or len(workloads) == 2:  # the median of three is not that of the one that differs
            middle = int(median(edge.at for edge in several))
            for edge in several:
                compared[edge.server].append((edge, middle))
    shifts = [_shift(each) for each in compared]
    behind = _behind(shifts, [len(each) >= FEWEST for each in compared])
    if behind:
        lag = int(median(shifts[place] or 0 for place in behind))
        compared = [[(edge, middle + lag) for edge, middle in each] for each in compared]
        shifts = [None if shift is None or place in behind else shift - lag for place, shift in enumerate(shifts)]
    off = [_beyond_most(each) for each in compared if len(each) >= FEWEST]
    reference = [spans[place] for place in behind] or spans
    ends = int(median(span.end for span in reference)) if reference else 0
    return tuple(
        _clock(each, shift, workload, span.end - ends, is_half=bool(behind))
        if shift and (behind or _agree(off, shift))
        else None
        for each, shift, workload, span in zip(compared, shifts, workloads, spans, strict=True)
    )


def _edges(server: int, workload: Workload, span: TimeRange) -> Iterator[_Edge]:
    """Yield the beginnings and ends of uses that are clearly within the log."""
    for address, opened, first, last in workload.client_uses:
        if first > last or opened < 2 or address in {OTHER_NAME, UNKNOWN_NAME}:
            continue
        near = max(LEAST, span.length // EDGE, RATES * (last - first) // opened)
        if first - span.begin >= near:
            yield _Edge(address, is_end=False, server=server, at=first)
        if span.end - last >= near:
            yield _Edge(address, is_end=True, server=server, at=last)


def _beyond_most(compared: list[tuple[_Edge, int]]) -> int:
    """Return the difference that most uses of a server do not exceed."""
    return sorted(abs(edge.at - middle) for edge, middle in compared)[ceil(MOST * len(compared)) - 1]


def _agree(off: Sequence[int], shift: int) -> bool:
    """Return whether most servers, two or more, have no such shift: else none of them shows which is right."""
    agreeing = sum(AGREE * one <= abs(shift) for one in off)
    return agreeing >= max(2, len(off) / 2)


def _behind(shifts: Sequence[int | None], with_uses: Sequence[bool]) -> tuple[int, ...]:
    """Return the half of the servers whose clocks are behind those of the other half, all by the same; none: no half.

    The median of all uses is between the halves.
    """
    found = sorted(shift for shift in shifts if shift)
    behind = tuple(place for place, shift in enumerate(shifts) if shift and shift < 0)
    if not found or len(found) < sum(with_uses) or 2 * len(behind) != len(found):
        return ()
    within = (found[-1] - found[0]) // AGREE
    halves = found[: len(behind)], found[len(behind) :]
    return behind if all(each[-1] - each[0] <= within for each in halves) else ()


def _shift(compared: list[tuple[_Edge, int]]) -> int | None:
    """Return by how much the uses of a server come later than elsewhere; None: they do not show that they do."""
    differences = [edge.at - middle for edge, middle in compared]
    shift = int(median(differences)) if len(compared) >= FEWEST else 0
    within = abs(shift) // AGREE
    if abs(shift) < LEAST or sum(abs(one - shift) <= within for one in differences) < MOST * len(differences):
        return None
    for is_end in (False, True):
        side = [(edge.at - middle, middle) for edge, middle in compared if edge.is_end == is_end]
        times = sorted(middle for _, middle in side)
        apart = sum(later - earlier > LEAST for earlier, later in pairwise(times))
        if not apart or abs(median(one for one, _ in side) - shift) > within:
            return None
    return shift


def _clock(compared: list[tuple[_Edge, int]], shift: int, workload: Workload, end: int, *, is_half: bool) -> ClockShift:
    """Return the clock with the interval in which the median lies (three standard errors, by order statistics)."""
    ordered = sorted(edge.at - middle for edge, middle in compared)
    half = (3 * isqrt(len(ordered)) + 1) // 2 + 1
    middle = len(ordered) // 2
    low, high = ordered[max(0, middle - half)], ordered[min(len(ordered) - 1, middle + half)]
    return ClockShift(
        ahead=shift,
        uncertainty=max(high - shift, shift - low, workload.segment.resolution, SECOND),
        uses=len(compared),
        clients=len({edge.client for edge, _ in compared}),
        has_zone=any(workload.segment.zones),
        is_half=is_half,
        is_certain=abs(end - shift) < min(abs(end), max(LEAST, abs(shift) // AGREE)),
    )
