"""Direction: all connections between one client address and one server endpoint, and what became of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ldapdiag.analysis.hosts.snapshots import Snapshot
from ldapdiag.analysis.pairing.drop_style import NOTHING_TOLD, ClientHost, Style, style_of
from ldapdiag.analysis.pairing.socket_index import ServerIndex, Way
from ldapdiag.evidence.addresses import endpoint
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.sockets import Key

REST_SECONDS = 60
"""A connection idle for longer counts as resting (CONTRACT: unreleased-connections)."""


class Join(StrEnum):
    """What the two ends were joined by, strongest first."""

    FOUR_TUPLE = "4-tuple"
    CLIENT_ENDPOINT = "client-endpoint"
    BOX_TABLE = "box-table"

    @property
    def words(self) -> str:
        """Return the key as a person says it."""
        return {
            "4-tuple": "both addresses and ports",
            "client-endpoint": "the client's address and port",
            "box-table": "the table of what stands between",
        }[self.value]


class PathKind(StrEnum):
    """What the path does to addresses."""

    DIRECT = "direct"
    NAT = "nat"
    PROXY = "proxy"

    @property
    def words(self) -> str:
        """Return what stands between, in a person's words."""
        return {"direct": "nothing", "nat": "NAT", "proxy": "a proxy"}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyLegs:
    """What became of the clients' legs of a direction's connections that a proxy carries."""

    proxy: str
    sessions: int
    """Its sessions whose leg to the server is established at the server."""
    living: int
    """Those that their client's host still has."""
    count: int
    """Those whose client is gone."""
    ports: tuple[int, ...] | None
    """The proxy's ports towards the server of these; None when their number is known and they are not."""
    clients: tuple[str, ...]
    """The hosts that no longer have them."""
    at_proxy: bool
    """Every one of them is gone in the proxy's own socket table, too."""
    selected: bool
    """A table has no header: somebody may have left rows out."""
    unproven: Mapping[str, int]
    because: tuple[str, ...]
    origins: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """All connections between one client address, as the server sees it, and one server endpoint."""

    client: str
    server_address: str
    server_port: int
    client_hosts: tuple[str, ...] = ()
    server_count: int = 0
    """Established at the server."""
    client_count: int | None = None
    """Established at the client."""
    matched: int = 0
    """Established at both ends."""
    join: Join = Join.FOUR_TUPLE
    path: PathKind = PathKind.DIRECT
    translated_by: str | None = None
    """The box, or the virtual address, that stands between."""
    ghosts: int = 0
    ghost_ports: tuple[int, ...] | None = ()
    """Client ports of the ghosts; None when their number is known and they are not."""
    stranded: int = 0
    stranded_ports: tuple[int, ...] | None = ()
    closing: int = 0
    """Server sockets whose client was closing or opening just then: seen on both sides, in different states."""
    unproven: Mapping[str, int] = field(default_factory=dict)
    """Server sockets without a living counterpart that are not claimed as ghosts, by reason."""
    unproven_stranded: Mapping[str, int] = field(default_factory=dict)
    skew_excluded: tuple[str, ...] = ()
    """How coming and going between the tables was excluded, in words."""
    boxes: tuple[str, ...] = ()
    """The boxes whose tables hold connections of this path."""
    box_lacks: int = 0
    """Ghosts that the table of a box on the path does not hold."""
    probing: int = 0
    """Ghosts whose keepalive probes go unanswered."""
    leftovers: int = 0
    """Ghosts whose client has closed and still retransmits: its packets are dropped on the way."""
    outlived: int = 0
    """Ghosts that were last heard of before their client's host booted."""
    client_host: ClientHost = NOTHING_TOLD
    """What the client's host tells of its past; of several hosts nothing."""
    namespaces_read: bool = False
    """Every network namespace of the client's host was read."""
    rests: tuple[float, ...] = ()
    """Seconds that each matched connection has rested so far; empty when no table tells ages."""
    retransmitting_for: tuple[float, ...] = ()
    """Per leftover: seconds its connection had been idle when its first unanswered packet left (lastrcv - busy)."""
    selected: bool = False
    """A table of this pair has no header: somebody may have left rows out."""
    partial: bool = False
    """The client's table shows the sockets of some programs only."""
    unreadable: int = 0
    """Lines of the client's table that were not understood."""
    origins: tuple[str, ...] = ()
    held: ProxyLegs | None = None
    """The clients' legs, where a proxy at the client's end told its sessions."""
    missing: Missing | None = None
    """Why the client's end could not be read; nothing is claimed of this direction then."""

    @property
    def server(self) -> str:
        """Return the server's endpoint as people write it."""
        return endpoint(self.server_address, self.server_port)

    @property
    def style(self) -> Style:
        """Return what parted the ends."""
        return style_of(self)

    @property
    def unread(self) -> int:
        """Return how many of the server's connections nobody can say of whether they are alive."""
        return self.server_count if self.missing is not None else sum(self.unproven.values())

    @property
    def resting(self) -> int | None:
        """Return how many matched connections have rested for more than a minute; None when no age is known."""
        if self.matched and not self.rests:
            return None
        return sum(rest > REST_SECONDS for rest in self.rests)

    @property
    def longest_rest(self) -> float | None:
        """Return for how long the longest idle of the matched connections has rested so far."""
        return max(self.rests, default=None)

    @property
    def observed(self) -> dict[str, Any]:
        """Return what a finding about one direction observes, by the contract's keys."""
        return {
            "server": self.server,
            "client": self.client,
            "client_hosts": list(self.client_hosts),
            "server_count": self.server_count,
            "client_count": self.client_count,
            "matched": self.matched,
            "pairing": str(self.join),
            "path": str(self.path),
            "style": str(self.style),
        }

    @property
    def key(self) -> str:
        """Return what tells this direction from all others, in a finding's id."""
        return f"{self.client}|{self.server}"

    @property
    def subject(self) -> str:
        """Return the direction in one line."""
        return f"{self.client} -> {self.server}"


@dataclass(frozen=True, slots=True)
class UnjoinedDirection:
    """One direction before it is joined: the established rows of the server's look that belong to it."""

    client: str
    server_address: str
    server_port: int
    rows: list[int]
    shown: ServerIndex

    @property
    def look(self) -> Snapshot:
        """Return the server's look that the rows are of."""
        return self.shown.look

    @property
    def way(self) -> Way:
        """Return what all these rows have in common."""
        return self.server_address, self.server_port, self.client

    def key_of(self, row: int) -> Key:
        """Return the key of a row, as the server writes it."""
        return self.server_address, self.server_port, self.client, self.look.sockets.remote_port[row]

    def keys(self) -> Iterator[Key]:
        """Yield the key of each row."""
        return map(self.key_of, self.rows)
