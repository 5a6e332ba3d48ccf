"""ClientKeepalive: whether the clients of a path send their keepalive probes within the middlebox's timeout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.hosts.instances import facts_of, merge_settings
from ldapdiag.analysis.idle.bounds import network
from ldapdiag.servers.kernel import KEEPALIVE_TIME
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ldapdiag.analysis.idle.bounds import PathBounds
    from ldapdiag.analysis.pairing.direction import Direction
    from ldapdiag.analysis.pairing.pairing import Pairing
    from ldapdiag.evidence.host_facts import KernelSettings


NAMED = 3
"""Clients that a sentence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientKeepalive:
    """The keepalive of one client's sockets to the server."""

    client: str
    """Its host, or its address."""
    kernel_seconds: int | None
    """The time of its host's kernel, which applies unless the application sets one; None: not collected."""
    in_time: bool
    """Its sockets show that probes were sent within half of the middlebox's timeout."""

    @property
    def observed(self) -> dict[str, Any]:
        """Return the observed values (docs/contract.md)."""
        return {"client": self.client, "kernel_seconds": self.kernel_seconds, "in_time": self.in_time}

    @property
    def text(self) -> str:
        """Return it as a clause."""
        if self.in_time:
            return f"{self.client} sends probes in time"
        time = f" (its kernel's time is {self.kernel_seconds} s)" if self.kernel_seconds else ""
        return f"{self.client} was not seen to send probes in time{time}"


def client_keepalives(
    pairing: Pairing | None, path: PathBounds, kernels: Iterable[KernelSettings]
) -> tuple[ClientKeepalive, ...]:
    """Return the keepalive of each client on a path that has live connections."""
    if pairing is None or not path.upper_seconds:
        return ()
    known = tuple(kernels)
    on_path = (one for one in pairing.directions if network(one.client) == path.client_network)
    return tuple(_keepalive_of(one, path.upper_seconds / 2, known) for one in on_path if one.server_count)


def all_in_time(clients: Sequence[ClientKeepalive]) -> bool:
    """Return whether every client of a path, of one at least, was seen to send its probes in time."""
    return bool(clients) and all(one.in_time for one in clients)


def clients_sentence(clients: Sequence[ClientKeepalive]) -> Iterator[str]:
    """Yield what the clients' end shows, if any client is known: keepalive at one end is enough."""
    if clients:
        named = [one.text for one in sorted(clients, key=lambda one: (one.in_time, one.client))[:NAMED]]
        more = len(clients) - len(named)
        named += [f"and {counted(more, 'client')} more"] if more else []
        yield f"At the other end, {'; '.join(named)}."


def _keepalive_of(direction: Direction, half: float, kernels: Sequence[KernelSettings]) -> ClientKeepalive:
    """Return the keepalive of one client.

    In time: no socket was without a packet for longer than half of the timeout, although the server had received no
    data on one of them for longer than that. So the packets were probes: the server's own are later than that.
    """
    times = direction.idle_times
    seen = times.all_probed is not None and times.all_probed <= half < max(times.matched, default=0.0)
    client = " or ".join(direction.client_hosts) or direction.client
    (host,) = direction.client_hosts if len(direction.client_hosts) == 1 else ("",)
    kernel = merge_settings(facts_of(kernels, host)) if host else None
    return ClientKeepalive(
        client=client,
        kernel_seconds=kernel.number(KEEPALIVE_TIME) if kernel else None,
        in_time=seen and direction.held == direction.server_count,
    )
