"""Limit classes: the searches of a group that the server completed, and those that a limit or a refusal stopped.

    uid=portal   no limits                  err=0  notes=A   0.15 s, 1 entry      a scan, and few entries match
    uid=web      nsLookThroughLimit 500     err=11 notes=A   0.01 s, 0 entries    shows neither cost nor matches

What a search costs and why is concluded from those that completed; an account with a small limit only shows that it is
refused.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from ldapdiag.analysis.log.searches import FIRST_PAGE, LATER_PAGE, SearchGroup, is_unindexed
from ldapdiag.evidence.log.substrings import STOPPED_LENGTHS
from ldapdiag.lazy_dataclass import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ldapdiag.analysis.log.searches import StopCount

Key = TypeVar("Key", int, str)

ENTRIES_LIMITS = (3, 4, 11)
"""timeLimitExceeded, sizeLimitExceeded, adminLimitExceeded (RFC 4511, appendix A): there were more entries."""
SIZE_LIMIT = 4
PAGE = "P"
"""The note of 389-ds on a page of a paged search."""
STOPPED = STOPPED_LENGTHS.decode()


class LimitClasses(NamedTuple):
    """A group of searches in two parts; None: no result of that kind."""

    completed: SearchGroup | None
    stopped: SearchGroup | None


def divide(group: SearchGroup) -> LimitClasses:
    """Return the searches of a group that completed, and those that a limit or a refusal stopped."""
    if not group.stops:
        return LimitClasses(group, None)
    stopped = _stopped(group)
    return LimitClasses(_completed(group, stopped) if stopped.answered < group.answered else None, stopped)


def has_pages(group: SearchGroup) -> bool:
    """Return whether some results are pages of larger ones."""
    return any(PAGE in notes.split(",") for notes in group.notes)


def searches_of(group: SearchGroup) -> int | None:
    """Return how many searches the results of a group are of, the pages of one counted once; None: not known.

    389-ds notes which pages of a scan are later ones, and pages of an indexed search all alike.
    """
    pages = {notes for notes in group.notes if PAGE in notes.split(",")}
    if pages and (FIRST_PAGE not in pages or not pages <= {FIRST_PAGE, LATER_PAGE}):
        return None
    return group.answered - (group.notes.get(LATER_PAGE, 0) if pages else 0)


def more_may_match(group: SearchGroup) -> bool:
    """Return whether a search of a group may match more entries than its largest complete result has.

    A scan that a limit stopped shows no more than the entries it returned. One without a note had an ID list: this is
    longer than the limit.
    """
    completed, _ = divide(group)
    if completed is None or has_pages(completed):
        return True
    return show_more(group.stops, group.most_entries)


def show_more(stops: Mapping[tuple[int, str], StopCount], most: int) -> bool:
    """Return whether stopped searches may match more than `most` entries."""
    return any(
        stop.most_entries + (err == SIZE_LIMIT) > most or (err != SIZE_LIMIT and not is_unindexed(notes))
        for (err, notes), stop in stops.items()
        if err in ENTRIES_LIMITS
    )


def shows_few(completed: SearchGroup, stops: Mapping[tuple[int, str], StopCount], most: int) -> bool:
    """Return whether complete results show some matching entries below the base, and none more than `most`."""
    return (
        0 < completed.most_entries <= most and not has_pages(completed) and not show_more(stops, completed.most_entries)
    )


def _stopped(group: SearchGroup) -> SearchGroup:
    stops = group.stops
    most = max((stop.most_entries for (err, _), stop in stops.items() if err in ENTRIES_LIMITS), default=-1)
    count = sum(stop.results for stop in stops.values())
    return replace(
        group,
        count=count,
        answered=count,
        etime=sum(stop.etime for stop in stops.values()),
        wait=sum(stop.wait for stop in stops.values()),
        entries=sum(stop.entries for stop in stops.values()),
        most_entries=-1,
        most_limited=most,
        by_piece_lengths={
            lengths.removeprefix(STOPPED): counts
            for lengths, counts in group.by_piece_lengths.items()
            if lengths.startswith(STOPPED)
        },
        notes=_sums((notes, stop) for (_, notes), stop in stops.items() if notes),
        errors=_sums((err, stop) for (err, _), stop in stops.items()),
    )


def _completed(group: SearchGroup, stopped: SearchGroup) -> SearchGroup:
    notes = {name: count - stopped.notes.get(name, 0) for name, count in group.notes.items()}
    completed = replace(
        group,
        count=group.count - stopped.count,
        answered=group.answered - stopped.answered,
        etime=group.etime - stopped.etime,
        wait=group.wait - stopped.wait,
        entries=group.entries - stopped.entries,
        by_piece_lengths={
            lengths: counts for lengths, counts in group.by_piece_lengths.items() if not lengths.startswith(STOPPED)
        },
        notes={name: count for name, count in notes.items() if count > 0},
        errors={err: count for err, count in group.errors.items() if err not in stopped.errors},
        stops={},
    )
    return completed if has_pages(completed) else replace(completed, most_limited=-1)


def _sums(counts: Iterable[tuple[Key, StopCount]]) -> dict[Key, int]:
    sums: dict[Key, int] = defaultdict(int)
    for key, stop in counts:
        sums[key] += stop.results
    return dict(sums)
