"""FlowTable: the connections a box between the hosts keeps state for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.evidence.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.sockets import Key


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FlowTable:
    """The TCP flows in a box's own table, as columns.

    `client` holds the flow as the client's host writes it (client ip, port, address dialled, port), `server` as the
    server's host writes it (server ip, port, peer seen, port). They differ where the box translates addresses.
    """

    kind: ClassVar[str] = "flow-table"
    how: ClassVar[str] = "on the box between them, as root: conntrack -L > conntrack.txt"

    origin: Origin
    client: Sequence[Key]
    server: Sequence[Key]
    state: Sequence[str]
    """The box's word for the state: ESTABLISHED, TIME_WAIT… (nf_conntrack_proto_tcp)."""
    seconds_left: Sequence[int | None]
    """Until the box forgets the flow, if nothing passes."""

    def __repr__(self) -> str:
        return f"<{len(self.state)} flows, from {self.origin.path}>"
