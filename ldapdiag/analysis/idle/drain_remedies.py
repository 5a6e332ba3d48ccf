"""Drain remedies: what frees the descriptors of ghosts now, and the idle timeout, by which connections it reaches.

Ghosts that are certain are closed one by one. Those that are not are proven first, or a restart has its price. The idle
timeout itself drains only where the product says that it reaches open connections. No server is restarted first whose
present timeout ends them in time.

Idle remedies: drain, limit, cure, tidy and exempt, in this order, with the commands of the server's own family.

drain: what frees the descriptors of ghosts now. limit: an idle timeout that closes later ones. cure: keepalive probes
within the middlebox's timeout, so that no new ones come. tidy: an idle timeout below the middlebox's. exempt:
replication accounts (docs/how-it-decides.md, "What to set").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance, facts_of, merge_settings
from ldapdiag.analysis.idle.advice import IdleAdvice
from ldapdiag.analysis.idle.beyond_limit import limit_of
from ldapdiag.analysis.idle.bounds import IdleBounds
from ldapdiag.analysis.idle.drain_choice import SHORTEST
from ldapdiag.analysis.idle.keepalive import GhostLifetime
from ldapdiag.analysis.idle.sentences import probe_price, timeout_price
from ldapdiag.analysis.log.spellings import folded_dn
from ldapdiag.analysis.pairing.drop_style import Style
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.analysis.pairing.proof import proof_of
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import Remedy, Where, alternative
from ldapdiag.servers.client_settings.choosing import client_settings, software_of
from ldapdiag.servers.hosts.closing_remedies import (
    close_ghosts,
    prove_dead,
    prove_dead_on_windows,
    restart_server,
    wait_for_close,
)
from ldapdiag.servers.hosts.haproxy import limit_idle_time, probe_clients
from ldapdiag.servers.hosts.host_remedies import (
    advise_idle_timeout,
    kernel_keepalive,
    raise_box_timeout,
    set_client_keepalive,
)
from ldapdiag.servers.hosts.kernel import CONNTRACK_ESTABLISHED, KEEPALIVE_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.analysis.load.accounts import Accounts
    from ldapdiag.analysis.pairing.direction import Direction

LINUX = pattern(r"Linux (\d+)\.(\d+)")
CLOSES_SOCKETS = (4, 5)
"""The first Linux that has INET_DIAG_DESTROY."""


def drain_remedies(
    server: Instance,
    lifetime: GhostLifetime,
    advice: IdleAdvice,
    directions: Sequence[Direction],
    hosts: Sequence[Host],
    *,
    exhausted: bool = False,
    exempt: int = 0,
) -> Iterator[Remedy]:
    """Yield what frees descriptors now, then the idle timeout.

    An `exhausted` server accepts no command until connections are closed. `exempt`: so many of the ghosts belong to
    accounts that no idle timeout applies to.
    """
    all_exempt = 0 < sum(direction.ghosts.count for direction in directions) <= exempt
    setting = None if all_exempt else _setting(server, lifetime, advice)
    drains = reaches_open(server) and not all_exempt
    if not drains or exhausted:
        yield from close_now(server, lifetime, advice, directions, hosts, may_wait=not exhausted, exempt=exempt)
    if setting is not None and lifetime.proxy and (lifetime.idle_timeout_seconds or SHORTEST) < SHORTEST:
        yield step("raise", setting)
    elif setting is not None:
        yield step("drain" if drains and advice.ghosts else "limit", setting)


def reaches_open(server: Instance) -> bool:
    """Return whether a changed idle timeout is known to reach open connections."""
    return not server.proxy and server.idle_enforcement.reaches_open_connections is True


def exempt_ghosts(server: Instance, directions: Sequence[Direction], accounts: Accounts) -> int:
    """Return how many ghosts belong to accounts that no idle timeout applies to, as far as the accounts are known."""
    own = server.configuration.idle_exemptions if server.configuration else ()
    never = {*server.idle_enforcement.exempt, *(dn for dn, seconds in own if seconds <= 0)}
    exempt = {folded_dn(dn.encode()) for dn in never}
    owners = [accounts.of_ghost_connections(direction) or {} for direction in directions if direction.ghosts.count]
    return sum(count for of in owners for dn, count in of.items() if folded_dn(dn.encode()) in exempt)


def close_now(
    server: Instance,
    lifetime: GhostLifetime,
    advice: IdleAdvice,
    directions: Sequence[Direction],
    hosts: Sequence[Host],
    *,
    may_wait: bool,
    exempt: int = 0,
) -> Iterator[Remedy]:
    """Yield commands that close exactly the proven ghosts, and what proves the others.

    Where no command closes all: to wait for the present timeout, if that ends in time. Last a restart. `exempt` as in
    drain_remedies.
    """
    host = next((one for one in hosts if one.host == server.host), None)
    found = [direction for direction in directions if direction.ghosts.count or direction.ghosts.possible_ports]
    if not found:
        return
    frees = [_free(one, server, host) for one in sorted(found, key=lambda one: -one.ghosts.count)]
    yield from (free for free in frees if free is not None)
    are_closed = all(free is not None and free.where is Where.SERVER for free in frees)
    waits = _wait_for_close(server, lifetime, advice, found, exempt) if may_wait and not are_closed else None
    if waits is not None:
        yield alternative(waits) if any(frees) else waits
    command, every = server.product.remedies.restart if server.product else "", server.established or 0
    restart = restart_server(server.name, command, every, max(0, every - advice.ghosts))
    restart = step("drain", server.address.adapt(restart))
    yield alternative(restart) if any(frees) or waits is not None else restart


def _wait_for_close(
    server: Instance, lifetime: GhostLifetime, advice: IdleAdvice, found: Sequence[Direction], exempt: int
) -> Remedy | None:
    """Return that the present timeout ends ghosts, and when; None if it does not, or not before descriptors run out."""
    seconds, enforcement = lifetime.seconds, server.idle_enforcement
    by_timeout = seconds == lifetime.idle_timeout_seconds
    if seconds is None or (by_timeout and enforcement.needs_activity):
        return None
    if by_timeout and 0 < sum(one.ghosts.count for one in found) <= exempt:
        return None
    latest = enforcement.latest(seconds) if by_timeout else seconds
    ages = [age for one in found for age in one.idle_times.ghosts]
    if max(ages, default=0.0) > limit_of(server, seconds, enforcement).closes_by:
        return None  # it would have ended that one
    if advice.drain.seconds_left is not None and advice.drain.seconds_left < (latest or seconds):
        return None
    return step("drain", wait_for_close(server.name, seconds, latest, by_timeout=by_timeout, kept=exempt))


def _free(direction: Direction, server: Instance, host: Host | None) -> Remedy | None:
    """Return the command that closes the ghosts of a direction, or what proves them; None: its host can close none."""
    if proof_of(direction).degree != "certain" or not direction.ghosts.ports:
        return step("prove", proof_to_collect(direction))
    endpoint = direction.server_address, direction.server_port
    closing = close_ghosts(server.name, endpoint, direction.client, direction.ghosts.ports, _seen(host))
    return step("drain", closing) if closing is not None and _can_close(server, host) else None


def proof_to_collect(direction: Direction) -> Remedy:
    """Return what proves absent connections of a direction live or dead."""
    client = next(iter(direction.client_hosts), direction.path.translated_by or direction.client)
    count = direction.ghosts.count or len(direction.ghosts.possible_ports)
    if direction.tables.of_windows:
        return prove_dead_on_windows(client, count)
    return prove_dead(client, count, is_read=bool(direction.client_hosts))


def step(name: str, remedy: Remedy) -> Remedy:
    """Return a remedy with the name of its step before its title."""
    return replace(remedy, title=f"{name}: {remedy.title[0].lower()}{remedy.title[1:]}")


def priced(remedy: Remedy, price: str) -> Remedy:
    """Return a remedy with a price beside its risk."""
    return replace(remedy, risk=f"{remedy.risk} {price}".rstrip())


def _setting(server: Instance, lifetime: GhostLifetime, advice: IdleAdvice) -> Remedy | None:
    """Return the setting of the idle timeout; None where the present one is short enough."""
    current, seconds = lifetime.idle_timeout_seconds, advice.recommended_seconds
    if current and current <= seconds and not (lifetime.proxy and current < SHORTEST):
        return None
    if lifetime.proxy:
        if server.proxy in {"proxy", "haproxy"}:
            return limit_idle_time(server.name, seconds)
        return advise_idle_timeout(server.name, seconds, server.proxy, "proxy")
    if server.product is None:
        return advise_idle_timeout(server.name, seconds, str(server.identity or ""))
    remedy = server.product.remedies.set_idle_timeout(server.address, seconds, current, server.version)
    return server.address.adapt(priced(remedy, timeout_price(advice.drain, seconds)))


def _can_close(server: Instance, host: Host | None) -> bool:
    """Return whether ss may close sockets there, as far as the evidence shows."""
    if server.product is not None and not server.product.on_linux:
        return False
    system = host.description.system if host and host.description else ""
    version = LINUX.match(system)
    return not system or (version is not None and tuple(map(int, version.groups())) >= CLOSES_SOCKETS)


def _seen(host: Host | None) -> int | None:
    """Return when the server's sockets were read, in seconds since 1970 by its own clock; None: unknown."""
    if host is None or host.latest is None or host.latest.taken is None:
        return None
    ahead, described = 0.0, host.description
    if described is not None and described.clock is not None and described.origin.taken is not None:
        ahead = (described.clock - described.origin.taken.start).total_seconds()
    return ceil(host.latest.taken.end.timestamp() + ahead)


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
    exempt: int = 0,
) -> Iterator[Remedy]:
    """Yield the remedies, each with its risk; `exhausted` and `exempt` as in drain_remedies."""
    directions = pairing.directions if pairing else ()
    yield from drain_remedies(server, lifetime, advice, directions, hosts, exhausted=exhausted, exempt=exempt)
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
        held = "held at both ends are" if advice.tidy_cuts_live else "in pools may be"
        why = (
            f"An idle timeout below the middlebox's ({seconds} s) would show clients the close, but it is unsafe: "
            f"connections {held} idle for longer."
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
