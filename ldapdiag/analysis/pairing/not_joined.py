"""Not joined: why a direction's other end cannot be read, and how to collect it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import is_exact
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.flows import FlowTable, Relay
from ldapdiag.evidence.host_facts import HostDescription
from ldapdiag.evidence.sockets import SS_COMMAND, SocketTable
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.pairing.clients import Clients
    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.socket_index import ClientSnapshots
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection

NAMES = 3
"""Addresses that a reason names."""


def hides_clients(unjoined: UnjoinedDirection, owner: ClientSnapshots, clients: Clients) -> bool:
    """Return whether the table of a peer address's owner does not show the clients of this direction."""
    return _shows_one_program(unjoined, owner) or _translates(unjoined, owner, clients)


def _shows_one_program(unjoined: UnjoinedDirection, owner: ClientSnapshots) -> bool:
    """Return whether server and client share a host, of which only one program's sockets are shown (lsof -p)."""
    return owner.latest.snapshot is unjoined.snapshot and not unjoined.table.shows_all_programs


def _translates(unjoined: UnjoinedDirection, owner: ClientSnapshots, clients: Clients) -> bool:
    """Return whether the owner of a peer address appears to translate for other hosts.

    Other hosts have connections of which the server shows none, and the owner has no connection of its own, or lacks no
    more than they have.
    """
    if owner.latest.table.ports_truncated or unjoined.table.ports_truncated:
        return False  # what appears to be unseen may be there with a truncated port
    if not (unseen := clients.unseen_count(unjoined)):
        return False
    if not owner.directions_to(*unjoined.endpoint):
        return True
    ports = unjoined.table.remote_port
    unexplained = {ports[row] for row in unjoined.rows} - clients.foreign_ports(unjoined, owner)
    return 0 < clients.not_owned(unjoined.client, *unjoined.endpoint, unexplained) <= unseen


def why_unseen(
    unjoined: UnjoinedDirection, server: Host, clients: Clients, middleboxes: tuple[Middlebox, ...]
) -> Missing | None:
    """Return why a client that the server does not show at all may be connected; None if it is not.

    Its address may be translated, or the address that it dials may be another server's.
    """
    if unjoined.server_address not in server.addresses | unjoined.server_index.addresses:
        return Missing(
            reason=f"no evidence shows whether {unjoined.server_address} is an address of {server.host}: its table "
            "contains no connection",
            lacks=(HostDescription.kind,),
            how=HostDescription.how,
        )
    for middlebox in middleboxes:
        if (unjoined.client, *unjoined.endpoint) in middlebox.translated_clients:
            first, more = sorted(middlebox.translated)[:NAMES], len(middlebox.translated) - NAMES
            translated = f"{', '.join(first)} and {more:,} more" if more > 0 else ", ".join(first)
            return Missing(reason=f"{middlebox.host} translates its address: see the connections from {translated}")
    peers = clients.possible_translators(unjoined)
    if not peers:
        return None
    return Missing(
        reason=f"the server shows no connection from {unjoined.client}, but some from {', '.join(peers[:NAMES])} "
        "that no host in the evidence has: its address may be translated",
        lacks=(FlowTable.kind,),
        how=FlowTable.how,
    )


def why_unread(
    unjoined: UnjoinedDirection,
    owner: ClientSnapshots | None,
    clients: Clients,
    middleboxes: tuple[Middlebox, ...],
) -> Missing:
    """Return why the client's end cannot be read, and how to collect it."""
    client, carried = unjoined.client, _carried_by(unjoined, middleboxes)
    if owner is not None and _shows_one_program(unjoined, owner):
        reason = f"the only table of {owner.host.host} shows one program's sockets, not those of its clients there"
        return Missing(reason=reason, lacks=(SocketTable.kind,), how=f"there: {SS_COMMAND}")
    if not (is_exact(client) and is_exact(unjoined.server_address)):
        reason = f"the table truncates this address or shows a name for it{carried}: only ports could be joined"
        return Missing(reason=reason, lacks=(SocketTable.kind,), how=f"take it again: {SS_COMMAND} (or netstat -anW)")
    if owner is not None:
        reason = f"{client} appears to translate the addresses of other hosts{carried}"
        return Missing(reason=reason, lacks=(FlowTable.kind,), how=f"on {client}, as root: conntrack -L")
    if clients.owner_count(client) > 1:
        reason = f"{client} is an address of several hosts, so it does not identify one{carried}"
    else:
        reason = f"no socket table of {client}{carried}"
    return Missing(
        reason=reason,
        lacks=(SocketTable.kind,),
        how=f"on {client}: {SS_COMMAND} (if it translates addresses: conntrack -L)",
    )


def _carried_by(unjoined: UnjoinedDirection, middleboxes: tuple[Middlebox, ...]) -> str:
    """Return, in brackets, what middleboxes show of the connections of a direction."""
    carried = [
        f"{middlebox.host} carries {count} of these {len(unjoined.rows)}"
        for middlebox in middleboxes
        if (count := sum(map(middlebox.carries, unjoined.keys())))
    ]
    proxies = (one for one in middleboxes if one.relay is Relay.PROXY and one.unjoined)
    carried += [f"{middlebox.host} {_sessions(middlebox)}" for middlebox in proxies]
    return f" ({'; '.join(carried)})" if carried else ""


def _sessions(middlebox: Middlebox) -> str:
    """Return, of a proxy whose table lacks the ports towards the server, how many sessions it has, and from whom."""
    clients = Counter(flow.client[0] for flow in middlebox.unjoined)
    named = ", ".join(f"{address} ({count})" for address, count in clients.most_common(3))
    more = ", …" if len(clients) > 3 else ""
    return (
        f"is a proxy with {counted(len(middlebox.unjoined), 'session')}, from {named}{more}; its table does not show "
        "which of them lead here (show sess all does), so only counts can be compared"
    )
