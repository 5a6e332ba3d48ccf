"""Directions joined in memory: a server's tables and a client's become the one direction between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import facts
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.pairing.pairing import Pairing, pair

if TYPE_CHECKING:
    from ldapdiag.analysis.pairing.direction import Direction

OTHERS = facts.row_of_another_service()


def paired(server: Any, *clients: Host, flows: tuple[Any, ...] = ()) -> Pairing:
    ldap = server if isinstance(server, Host) else facts.host("ldap", server)
    pairing = pair(facts.server(), (ldap, *clients), flows)
    assert isinstance(pairing, Pairing)
    return pairing


def joined(server: Any, *client: Any, **kwargs: Any) -> Direction:
    (direction,) = paired(server, facts.host("app1", *client), **kwargs).directions
    return direction
