"""Idle remedies: drain, limit, cure, tidy and exempt, in this order, with the commands of the server's own family.

drain: what frees the descriptors of ghosts now. limit: an idle timeout that closes later ones. cure: keepalive probes
within the middlebox's timeout, so that no new ones come. tidy: an idle timeout below the middlebox's. exempt:
replication accounts (docs/how-it-decides.md, "What to set").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance, facts_of, merge_settings
from ldapdiag.analysis.idle.advice import IdleAdvice
from ldapdiag.analysis.idle.bounds import IdleBounds
from ldapdiag.analysis.idle.drain_remedies import drain_remedies, priced, step
from ldapdiag.analysis.idle.keepalive import GhostLifetime
from ldapdiag.analysis.idle.sentences import probe_price, timeout_price
from ldapdiag.analysis.pairing.drop_style import Style
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.remedy import Remedy, Where, alternative
from ldapdiag.servers.client_settings.choosing import client_settings, software_of
from ldapdiag.servers.haproxy import probe_clients
from ldapdiag.servers.host_remedies import kernel_keepalive, raise_box_timeout, set_client_keepalive
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
    all_exempt: bool = False,
) -> Iterator[Remedy]:
    """Yield the remedies, each with its risk; `exhausted` and `all_exempt` as in drain_remedies."""
    directions = pairing.directions if pairing else ()
    yield from drain_remedies(server, lifetime, advice, directions, hosts, exhausted=exhausted, all_exempt=all_exempt)
    yield from cure_remedies(server, lifetime, advice, pairing, kernels)
    yield from _settings_of_clients(server, lifetime, advice, pairing, hosts)
    yield from _tidy(server, lifetime, advice, bounds)
    yield from _exempt(server)


def cure_remedies(
    server: Instance,
    lifetime: GhostLifetime,
    advice: IdleAdvice,
    pairing: Pairing | None,
    kernels: tuple[KernelSettings, ...],
) -> Iterator[Remedy]:
    """Yield earlier keepalive probes at the server, and at each client host with ghosts: either end is enough."""
    if lifetime.proxy:
        if advice.ghosts:  # probes find clients that are gone; they prolong no idle timeout of a proxy
            yield step("cure", probe_clients(server.name))
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
    yield step("cure", priced(remedy, probe_price(seconds, server.established)))
    for remedy in _cure_at_clients(server, seconds, pairing, kernels):
        yield alternative(remedy)  # probes from either end are enough


def _cure_at_clients(
    server: Instance, seconds: int, pairing: Pairing | None, kernels: tuple[KernelSettings, ...]
) -> Iterator[Remedy]:
    for client in _clients_with_ghosts(server, pairing):
        kernel = merge_settings(facts_of(kernels, client))
        current = kernel.number(KEEPALIVE_TIME) if kernel else None
        if current is None or current > seconds:
            yield step("cure", set_client_keepalive(client, seconds, current))


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
                yield step("at clients", remedy)


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
        yield step("tidy", replace(longer, changes=f"{longer.changes} {why}"))
    elif server.product is not None:
        remedy = server.product.remedies.set_idle_timeout(server.address, seconds, current, server.version)
        yield step("tidy", server.address.adapt(priced(remedy, timeout_price(advice.drain, seconds))))


def _exempt(server: Instance) -> Iterator[Remedy]:
    """Yield how to exempt the replication accounts that are not exempt already."""
    if server.configuration is None or server.product is None:
        return
    exempt = {dn.casefold() for dn, seconds in server.configuration.idle_exemptions if seconds < 0}
    accounts = tuple(dn for dn in server.configuration.replication_accounts if dn.casefold() not in exempt)
    if accounts:
        remedy = server.product.remedies.exempt_from_idle_timeout(server.address, accounts)
        if remedy is not None:
            yield step("exempt", server.address.adapt(remedy))
