"""What a box between the hosts says: the connections it keeps state for, and after which rest it ends them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.evidence.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.sockets import Key

SHOW_SESS_ALL = "echo 'show sess all' | socat stdio /run/haproxy/admin.sock"


class Relay(StrEnum):
    """What a box does with the connections it carries."""

    NAT = "nat"
    """Forwards packets of one connection, and may change their addresses."""
    PROXY = "proxy"
    """Ends the client's connection, and makes one of its own to the server: two legs, and either may die alone."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FlowTable:
    """The TCP flows in a box's own table, as columns.

    `client` holds the flow as the client's host writes it (client ip, port, address dialled, port), `server` as the
    server's host writes it (server ip, port, peer seen, port). They differ where the box translates addresses, and
    where it is a proxy, which has a leg to either end.

    A telling that leaves out what the client dialled has `*` and UNKNOWN_PORT there. Where the server's side is left
    out (HAProxy's `show sess`), or there is none (a session not connected, an F5 flow not forwarded), `server` is None:
    such a flow tells whom the box serves, and joins nothing.
    """

    kind: ClassVar[str] = "flow-table"
    how: ClassVar[str] = (
        "on the box between them, as root: conntrack -L > conntrack.txt; "
        f"of HAProxy: {SHOW_SESS_ALL} > show-sess-all.txt; of F5: tmsh show sys connection > f5.txt"
    )

    origin: Origin
    client: Sequence[Key]
    server: Sequence[Key | None]
    state: Sequence[str]
    """The box's word for the state: ESTABLISHED, TIME_WAIT… (nf_conntrack_proto_tcp). ESTABLISHED is a flow carried."""
    seconds_left: Sequence[float | None]
    """Until the box forgets the flow, if nothing passes."""
    idle_seconds: Sequence[float | None] | None = None
    """Since anything passed, where the box tells."""
    tool: str = "conntrack"
    """Which box told it: conntrack, haproxy, f5."""
    relay: Relay = Relay.NAT
    whole: bool = True
    """False: the text says itself that flows are missing, so what it lacks proves nothing."""

    def __len__(self) -> int:
        return len(self.state)

    def __repr__(self) -> str:
        return f"<{len(self)} flows told by {self.tool}, from {self.origin.path}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceTimeout:
    """After how many seconds of rest a box ends the connections of one of its services."""

    name: str
    """The setting, as its configuration writes it: 'timeout client of ldap_in'."""
    seconds: float
    servers: frozenset[tuple[str, int]] = frozenset()
    """Address and port of the servers behind the service; empty: not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxTimeouts:
    """The idle timeouts in a box's own settings: of each service the one that ends a connection first."""

    kind: ClassVar[str] = "box-timeouts"
    how: ClassVar[str] = "on the box: haproxy.cfg, or of F5: tmsh list ltm profile tcp idle-timeout > f5-profiles.txt"

    origin: Origin
    services: Sequence[ServiceTimeout]
    relay: Relay = Relay.NAT
