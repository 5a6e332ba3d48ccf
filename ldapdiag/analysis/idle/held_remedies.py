"""Remedies for connections that a proxy keeps unused: at the application, at the proxy, and by an idle timeout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.remedy import alternative
from ldapdiag.servers.client_advice import close_at_end_of_file
from ldapdiag.servers.forwarding_programs import probe_clients_of
from ldapdiag.servers.haproxy import limit_half_closed, limit_idle_time, probe_clients

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.idle.advice import IdleAdvice
    from ldapdiag.analysis.pairing.direction import ProxyLegs
    from ldapdiag.remedy import Remedy


def held_remedies(legs: ProxyLegs, server: str, port: int, advice: IdleAdvice | None) -> Iterator[Remedy]:
    """Yield what ends these connections, those that an application does not close first."""
    for client in sorted({one.host or one.address for one in legs.unclosed}):
        yield close_at_end_of_file(client, server)
    if legs.program and legs.program != "haproxy":
        if legs.orphaned.count:
            yield probe_clients_of(legs.program, legs.proxy, port)
        return
    if legs.unclosed:
        yield alternative(limit_half_closed(legs.proxy))
    if legs.orphaned.count:
        yield probe_clients(legs.proxy)
        if advice is not None:
            yield alternative(limit_idle_time(legs.proxy, advice.recommended_seconds))
