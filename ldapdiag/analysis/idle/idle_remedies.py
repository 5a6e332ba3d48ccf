"""Treatments for ghosts: drain, cure, tidy, in this order, as remedies of the server's own family."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ldapdiag.analysis.hosts.instances import Instance, facts_of, merge_settings
from ldapdiag.analysis.idle.advice import IdleAdvice
from ldapdiag.analysis.idle.bounds import IdleBounds
from ldapdiag.analysis.idle.keepalive import GhostLifetime
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.analysis.pairing.proof import proof_of
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.remedy import Remedy, RemedyKind, Where
from ldapdiag.servers.haproxy import limit_idle_time, probe_clients
from ldapdiag.servers.host_remedies import (
    advise_idle_timeout,
    close_ghosts,
    kernel_keepalive,
    raise_box_timeout,
    set_client_keepalive,
)
from ldapdiag.servers.kernel import KEEPALIVE_TIME

FIREWALL_FACTOR = 4
"""A box should remember at least this many times the longest rest of a living connection."""

SHORTEST_FIREWALL_TIMEOUT = 3600


def idle_remedies(
    server: Instance,
    lifetime: GhostLifetime,
    advice: IdleAdvice,
    bounds: IdleBounds | None,
    pairing: Pairing | None = None,
    kernels: tuple[KernelSettings, ...] = (),
    *,
    exhausted: bool = False,
) -> Iterator[Remedy]:
    """Yield what to do, each with its price. An `exhausted` server takes no LDIF before some connections are closed."""
    drain = list(_drain(server, lifetime, advice, pairing))
    yield from sorted(drain, key=lambda remedy: exhausted and remedy.kind is RemedyKind.LDIF)
    yield from _cure(server, lifetime, advice, pairing, kernels)
    yield from _tidy(server, lifetime, advice, bounds)
    yield from _exempt(server)


def _drain(server: Instance, lifetime: GhostLifetime, advice: IdleAdvice, pairing: Pairing | None) -> Iterator[Remedy]:
    current, seconds = lifetime.idle_timeout_seconds, advice.recommended_seconds
    if current and current <= seconds:
        return  # what is set drains already
    if lifetime.proxy:
        yield _named("drain", limit_idle_time(server.host, seconds))
        return
    if server.product is None:
        yield _named("drain", advise_idle_timeout(server.host, seconds, str(server.identity or "")))
        return
    yield _named("drain", server.product.remedies.set_idle_timeout(server.host, seconds, current, server.version))
    if (
        pairing is not None
        and server.product.defaults.idle_timeout_reaches_open_connections.at(server.version) is not True
    ):
        yield from _close_proven(server, pairing)


def _close_proven(server: Instance, pairing: Pairing) -> Iterator[Remedy]:
    """Yield commands that close exactly the proven ghosts: a new idle timeout does not reach connections open now."""
    for direction in pairing.directions:
        if direction.ghost_ports and proof_of(direction).degree == "certain":
            closing = close_ghosts(server.host, direction.server_port, direction.client, direction.ghost_ports)
            if closing is not None:
                yield _named("drain", closing)


def _cure(
    server: Instance,
    lifetime: GhostLifetime,
    advice: IdleAdvice,
    pairing: Pairing | None,
    kernels: tuple[KernelSettings, ...],
) -> Iterator[Remedy]:
    """Yield keepalive in time at the server, and at each host whose connections died: either end's is enough."""
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
    directions = pairing.directions if pairing else ()
    clients = {name for one in directions if one.ghosts and not one.translated_by for name in one.client_hosts}
    for client in sorted(clients - {server.host}):
        kernel = merge_settings(facts_of(kernels, client))
        its_time = kernel.number(KEEPALIVE_TIME) if kernel else None
        if its_time is None or its_time > seconds:
            yield _named("or cure", set_client_keepalive(client, seconds, its_time))


def _tidy(server: Instance, lifetime: GhostLifetime, advice: IdleAdvice, bounds: IdleBounds | None) -> Iterator[Remedy]:
    tightest = bounds.soonest_silent_drop if bounds else None
    current = lifetime.idle_timeout_seconds
    if advice.tidy_seconds is None or tightest is None or (current and current <= advice.tidy_seconds):
        return  # unknown, or tidy already
    if advice.tidy_unsafe:
        wanted = max(SHORTEST_FIREWALL_TIMEOUT, int(FIREWALL_FACTOR * (advice.longest_idle_seconds or 0)))
        longer = raise_box_timeout(
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
        yield _named(
            "tidy",
            server.product.remedies.set_idle_timeout(server.host, advice.tidy_seconds, current, server.version),
        )


def _exempt(server: Instance) -> Iterator[Remedy]:
    """Yield how to spare the accounts that replicate, but for those that are spared already."""
    if server.configuration is None or server.product is None:
        return
    spared = {dn.casefold() for dn, seconds in server.configuration.idle_exemptions if seconds < 0}
    accounts = tuple(dn for dn in server.configuration.replication_accounts if dn.casefold() not in spared)
    if accounts:
        remedy = server.product.remedies.exempt_from_idle_timeout(server.host, accounts)
        if remedy is not None:
            yield _named("exempt", remedy)


def _named(step: str, remedy: Remedy) -> Remedy:
    return replace(remedy, title=f"{step}: {remedy.title[0].lower()}{remedy.title[1:]}")
