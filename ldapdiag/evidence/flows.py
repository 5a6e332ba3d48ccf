"""FlowTable and BoxTimeouts: the flows a middlebox keeps state for, and its idle timeouts."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ldapdiag.evidence.sockets import Key

SHOW_SESS_ALL = "echo 'show sess all' | socat stdio /run/haproxy/admin.sock"


class Relay(StrEnum):
    """How a middlebox forwards connections."""

    NAT = "nat"
    """It forwards the packets of one connection, and may translate their addresses."""
    PROXY = "proxy"
    """It terminates the client's connection and opens one to the server: two legs, either of which can fail alone."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FlowTable:
    """The TCP flows in the table of a middlebox, as columns of equal length.

    `client` is the flow as the client's socket table shows it (client address, port, destination address, port),
    `server` as the server's socket table shows it (server address, port, peer address, port). They differ where the
    middlebox translates addresses, and where it is a proxy, which has one leg to each end.

    The destination is `*` and UNKNOWN_PORT where the table does not contain it. `server` is None where the table does
    not contain the server side (HAProxy's `show sess`), or where there is none (a session not connected, an F5 flow not
    forwarded): such a flow shows which clients are served, and joins no server socket.
    """

    kind: ClassVar[str] = "flow-table"
    how: ClassVar[str] = (
        "on the middlebox, as root: conntrack -L > conntrack.txt; "
        f"HAProxy: {SHOW_SESS_ALL} > show-sess-all.txt; F5: tmsh show sys connection > f5.txt"
    )

    origin: Origin
    client: Sequence[Key]
    server: Sequence[Key | None]
    state: Sequence[str]
    """As the middlebox names it (nf_conntrack_proto_tcp): ESTABLISHED, TIME_WAIT… ESTABLISHED: it forwards the flow."""
    seconds_left: Sequence[float | None]
    """Seconds until the middlebox drops the entry if no packet passes; None: not shown."""
    idle_seconds: Sequence[float | None] | None = None
    """Seconds since the last packet; None: not shown."""
    tool: str = "conntrack"
    """The source of the table: conntrack, haproxy, f5."""
    relay: Relay = Relay.NAT
    tracks: bool = True
    """False: it has no flow, and nothing shows that packets pass through its connection tracking."""
    whole: bool = True
    """False: flows are known to be missing from the text, so an absent flow proves nothing."""

    def __len__(self) -> int:
        return len(self.state)

    def __repr__(self) -> str:
        return f"<{len(self)} flows of {self.tool}, from {self.origin.path}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackingCounters:
    """The counters of a Linux host's connection tracking since it booted, by the names of conntrack -S."""

    kind: ClassVar[str] = "tracking-counters"
    how: ClassVar[str] = "on the middlebox, as root: conntrack -S > conntrack-S.txt"

    origin: Origin
    values: Mapping[str, int]

    @property
    def in_use(self) -> bool:
        """Return whether packets have passed through it: of a host without a rule that uses it, all are 0."""
        return any(self.values.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceTimeout:
    """The idle timeout of one service of a middlebox, in seconds."""

    name: str
    """The setting as configured: 'timeout client of ldap_in'."""
    seconds: float
    servers: frozenset[tuple[str, int]] = frozenset()
    """Address and port of the servers behind the service; empty: unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxTimeouts:
    """The idle timeouts configured on a middlebox: for each service the one that expires first."""

    kind: ClassVar[str] = "box-timeouts"
    how: ClassVar[str] = "HAProxy: its haproxy.cfg; F5: tmsh list ltm profile tcp idle-timeout > f5-profiles.txt"

    origin: Origin
    services: Sequence[ServiceTimeout]
    relay: Relay = Relay.NAT
    ports: frozenset[int] = frozenset()
    """Ports on which a proxy accepts connections; empty: unknown."""
