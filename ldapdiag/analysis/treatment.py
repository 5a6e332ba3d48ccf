"""Treatments for ghosts: drain, cure, tidy, in this order, as remedies of the server's own family."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ldapdiag.analysis.advice import IdleAdvice
from ldapdiag.analysis.idle import IdleBounds
from ldapdiag.analysis.keepalive import GhostLifetime
from ldapdiag.analysis.pairing import Pairing
from ldapdiag.analysis.proof import proof_of
from ldapdiag.analysis.servers import DirectoryServer
from ldapdiag.remedy import Kind, Remedy, Where
from ldapdiag.servers.haproxy import limit_rest, probe_clients
from ldapdiag.servers.host_remedies import close_ghosts, kernel_keepalive, lengthen_box_timeout

LONGER = 4
"""A box should remember at least this many times the longest rest of a living connection."""

SHORTEST_REMEMBERED = 3600


def treatments(
    server: DirectoryServer,
    lifetime: GhostLifetime,
    advice: IdleAdvice,
    bounds: IdleBounds | None,
    pairing: Pairing | None = None,
) -> Iterator[Remedy]:
    """Yield what to do, each with its price."""
    yield from _drain(server, lifetime, advice, pairing)
    yield from _cure(server, lifetime, advice)
    yield from _tidy(server, lifetime, advice, bounds)
    yield from _exempt(server)


def _drain(
    server: DirectoryServer, lifetime: GhostLifetime, advice: IdleAdvice, pairing: Pairing | None
) -> Iterator[Remedy]:
    current, seconds = lifetime.idle_timeout_seconds, advice.recommended_seconds
    if current and current <= seconds:
        return  # what is set drains already
    if lifetime.proxy:
        yield _named("drain", limit_rest(server.host, seconds))
        return
    if server.product is None:
        yield _named(
            "drain",
            Remedy(
                title=f"Set the server's idle timeout to {seconds} s",
                target=server.host,
                where=Where.SERVER,
                kind=Kind.ADVICE,
                text=f"Set the directory's idle timeout to {seconds} s (the evidence does not name the product).",
                changes="Connections that rest longer are closed, dead ones among them.",
                risk="A pool that rests longer must open a new connection.",
                undo="Restore the former value.",
                verify="The number of established connections falls.",
            ),
        )
        return
    yield _named("drain", server.product.remedies.set_idle_timeout(server.host, seconds, current, server.version))
    if (
        pairing is not None
        and server.product.defaults.idle_timeout_reaches_open_connections(server.version) is not True
    ):
        yield from _close_proven(server, pairing)


def _close_proven(server: DirectoryServer, pairing: Pairing) -> Iterator[Remedy]:
    """Yield commands that close exactly the proven ghosts: a new idle timeout does not reach connections open now."""
    for direction in pairing.directions:
        if direction.ghost_ports and proof_of(direction).degree == "certain":
            closing = close_ghosts(server.host, direction.server_port, direction.client, direction.ghost_ports)
            if closing is not None:
                yield _named("drain", closing)


def _cure(server: DirectoryServer, lifetime: GhostLifetime, advice: IdleAdvice) -> Iterator[Remedy]:
    if lifetime.proxy:
        yield _named("cure", probe_clients(server.host))
        return
    seconds, current = advice.keepalive_seconds, lifetime.keepalive_seconds
    if seconds is None or (current is not None and current <= seconds):
        return
    if server.product is not None:
        yield _named("cure", server.product.remedies.set_keepalive(server.host, seconds, current, server.version))
    else:
        yield _named("cure", kernel_keepalive(server.host, seconds, current, where=Where.SERVER))


def _tidy(
    server: DirectoryServer, lifetime: GhostLifetime, advice: IdleAdvice, bounds: IdleBounds | None
) -> Iterator[Remedy]:
    tightest = bounds.forgetting if bounds else None
    if advice.tidy_seconds is None or tightest is None:
        return
    if advice.tidy_unsafe:
        wanted = max(SHORTEST_REMEMBERED, int(LONGER * (advice.longest_rest or 0)))
        longer = lengthen_box_timeout(
            tightest.box or "the box", wanted, int(tightest.upper_seconds or 0), linux=tightest.box is not None
        )
        yield _named(
            "tidy",
            replace(
                longer,
                changes=f"{longer.changes} An idle timeout below the box's ({advice.tidy_seconds} s) would let clients "
                "see the close, but is unsafe for a pool that rests now and then.",
            ),
        )
    elif server.product is not None:
        current = lifetime.idle_timeout_seconds
        yield _named(
            "tidy",
            server.product.remedies.set_idle_timeout(server.host, advice.tidy_seconds, current, server.version),
        )


def _exempt(server: DirectoryServer) -> Iterator[Remedy]:
    accounts = server.configuration.replication_accounts if server.configuration else ()
    if accounts and server.product is not None:
        remedy = server.product.remedies.exempt_from_idle_timeout(server.host, accounts)
        if remedy is not None:
            yield _named("exempt", remedy)


def _named(step: str, remedy: Remedy) -> Remedy:
    return replace(remedy, title=f"{step}: {remedy.title[0].lower()}{remedy.title[1:]}")
