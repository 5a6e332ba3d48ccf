"""Story: what the path does to connections, in sentences for a person."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ldapdiag.analysis.direction import Direction, Join, Style
from ldapdiag.analysis.proof import proof_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.analysis.idle import IdleBounds


def clients_of(direction: Direction) -> str:
    """Return the hosts at the client's end, or its address when none was read."""
    return " and ".join(direction.client_hosts) or direction.client


def reasons(counted: Mapping[str, int]) -> str:
    """Return counts with their reasons, as in '8 (opened meanwhile); 2 (closing)'."""
    return "; ".join(f"{count} ({reason})" for reason, count in counted.items())


def of_ghosts(
    direction: Direction, server: str, bounds: IdleBounds | None, owners: Mapping[str, int] | None
) -> Iterator[str]:
    """Yield what became of a direction's connections, whose they are, and how that is known."""
    clients = clients_of(direction)
    if direction.style is Style.SILENT_DROP:
        yield (
            f"Something between {clients} and {server} forgets idle connections and tells nobody (silent drop: "
            f"{' and '.join(_signs(direction))})."
        )
    else:
        yield f"Whether packets between {clients} and {server} are dropped silently or answered by a reset is unknown."
    path = bounds.of(direction.client) if bounds else None
    if path is not None and path.upper_seconds is not None:
        yield f"{'Its proxy closes both ends' if path.tells else 'It forgets'} after {path.words}: {path.source}."
    if owners and len(owners) == 1:
        yield f"All {direction.ghosts} belong to {next(iter(owners))}."
    elif owners:
        yield f"They belong to {', '.join(f'{account} ({count})' for account, count in owners.items())}."
    if direction.join is not Join.FOUR_TUPLE:
        between = f"{direction.translated_by} stands between ({direction.path.words})"
        yield f"The ends were joined by {direction.join}; {between}."
    yield proof_of(direction).because
    if direction.skew_excluded:
        yield f"Not churn: {'; '.join(direction.skew_excluded)}."
    if direction.unproven:
        yield f"Not counted: {reasons(direction.unproven)}."


def of_paths(bounds: IdleBounds | None) -> Iterator[str]:
    """Yield after how long the paths forget; paths of which the same is known are one."""
    alike: dict[tuple[str, str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for path in bounds.paths if bounds else ():
        if path.lower_seconds is not None or path.upper_seconds is not None:
            ends = "is closed by a proxy at both ends" if path.tells else "forgets"
            alike[ends, path.words, path.source, path.suspects].append(path.client_network)
    for (ends, words, source, suspects), networks in alike.items():
        guess = f", the default of {' and '.join(suspects)}" if suspects else ""
        yield f"The path from {' and '.join(networks)} {ends} after {words}{guess}: {source}."


def _signs(direction: Direction) -> Iterator[str]:
    if direction.probing:
        yield f"{direction.probing} have keepalive probes that nobody answers"
    if direction.leftovers:
        yield f"{direction.leftovers} clients still retransmit their last packet"
