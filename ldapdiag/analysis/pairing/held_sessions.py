"""Held sessions in words: what a finding states of the connections that a proxy keeps unused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.pairing.direction import ProxyLegs, UnclosedLegs


def held_title(legs: ProxyLegs, server: str) -> str:
    """Return the title of the finding about a proxy's connections to a server."""
    held = f"{legs.name} keeps {legs.held:,} of {legs.sessions:,} connections to {server}"
    if not legs.unclosed:
        return f"{held} whose client is gone"
    unclosed = legs.held - legs.orphaned.count
    holders = legs.unclosed[0].application if len(legs.unclosed) == 1 else f"{len(legs.unclosed)} applications"
    does = "does" if len(legs.unclosed) == 1 else "do"
    if legs.orphaned.count:
        return f"{held}: {unclosed:,} that {holders} {does} not close, {legs.orphaned.count:,} whose client is gone"
    return f"{held} because {holders} {does} not close"


def held_sentences(legs: ProxyLegs, server: str) -> Iterator[str]:
    """Yield the sentences about sessions that an application does not close, and about those whose client is gone."""
    yield from _unclosed_sentences(legs)
    if legs.orphaned.count:
        yield from _absence_sentences(legs, server)


def _unclosed_sentences(legs: ProxyLegs) -> Iterator[str]:
    for one in legs.unclosed:
        count = counted(len(one.ports), "connection")
        yield f"{one.application} has not closed {count} that {legs.proxy} has closed{_seen(one, legs.proxy)}."
        yield f"{legs.proxy}'s ports towards the server: {', '.join(map(str, one.ports))}."
    if legs.unclosed:
        yield "HAProxy keeps the server-side connection until the client closes, or for timeout client-fin."


def _seen(legs: UnclosedLegs, proxy: str) -> str:
    at_client, at_proxy = f"CLOSE-WAIT at {legs.host}", f"FIN-WAIT-2 at {proxy}"
    if legs.at_both:
        return f" ({at_client}, {at_proxy})"
    return f" ({at_client if legs.host else at_proxy}; the other end's table does not show it)"


def _absence_sentences(legs: ProxyLegs, server: str) -> Iterator[str]:
    clients = " and ".join(legs.clients)
    lack = "lacks" if len(legs.clients) == 1 else "lack"
    legs_of = f"{server} has the server-side legs, {legs.name} has the sessions"
    yield f"{legs_of}, and {clients} {lack} the client-side legs."
    if legs.program:
        yield f"{legs.program} forwards connections of other programs: those of a client that is gone stay open."
    if legs.orphaned.ports is not None:
        yield f"{legs.proxy}'s ports towards {server}: {', '.join(map(str, legs.orphaned.ports))}."
    if legs.absent_at_proxy:
        yield f"The socket table of {legs.proxy} itself lacks the client-side legs."
    else:
        yield f"Not certain: the sockets of a container or zone on {clients} are not in its table."
    if legs.orphaned.reasons:
        yield f"Not churn: {'; '.join(legs.orphaned.reasons)}."
