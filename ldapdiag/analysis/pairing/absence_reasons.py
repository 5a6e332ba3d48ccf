"""Sparing absent rows that something else than death explains: a box, a container, a doubtful or damaged table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import UNKNOWN_PORT
from ldapdiag.evidence.sockets import TcpState
from ldapdiag.servers.kernel import IP_FORWARD

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.pairing.classification import Classified
    from ldapdiag.analysis.pairing.direction import UnjoinedDirection
    from ldapdiag.analysis.pairing.flow_tables import Box
    from ldapdiag.analysis.pairing.socket_index import ClientIndex

HALF = "only one of /proc/net/tcp and /proc/net/tcp6 was read"


def spare_carried(ends: UnjoinedDirection, rows: Classified, boxes: Iterable[Box], client: str) -> None:
    """Spare rows that a box still holds: they live where the client's table does not look, or are just closing."""
    absent = []
    for row in rows.absent:
        key = ends.key_of(row)
        holders = [box for box in boxes if key in box.flows]
        if any(box.carries(key) for box in holders):
            rows.unproven[
                f"{holders[0].host} still carries them, so they may live where {client}'s table does not look "
                "(a container, a zone)"
            ] += 1
        elif holders:
            rows.closing += 1
        else:
            absent.append(row)
    rows.absent = absent


def spare_wavering(ends: UnjoinedDirection, rows: Classified) -> None:
    """Spare rows that one telling of the server's table shows and another does not."""
    if not (wavering := ends.look.inconsistent):
        return
    steady = [row for row in rows.absent if ends.key_of(row) not in wavering]
    if spared := len(rows.absent) - len(steady):
        rows.unproven["not in every telling of the server's table: opened or closed while it was taken"] += spared
    rows.absent = steady


def spare_strays(ends: UnjoinedDirection, rows: Classified, strays: Collection[int]) -> None:
    """Spare rows whose port another host has open towards the server, under an address that the server does not see."""
    ports = ends.look.sockets.remote_port
    kept = [row for row in rows.absent if ports[row] not in strays]
    if spared := len(rows.absent) - len(kept):
        rows.unproven[f"another host has them open from the same ports, so {ends.client} may stand in for it"] += spared
        rows.spared = frozenset(ports[row] for row in rows.absent) & frozenset(strays)
    rows.absent = kept


def spare_hidden(rows: Classified, client: Host) -> None:
    """Spare absent rows that may live in a network namespace of the client's machine that could not be read.

    Not those that a box, or unanswered probes, prove dead.
    """
    hidden = hidden_namespaces(client)
    if not (hidden and rows.absent):
        return
    dead = [row for row in rows.absent if row in rows.dead]
    if spared := len(rows.absent) - len(dead):
        rows.unproven[f"{hidden}: they may live there (read it as root, or with --sudo)"] += spared
    rows.absent = dead


def hidden_namespaces(client: Host) -> str | None:
    """Return which network namespaces of a client's machine were not read; None when there is no sign of any."""
    description = client.description
    if description is None or description.namespaces_unread == 0:
        return None
    if description.namespaces_unread:
        return f"{description.namespaces_unread} other network namespaces of {client.host} could not be read"
    if client.kernel is not None and client.kernel.number(IP_FORWARD):
        return (
            f"{client.host} forwards packets, as a host of containers does, and its other network namespaces are unread"
        )
    return None


def spare_stateless(rows: Classified, near: ClientIndex) -> None:
    """Spare absent rows when the client's table shows sockets of one state, which need not be the established ones."""
    states = near.table.state
    if rows.absent and TcpState.UNKNOWN in states and TcpState.ESTABLISHED not in states:
        rows.unproven["the client's table shows one state, and not which: take it with ss -tan"] += len(rows.absent)
        rows.absent = []


def spare_half(ends: UnjoinedDirection, rows: Classified, near: ClientIndex) -> None:
    """Spare absent rows when only one of /proc/net/tcp and tcp6 was read, and the other may hold all of them."""
    if rows.absent and not rows.matched and not near.look.covers(ends.client):
        rows.unproven[f"{HALF}, and its programs' sockets may be in the other"] += len(rows.absent)
        rows.absent = []


def spare_unreadable(rows: Classified, near: ClientIndex) -> None:
    """Spare absent rows when the client's table has as many lines that nobody could read."""
    if 0 < len(rows.absent) <= near.look.unreadable:
        reason = f"{near.look.unreadable} lines of the client's table could not be read: they may be there"
        rows.unproven[reason] += len(rows.absent)
        rows.absent = []


def spare_cut(ends: UnjoinedDirection, rows: Classified, near: ClientIndex) -> None:
    """Spare absent rows when the client's table cuts ports of connections to this server: they may be there."""
    if not near.table.ports_truncated or not rows.absent:
        return
    address, _, client = ends.way
    elsewhere = (address, UNKNOWN_PORT, client)
    if near.unnamed.get(ends.way) or near.unnamed.get(elsewhere) or elsewhere in near.sockets:
        rows.unproven["the client's table cuts ports (take it without -A): they may be there"] += len(rows.absent)
        rows.absent = []
