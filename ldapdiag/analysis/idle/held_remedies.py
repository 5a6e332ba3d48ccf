"""Remedies for connections that a proxy keeps unused: at the application, at the proxy, and by an idle timeout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.remedy import alternative
from ldapdiag.servers.client_advice import close_at_end_of_file
from ldapdiag.servers.closing_remedies import close_ghosts
from ldapdiag.servers.forwarding_programs import probe_clients_of
from ldapdiag.servers.haproxy import limit_half_closed, limit_idle_time, probe_clients

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.idle.advice import IdleAdvice
    from ldapdiag.analysis.pairing.direction import Direction, ProxyLegs
    from ldapdiag.remedy import Remedy


def held_remedies(
    direction: Direction, legs: ProxyLegs, server: str, advice: IdleAdvice | None, *, certain: bool
) -> Iterator[Remedy]:
    """Yield what ends these connections: now, where each is `certain`; the settings reach later ones only."""
    if certain and legs.orphaned.ports:
        endpoint = direction.server_address, direction.server_port
        closing = close_ghosts(server, endpoint, direction.client, legs.orphaned.ports)
        if closing is not None:
            yield closing
    for client in sorted({one.host or one.address for one in legs.unclosed}):
        yield close_at_end_of_file(client, server)
    if legs.program and legs.program != "haproxy":
        if legs.orphaned.count:
            yield probe_clients_of(legs.program, legs.proxy, direction.server_port)
        return
    if legs.unclosed:
        yield alternative(limit_half_closed(legs.proxy))
    if legs.orphaned.count:
        yield probe_clients(legs.proxy)
        if advice is not None:
            yield alternative(limit_idle_time(legs.proxy, advice.recommended_seconds))
