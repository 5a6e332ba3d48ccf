"""The numbers behind a drain value, by the keys of the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ldapdiag.analysis.idle.drain_choice import DrainChoice
    from ldapdiag.analysis.idle.replay import Replayed


def drain_numbers(drain: DrainChoice) -> dict[str, Any]:
    """Return what the choice rests on, and each candidate with its price."""
    longest = drain.longest
    return {
        "unhurried_seconds": drain.unhurried,
        "seconds_left": drain.seconds_left,
        "longest_idle_seconds": longest.seconds if longest else None,
        "longest_idle_source": longest.source if longest else None,
        "live_ages": drain.live_ages,
        "log_seconds": drain.log_seconds,
        "silent_seconds": drain.silent_seconds,
        "thin": drain.thin,
        "gaps": list(drain.gaps),
        "hidden_above_seconds": drain.hidden_above,
        "most_cuts_per_day": drain.most_cuts_per_day,
        "replay": [_candidate(row) for row in drain.rows],
    }


def _candidate(row: Replayed) -> dict[str, Any]:
    first = row.by[0] if row.by else None
    return {
        "timeout_seconds": row.timeout,
        "cut": row.cut,
        "cut_per_day": row.cut_per_day,
        "most_cut_per_day": row.most_cut_per_day,
        "undecided": row.undecided,
        "exempt": row.exempt,
        "first_client": first.client if first else None,
        "first_account": first.account if first else None,
        "closed_unused": row.unused,
        "closes_by_seconds": row.latest,
        "peak": row.peak,
        "freed_seconds": row.freed_seconds,
        "held_seconds": row.held_seconds,
    }
