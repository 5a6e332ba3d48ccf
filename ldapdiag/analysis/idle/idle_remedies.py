"""Idle remedies: drain, cure, tidy and exempt, in this order, with the commands of the server's own family.

drain: an idle timeout that closes the ghosts. cure: keepalive probes within the middlebox's timeout, so that no new
ones come. tidy: an idle timeout below the middlebox's. exempt: replication accounts (docs/how-it-decides.md, "What to
set").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance, facts_of, merge_settings
from ldapdiag.analysis.idle.advice import IdleAdvice
from ldapdiag.analysis.idle.bounds import IdleBounds
from ldapdiag.analysis.idle.drain_choice import SHORTEST
from ldapdiag.analysis.idle.drain_sentences import probe_price, timeout_price
from ldapdiag.analysis.idle.keepalive import GhostLifetime
from ldapdiag.analysis.pairing.drop_style import Style
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.analysis.pairing.proof import proof_of
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.remedy import Remedy, RemedyKind, Where, alternative
from ldapdiag.servers.client_settings.choosing import client_settings, software_of
from ldapdiag.servers.haproxy import limit_idle_time, probe_clients
from ldapdiag.servers.host_remedies import (
    advise_idle_timeout,
    close_ghosts,
    kernel_keepalive,
    raise_box_timeout,
    set_client_keepalive,
)
from ldapdiag.servers.kernel import CONNTRACK_ESTABLISHED, KEEPALIVE_TIME

FIREWALL_FACTOR = 4
"""A middlebox's timeout should be at least this many times the longest idle time of a live connection."""

SHORTEST_FIREWALL_TIMEOUT = 3600
"""Seconds."""


def idle_remedies(  # noqa: PLR0913  the kinds of evidence that choose remedies
    server: Instance,
    lifetime: GhostLifetime,
    advice: IdleAdvice,
    bounds: IdleBounds | None,
    pairing: Pairing | None = None,
    kernels: tuple[KernelSettings, ...] = (),
    *,
    hosts: tuple[Host, ...] = (),
    exhausted: bool = False,
) -> Iterator[Remedy]:
    """Yield the remedies, each with its risk. An `exhausted` server accepts no LDIF until connections are closed."""
    drain = list(_drain(server, lifetime, advice, pairing))
    yield from sorted(drain, key=lambda remedy: exhausted and remedy.kind is RemedyKind.LDIF)
    yield from _cure(server, lifetime, advice, pairing, kernels)
    yield from _settings_of_clients(server, lifetime, advice, pairing, hosts)
    yield from _tidy(server, lifetime, advice, bounds)
    yield from _exempt(server)


def _drain(server: Instance, lifetime: GhostLifetime, advice: IdleAdvice, pairing: Pairing | None) -> Iterator[Remedy]:
    current, seconds = lifetime.idle_timeout_seconds, advice.recommended_seconds
    if lifetime.proxy and current and current < SHORTEST:
        yield _step("raise", _limit_at_proxy(server, seconds))
        return
    if current and current <= seconds:
        return  # the present timeout drains already
    if lifetime.proxy:
        yield _step("drain", _limit_at_proxy(server, seconds))
        return
    if server.product is None:
        yield _step("drain", advise_idle_timeout(server.name, seconds, str(server.identity or "")))
        return
    remedy = server.product.remedies.set_idle_timeout(server.address, seconds, current, server.version)
    yield _step("drain", server.address.adapt(_priced(remedy, timeout_price(advice.drain, seconds))))
    if pairing is not None and server.product.idle_enforcement.at(server.version).reaches_open_connections is not True:
        yield from _close_proven(server, pairing)


def _limit_at_proxy(server: Instance, seconds: int) -> Remedy:
    """Return the setting of an HAProxy, or advice for a proxy whose settings are not known."""
    if server.proxy in {"proxy", "haproxy"}:
        return limit_idle_time(server.name, seconds)
    return advise_idle_timeout(server.name, seconds, server.proxy, "proxy")


def _close_proven(server: Instance, pairing: Pairing) -> Iterator[Remedy]:
    """Yield commands that close exactly the proven ghosts: a new idle timeout does not reach open connections."""
    for direction in pairing.directions:
        if direction.ghosts.ports and proof_of(direction).degree == "certain":
            closing = close_ghosts(server.name, direction.server_port, direction.client, direction.ghosts.ports)
            if closing is not None:
                yield _step("drain", closing)


def _cure(
    server: Instance,
    lifetime: GhostLifetime,
    advice: IdleAdvice,
    pairing: Pairing | None,
    kernels: tuple[KernelSettings, ...],
) -> Iterator[Remedy]:
    """Yield earlier keepalive probes at the server, and at each client host with ghosts: either end is enough."""
    if lifetime.proxy:
        if advice.ghosts:  # probes find clients that are gone; they prolong no idle timeout of a proxy
            yield _step("cure", probe_clients(server.name))
        return
    seconds, current = advice.keepalive_seconds, lifetime.keepalive_seconds
    if seconds is None or (current is not None and current <= seconds):
        return
    if server.product is not None:
        remedy = server.address.adapt(
            server.product.remedies.set_keepalive(server.address, seconds, current, server.version)
        )
    else:
        remedy = kernel_keepalive(server.host, seconds, current, where=Where.SERVER)
    yield _step("cure", _priced(remedy, probe_price(seconds, server.established)))
    for remedy in _cure_at_clients(server, seconds, pairing, kernels):
        yield alternative(remedy)  # probes from either end are enough


def _cure_at_clients(
    server: Instance, seconds: int, pairing: Pairing | None, kernels: tuple[KernelSettings, ...]
) -> Iterator[Remedy]:
    for client in _clients_with_ghosts(server, pairing):
        kernel = merge_settings(facts_of(kernels, client))
        current = kernel.number(KEEPALIVE_TIME) if kernel else None
        if current is None or current > seconds:
            yield _step("cure", set_client_keepalive(client, seconds, current))


def _clients_with_ghosts(server: Instance, pairing: Pairing | None) -> list[str]:
    """Return the hosts whose connections a middlebox drops; those behind a translation are not known."""
    with_ghosts = [
        direction
        for direction in (pairing.directions if pairing else ())
        if direction.ghosts.count and not direction.path.translated_by and direction.style is not Style.CLIENT_GONE
    ]
    return sorted({name for direction in with_ghosts for name in direction.client_hosts} - {server.host})


def _settings_of_clients(
    server: Instance,
    lifetime: GhostLifetime,
    advice: IdleAdvice,
    pairing: Pairing | None,
    hosts: tuple[Host, ...],
) -> Iterator[Remedy]:
    """Yield the settings of the client software that a client's table shows; the finding has the command for others."""
    timeout = min(lifetime.idle_timeout_seconds or advice.recommended_seconds, advice.recommended_seconds)
    for client in _clients_with_ghosts(server, pairing):
        programs = {program for host in hosts if host.host == client for program in _programs(host, server.ports)}
        if software_of(programs):
            for remedy in client_settings(timeout, advice.keepalive_seconds, programs, client=client):
                yield _step("at clients", remedy)


def _programs(host: Host, ports: frozenset[int]) -> Iterator[str]:
    """Yield the programs of a client that own connections to these ports."""
    table = host.latest.sockets if host.latest else None
    if table is not None and table.owner:
        rows = zip(table.remote_port, table.local_port, table.owner, strict=True)
        yield from (owner for remote, local, owner in rows if owner and remote in ports and local not in ports)


def _tidy(server: Instance, lifetime: GhostLifetime, advice: IdleAdvice, bounds: IdleBounds | None) -> Iterator[Remedy]:
    """Yield an idle timeout below the middlebox's; if that is too short for pools, a longer one at the middlebox."""
    path = bounds.soonest_cause if bounds else None
    current, seconds = lifetime.idle_timeout_seconds, advice.tidy_seconds
    if (
        seconds is None
        or path is None
        or min(current or advice.recommended_seconds, advice.recommended_seconds) <= seconds
    ):
        return  # unknown, or tidy already: by the present timeout or by the drain value
    if advice.tidy_unsafe:
        wanted = max(SHORTEST_FIREWALL_TIMEOUT, int(FIREWALL_FACTOR * (advice.longest_idle_seconds or 0)))
        linux = path.middlebox is not None and path.source.startswith(CONNTRACK_ESTABLISHED.rpartition(".")[2])
        longer = raise_box_timeout(path.middlebox or "the middlebox", wanted, int(path.upper_seconds or 0), linux=linux)
        live = "in the evidence are idle for longer" if advice.tidy_cuts_live else "in pools may be idle for longer"
        why = (
            f"An idle timeout below the middlebox's ({seconds} s) would show clients the close, but it is unsafe: "
            f"live connections {live}."
        )
        yield _step("tidy", replace(longer, changes=f"{longer.changes} {why}"))
    elif server.product is not None:
        remedy = server.product.remedies.set_idle_timeout(server.address, seconds, current, server.version)
        yield _step("tidy", server.address.adapt(_priced(remedy, timeout_price(advice.drain, seconds))))


def _exempt(server: Instance) -> Iterator[Remedy]:
    """Yield how to exempt the replication accounts that are not exempt already."""
    if server.configuration is None or server.product is None:
        return
    exempt = {dn.casefold() for dn, seconds in server.configuration.idle_exemptions if seconds < 0}
    accounts = tuple(dn for dn in server.configuration.replication_accounts if dn.casefold() not in exempt)
    if accounts:
        remedy = server.product.remedies.exempt_from_idle_timeout(server.address, accounts)
        if remedy is not None:
            yield _step("exempt", server.address.adapt(remedy))


def _step(step: str, remedy: Remedy) -> Remedy:
    return replace(remedy, title=f"{step}: {remedy.title[0].lower()}{remedy.title[1:]}")


def _priced(remedy: Remedy, price: str) -> Remedy:
    return replace(remedy, risk=f"{remedy.risk} {price}".rstrip())
