"""Drain remedies: what frees the descriptors of ghosts now, and the idle timeout, by which connections it reaches.

Ghosts that are certain are closed one by one. Those that are not are proven first, or a restart has its price. The idle
timeout itself drains only where the product says that it reaches open connections. No server is restarted first whose
present timeout ends them in time.
"""

from __future__ import annotations

import re
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from ldapdiag.analysis.idle.beyond_limit import limit_of
from ldapdiag.analysis.idle.drain_choice import SHORTEST
from ldapdiag.analysis.idle.sentences import timeout_price
from ldapdiag.analysis.log.spellings import folded_dn
from ldapdiag.analysis.pairing.proof import proof_of
from ldapdiag.remedy import Where, alternative
from ldapdiag.servers.closing_remedies import close_ghosts, prove_dead, restart_server, wait_for_close
from ldapdiag.servers.haproxy import limit_idle_time
from ldapdiag.servers.host_remedies import advise_idle_timeout

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.hosts.instances import Instance
    from ldapdiag.analysis.idle.advice import IdleAdvice
    from ldapdiag.analysis.idle.keepalive import GhostLifetime
    from ldapdiag.analysis.load.accounts import Accounts
    from ldapdiag.analysis.pairing.direction import Direction
    from ldapdiag.remedy import Remedy

LINUX = re.compile(r"Linux (\d+)\.(\d+)")
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
    all_exempt: bool = False,
) -> Iterator[Remedy]:
    """Yield what frees descriptors now, then the idle timeout.

    An `exhausted` server accepts no command until connections are closed. `all_exempt`: no timeout applies to the
    accounts of its ghosts.
    """
    setting = None if all_exempt else _setting(server, lifetime, advice)
    drains = reaches_open(server)
    if not drains or exhausted:
        yield from close_now(server, lifetime, advice, directions, hosts, may_wait=not (exhausted or all_exempt))
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
    owners = [accounts.of_ghost_connections(one) or {} for one in directions if one.ghosts.count]
    return sum(count for of in owners for dn, count in of.items() if folded_dn(dn.encode()) in exempt)


def close_now(
    server: Instance,
    lifetime: GhostLifetime,
    advice: IdleAdvice,
    directions: Sequence[Direction],
    hosts: Sequence[Host],
    *,
    may_wait: bool,
) -> Iterator[Remedy]:
    """Yield commands that close exactly the proven ghosts, and what proves the others.

    Where no command closes all: to wait for the present timeout, if that ends in time. Last a restart.
    """
    host = next((one for one in hosts if one.host == server.host), None)
    found = [one for one in directions if one.ghosts.count or one.ghosts.possible_ports]
    if not found:
        return
    frees = [_free(one, server, host) for one in sorted(found, key=lambda one: -one.ghosts.count)]
    yield from (one for one in frees if one is not None)
    are_closed = all(one is not None and one.where is Where.SERVER for one in frees)
    waits = _wait_for_close(server, lifetime, advice, found) if may_wait and not are_closed else None
    if waits is not None:
        yield alternative(waits) if any(frees) else waits
    command, every = server.product.remedies.RESTART if server.product else "", server.established or 0
    restart = restart_server(server.name, command, every, max(0, every - advice.ghosts))
    restart = step("drain", server.address.adapt(restart))
    yield alternative(restart) if any(frees) or waits is not None else restart


def _wait_for_close(
    server: Instance, lifetime: GhostLifetime, advice: IdleAdvice, found: Sequence[Direction]
) -> Remedy | None:
    """Return that the present timeout ends ghosts, and when; None if it does not, or not before descriptors run out."""
    seconds, enforcement = lifetime.seconds, server.idle_enforcement
    by_timeout = seconds == lifetime.idle_timeout_seconds
    if seconds is None or (by_timeout and enforcement.needs_activity):
        return None
    latest = enforcement.latest(seconds) if by_timeout else seconds
    ages = [age for one in found for age in one.idle_times.ghosts]
    if max(ages, default=0.0) > limit_of(server, seconds, enforcement).closes_by:
        return None  # it would have ended that one
    if advice.drain.seconds_left is not None and advice.drain.seconds_left < (latest or seconds):
        return None
    return step("drain", wait_for_close(server.name, seconds, latest, by_timeout=by_timeout))


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
