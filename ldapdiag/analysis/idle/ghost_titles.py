"""Titles of findings about a direction's ghosts, and the counts of a direction without any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.idle.sentences import client_names
from ldapdiag.analysis.pairing.direction import JoinKey, PathKind

if TYPE_CHECKING:
    from ldapdiag.analysis.pairing.direction import Direction


def live_counts(direction: Direction, server: str) -> str:
    """Return how many connections of a direction both ends hold, and how many of these are live, as a clause."""
    closing = f", and {direction.closing:,} opening or closing at that moment" if direction.closing else ""
    if direction.path.kind is PathKind.PROXY and direction.join is JoinKey.BOX_TABLE:
        where = f"carried by {direction.path.translated_by}"
    else:
        where = f"held at both ends{_live(direction)}"
    unproven = sum(direction.severed.unproven.values())
    unanswered = direction.severed.count + unproven
    others = f", {unanswered:,} more severed or not judged (see severed-connections)" if unanswered else ""
    return f"{direction.server_count:,} at {server}, {direction.held - unproven:,} of them {where}{others}{closing}"


def _live(direction: Direction) -> str:
    """Return how many of the connections held at both ends are known to be live."""
    if not direction.live:
        return ""
    return " and live" if direction.live >= direction.held else f" ({direction.live:,} live)"


def ghost_title(direction: Direction) -> str:
    """Return the title of a finding about ghosts."""
    ghosts = direction.ghosts.count
    share, exist = _share(ghosts, direction.server_count), "exists" if ghosts == 1 else "exist"
    if direction.path.kind is PathKind.PROXY and direction.join is JoinKey.BOX_TABLE:
        return f"{share} from {direction.client} no longer {exist} on {direction.path.translated_by}, a proxy"
    if direction.join is JoinKey.BOX_TABLE:
        nat = f"the NAT ({direction.path.translated_by})"
        have = "has" if ghosts == 1 else "have"
        return f"{share} from {direction.client} no longer {have} a client behind {nat}"
    where = client_names(direction)
    return f"{share} from {where} no longer {exist} on {where}"


def possible_title(direction: Direction) -> str:
    """Return the title of a finding about connections that nothing proves dead."""
    where = client_names(direction)
    share = _share(len(direction.ghosts.possible_ports), direction.server_count)
    return f"{share} from {where} may no longer exist on {where}"


def _share(part: int, count: int) -> str:
    if part != count:
        return f"{part:,} of the {count:,} connections"
    return "The only connection" if count == 1 else f"All {count:,} connections"
