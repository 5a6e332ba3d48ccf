"""Clients behind a NAT that are gone: rows that the NAT still carries for a client whose table lacks them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import column_seconds
from ldapdiag.analysis.pairing.client_age import booted_since
from ldapdiag.analysis.pairing.client_history import rows_before
from ldapdiag.analysis.pairing.direction import IDLE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ldapdiag.analysis.pairing.socket_index import ClientSnapshots
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection


def rows_of_gone_clients(unjoined: UnjoinedDirection, carried: Mapping[int, ClientSnapshots]) -> frozenset[int]:
    """Return the rows that received their last segment before their client's host booted: nothing there has them."""
    rows_of: dict[str, list[int]] = defaultdict(list)
    hosts = {client.host.host: client.host for client in carried.values()}
    for row, client in carried.items():
        rows_of[client.host.host].append(row)
    gone: set[int] = set()
    for name, host in hosts.items():
        booted = booted_since(host)
        if booted is not None and not booted.assumed:
            gone |= rows_before(unjoined.snapshot, rows_of[name], booted)
    return frozenset(gone)


def possible_ports_behind_nat(unjoined: UnjoinedDirection, rows: Iterable[int]) -> tuple[int, ...]:
    """Return the ports of rows that have been idle for so long that churn explains none of them."""
    table = unjoined.table
    ages = ((row, column_seconds(table.last_received, row)) for row in rows)
    return tuple(sorted(table.remote_port[row] for row, age in ages if age is not None and age > IDLE_SECONDS))
