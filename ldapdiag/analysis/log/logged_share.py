"""What a log lacks that has only the searches above thresholds (event 1644), as far as its searches show.

Thresholds of 1 or 0 log every search: then that a search is in the log does not mean that it is slow. Above the
defaults it does, and a search that is not there may have been sent a million times all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers.traits import traits_of
from ldapdiag.wording import counted, duration, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.host_facts import EventThresholds
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.servers.traits import LogThresholds

QUERY = r"reg query HKLM\SYSTEM\CurrentControlSet\Services\NTDS\Parameters"
UNKNOWN = f"which no log shows: give the output of {QUERY} beside it"
FEW = 3
"""Paths named."""


def has_no_times(segment: Segment) -> bool:
    """Return whether the server did not log how long its searches took: those before KB2800945 do not."""
    return segment.least_visited.keys() == {-1}


def what_is_logged(segment: Segment, family: Family | None, configured: EventThresholds | None = None) -> str:
    """Return a sentence on the searches that the log has, without its full stop; empty: those of all."""
    default = traits_of(family).logs_above
    if default is None or not segment.least_visited:
        return ""
    if configured is not None and _is_below(segment, _applying(configured, default)):
        return (
            f"this log has searches below the thresholds in {configured.origin.path}, so that others applied "
            "meanwhile: which searches are not in it is not known; that one is here does not mean that it is slow"
        )
    if configured is not None:
        others = f"; these are the thresholds of {configured.service}, not of {', '.join(configured.others)}"
        return _configured(configured, default) + (others if configured.others else "")
    if segment.least_visited.get(0, 2) <= 1:
        return (
            "searches that visited one entry in less than a millisecond are in this log: its thresholds were lowered, "
            "and about every search was logged meanwhile; that one is here does not mean that it is slow"
        )
    if _is_below(segment, default):
        return (
            f"the thresholds of this log are below the defaults ({UNKNOWN}): a search below them is not in this log, "
            "however often it was sent"
        )
    visited, in_vain = counted(default.visited, "entry", "entries"), number(default.visited_in_vain)
    return (
        f"all searches of this log are above the default thresholds. If those applied ({UNKNOWN}), one that visited "
        f"fewer than {visited}, or fewer than {in_vain} of which less than 10 % were returned, in less than "
        f"{duration(default.milliseconds / 1000)} is not in this log, however often it was sent"
    )


def _is_below(segment: Segment, thresholds: LogThresholds) -> bool:
    """Return whether the log has a search that these thresholds would not have logged."""
    least = min(thresholds.visited, thresholds.visited_in_vain)
    return any(
        1 << max(length, 0) <= thresholds.milliseconds and visited < least
        for length, visited in segment.least_visited.items()
    )


def _applying(settings: EventThresholds, default: LogThresholds) -> LogThresholds:
    """Return the thresholds with these settings; a time threshold of 0 is the default."""
    visited, in_vain = (
        value if given is None else given
        for given, value in zip((settings.visited, settings.visited_in_vain), default, strict=False)
    )
    return default._replace(
        visited=visited, visited_in_vain=in_vain, milliseconds=settings.milliseconds or default.milliseconds
    )


def unplaced(path: str) -> str:
    """Return a sentence on an export of thresholds that names no server, beside several: it counts for none."""
    return f"{path} names no server, so its thresholds count for none: put it with the events of its server alone"


def of_several(found: Sequence[EventThresholds]) -> str:
    """Return a clause on exports of thresholds that may not be those of every server of a log."""
    names = ", ".join(one.origin.path.rpartition("/")[2] for one in found[:FEW])
    return f"{names} not used: this report adds up several servers, ldapdiag indexes has them one by one"


def _configured(settings: EventThresholds, default: LogThresholds) -> str:
    """Return the sentence on a log whose thresholds are known."""
    visited, in_vain, milliseconds = _applying(settings, default)
    if visited <= 1:
        return (
            "every search that visited an entry is logged (Expensive Search Results Threshold of "
            f"{visited}), if it was so during this log; that one is here does not mean that it is slow"
        )
    return (
        f"searches are logged that visited {number(visited)} entries or more, or {number(in_vain)} of which less than "
        f"10 % were returned, or took {duration(milliseconds / 1000)}, if it was so during this log; any other "
        "is not in this log, however often it was sent"
    )
