"""Contradictions: the setting of a middlebox, checked against what its connections did (docs/how-it-decides.md).

A setting can be wrong for a path although it was read correctly: another device drops first, a rule or zone has a
timeout of its own, or the value was changed. What was measured counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.wording import bound, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.idle.box_timeouts import MiddleboxTimeout

AGREEMENT = 0.1
"""Two durations agree when they differ by at most this share of the smaller, or by a second."""


def exceeds(longer: float, shorter: float) -> bool:
    """Return whether a duration in seconds is longer than another, and does not agree with it."""
    return longer - shorter > max(1.0, shorter * AGREEMENT)


def contradiction(setting: MiddleboxTimeout, lower: float | None, upper: float | None) -> str | None:
    """Return how the measured bounds contradict a setting; None where they do not. Seconds."""
    name = f"{setting.source} is {bound(setting.upper_seconds)}"
    if upper is not None and exceeds(setting.lower_seconds, upper):
        name = f"{setting.source} is {bound(setting.lower_seconds)}"
        return (
            f"A contradiction: {name}, but connections were dropped after at most {bound(upper)} of idle time. The "
            "measurement counts. Possible: another middlebox on the path, a restart of this one, a timeout of its own "
            "for this rule or zone, or a setting that was changed since."
        )
    if lower is not None and exceeds(lower, setting.upper_seconds):
        return (
            f"A contradiction: {name}, but a connection was used again after {bound(lower)} of idle time. The "
            "measurement counts. Possible: keepalive probes of the client, a middlebox that takes up a connection in "
            "its middle (nf_conntrack_tcp_loose = 1), a timeout of its own for this rule or zone, or a setting that "
            "was changed since."
        )
    return None


def younger_than(setting: MiddleboxTimeout, ghost_ages: Sequence[float]) -> int:
    """Return how many ghosts, by their idle seconds, this timeout cannot have caused."""
    return sum(exceeds(setting.lower_seconds, age) for age in ghost_ages)


def unexplained(setting: MiddleboxTimeout, ghost_ages: Sequence[float]) -> str | None:
    """Return that a timeout does not explain the ghosts of its path; None where it explains any, or there are none."""
    if not ghost_ages or younger_than(setting, ghost_ages) < len(ghost_ages):
        return None
    ghosts = counted(len(ghost_ages), "ghost connection")
    return (
        f"{setting.source} ({bound(setting.lower_seconds)}) does not explain the {ghosts}: the longest idle time is "
        f"{bound(max(ghost_ages))}. Possible: another middlebox on the path, a restart of this one, or a client that "
        "ended without closing its connections."
    )
