"""The connections of each client at both ends, as plain values: also of those paths that nothing is wrong with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.analysis.pairing.direction import Direction
    from ldapdiag.analysis.pairing.pairing import Pairing

MOST = 200


def directions(pairings: Iterable[Pairing]) -> list[dict[str, Any]]:
    """Return the directions with the most half-open and severed connections first, then those with the most."""
    rows = [_row(pairing.server, direction) for pairing in pairings for direction in pairing.directions]
    rows.sort(key=lambda row: (row["server"], row["endpoint"], row["client"]))
    rows.sort(key=lambda row: (-(row["ghosts"] + row["stranded"] + row["severed"]), -row["server_count"]))
    return rows[:MOST]


def _row(server: str, direction: Direction) -> dict[str, Any]:
    return {
        "server": server,
        "endpoint": direction.server,
        "client": direction.client,
        "client_hosts": list(direction.client_hosts),
        "server_count": direction.server_count,
        "client_count": None if direction.missing is not None else direction.client_count,
        "held": direction.held,
        "live": direction.live,
        "ghosts": direction.ghosts.count,
        "stranded": direction.stranded.count,
        "severed": direction.severed.count,
    }
