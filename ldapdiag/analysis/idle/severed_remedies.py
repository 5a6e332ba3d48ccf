"""Severed remedies: replace the dead connections at both ends, and keep the middlebox from losing more of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.idle.sentences import client_names
from ldapdiag.remedy import alternative
from ldapdiag.servers.closing_remedies import close_at_client, close_ghosts, prove_dead
from ldapdiag.servers.host_remedies import find_drop, find_lost_state, replace_connections, set_client_keepalive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.idle.advice import IdleAdvice
    from ldapdiag.analysis.pairing.direction import Direction
    from ldapdiag.analysis.pairing.proof import Proof
    from ldapdiag.remedy import Remedy


def severed_remedies(direction: Direction, server: str, proof: Proof, advice: IdleAdvice | None) -> Iterator[Remedy]:
    """Yield the remedies for the severed connections of a direction, in order.

    Sockets are closed by command only where each is proven dead.
    """
    severed, clients = direction.severed, client_names(direction)
    replacing = replace_connections(clients, direction.server_address, severed.count)
    unread = direction.missing is not None and direction.server_count > 0
    if unread and proof.degree != "certain":
        proving = prove_dead(direction.client, severed.count, is_read=False)
        yield replace(proving, title=f"prove: {proving.title[0].lower()}{proving.title[1:]}")
        yield replacing
    elif proof.degree == "certain" and not direction.path.translated_by:
        endpoint = direction.server_address, direction.server_port
        # Behind a NAT the server's end of each is not known.
        known = direction.missing is None
        at_client = close_at_client(clients, direction.client if known else "", endpoint, severed.ports)
        at_server = close_ghosts(server, endpoint, direction.client, severed.ports) if known or unread else None
        if at_client is not None:
            yield at_client
            replacing = alternative(replacing)
        yield replacing
        if at_server is not None:
            yield at_server
    else:
        yield replacing
    if severed.expired_seconds is None:
        yield find_lost_state(severed.middlebox)
    elif advice is not None and advice.keepalive_seconds is not None:
        for host in direction.client_hosts:
            yield set_client_keepalive(host, advice.keepalive_seconds)


def unanswered_remedies(direction: Direction) -> Iterator[Remedy]:
    """Yield the remedies for connections whose packets are unanswered, where no middlebox is proven to be the cause."""
    clients, address = client_names(direction), direction.server_address
    yield replace_connections(clients, address, len(direction.severed.unanswered_ports))
    yield find_drop(clients, address, direction.server_port)
