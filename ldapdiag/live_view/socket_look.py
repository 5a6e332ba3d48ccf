"""The sockets of both ends between two diagnoses: their tables as a diagnosis joins them, by client of one server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.pairing.socket_ends import socket_ends
from ldapdiag.live_view.judged import by_client, rows_of_server
from ldapdiag.report.as_json import directions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.pairing.direction import Direction
    from ldapdiag.analysis.pairing.pairing import Pairing
    from ldapdiag.analysis.pairing.socket_ends import SocketEnds
    from ldapdiag.evidence.bundle import Gap
    from ldapdiag.live_view.judged import BothEnds


class SocketLook:
    """One reading of the tables of all hosts."""

    def __init__(
        self, pairings: Sequence[Pairing], hosts: Sequence[Host], servers: int, gaps: Sequence[Gap], seconds: float
    ) -> None:
        """`servers`: how many there are; `gaps`: the hosts that showed no sockets; `seconds` of a core spent."""
        self.gaps = gaps
        self.seconds = seconds
        self._pairings = {one.server: one for one in pairings}
        self._hosts = hosts
        self._servers = servers
        self._rows = directions(pairings)["directions"]
        self._ends: tuple[object, list[SocketEnds]] = None, []

    def clients(
        self, endpoint: tuple[str, int] | str | None, *, is_only: bool
    ) -> tuple[Mapping[str, BothEnds], frozenset[str], str]:
        """Return both ends by client of the server at an endpoint, its names here, and why there are none."""
        rows, why = rows_of_server(self._rows, endpoint, is_alone=is_only and self._servers == 1)
        return by_client(rows), frozenset(one["server"] for one in rows), why

    def directions(self, servers: frozenset[str], client: str) -> list[Direction]:
        """Return what is judged of a client's connections to a server."""
        found = (self._pairings[one] for one in sorted(servers))
        return [one for pairing in found for one in pairing.directions if one.client == client]

    def sockets(self, servers: frozenset[str], client: str) -> list[SocketEnds]:
        """Return a client's connections to a server, those that have been idle for the longest first."""
        if self._ends[0] != (servers, client):  # the screen is drawn each second
            found = [self._pairings[one] for one in sorted(servers)]
            self._ends = (servers, client), [ends for one in found for ends in socket_ends(one, self._hosts, client)]
        return self._ends[1]
