"""Story: what the path and the server do to resting connections, in sentences for a person."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ldapdiag.analysis.pairing.direction import Direction, Join
from ldapdiag.analysis.pairing.drop_style import Style
from ldapdiag.analysis.pairing.proof import proof_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.analysis.hosts.instances import Instance
    from ldapdiag.analysis.idle.advice import IdleAdvice
    from ldapdiag.analysis.idle.bounds import IdleBounds


def client_names(direction: Direction) -> str:
    """Return the hosts at the client's end, or its address when none was read."""
    return " and ".join(direction.client_hosts) or direction.client


def reason_list(counted: Mapping[str, int]) -> str:
    """Return counts with their reasons, as in '8 (opened meanwhile); 2 (closing)'."""
    return "; ".join(f"{count} ({reason})" for reason, count in counted.items())


def ghost_sentences(
    direction: Direction, server: str, bounds: IdleBounds | None, owners: Mapping[str, int] | None
) -> Iterator[str]:
    """Yield what became of a direction's connections, whose they are, and how that is known."""
    yield _of_style(direction, server)
    path = bounds.of(direction.client) if bounds else None
    if path is not None and path.upper_seconds is not None:
        yield f"{'Its proxy closes both ends' if path.tells else 'The path forgets'} after {path.words}: {path.source}."
    if owners and len(owners) == 1:
        yield f"All {direction.ghosts} belong to {next(iter(owners))}."
    elif owners:
        yield f"They belong to {', '.join(f'{account} ({count})' for account, count in owners.items())}."
    if direction.join is not Join.FOUR_TUPLE:
        key = f"{direction.join.words} ({direction.join})"
        between = f"{direction.translated_by} stands between ({direction.path.words})"
        yield f"{between}: the ends were joined by {key}."
    yield proof_of(direction).because
    if direction.skew_excluded:
        yield f"Not churn: {'; '.join(direction.skew_excluded)}."
    if direction.unproven:
        yield f"Not counted: {reason_list(direction.unproven)}."


def _of_style(direction: Direction, server: str) -> str:
    """Return what parted the ends, and how that is known."""
    clients = client_names(direction)
    match direction.style:
        case Style.SILENT_DROP:
            return (
                f"Something between {clients} and {server} forgets idle connections and tells nobody (silent drop: "
                f"{' and '.join(_signs(direction))})."
            )
        case Style.RESET_TO_CLIENT:
            return (
                f"Something between {clients} and {server} ends connections with a reset to the client and tells the "
                f"server nothing: {clients} has received {direction.client_host.resets} resets since it booted, and "
                f"ended {direction.client_host.given_up} connections alone."
            )
        case Style.CLIENT_GONE:
            booted = direction.client_host.booted
            return (
                f"{clients} crashed, or lost its network, and booted at {booted:%F %T} UTC: it took its connections "
                f"with it, and {server} was never told."
            )
        case Style.UNKNOWN:
            return f"Whether packets from {clients} to {server} are dropped silently or answered by a reset is unknown."


def idle_sentences(server: Instance, advice: IdleAdvice, bounds: IdleBounds | None) -> Iterator[str]:
    """Yield how long connections may rest on the path, do rest, and whom the server's idle timeout spares."""
    yield from path_sentences(bounds)
    if advice.longest_rest is not None:
        yield f"The longest rest of a living connection so far is {advice.longest_rest:.0f} s ({advice.rest_source})."
    elif advice.would_cut_living is not None:
        yield "How long living connections rest is unknown: none is left."
    else:
        yield "How long living connections rest is unknown: no table shows ages (ss -i)."
    if advice.hurried:
        yield "The drain value is short: at the measured growth the descriptors run out before a longer one acts."
    if server.product is not None:
        yield server.product.defaults.exemption
        if why := server.product.defaults.idle_timeout_ignored.at(server.version):
            yield f"Whatever is set, {why}."
        if server.product.defaults.enforces_idle_only_under_activity.at(server.version):
            yield (
                "This version closes idle connections only while others are active (389-ds-base issue 6004, fixed in "
                "December 2023): on a quiet night it closes none."
            )


def path_sentences(bounds: IdleBounds | None) -> Iterator[str]:
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
    if not (direction.probing or direction.leftovers):
        alone = direction.client_host.given_up
        yield f"{client_names(direction)} has ended {alone} connections alone, and had few resets"
