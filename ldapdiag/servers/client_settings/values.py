"""ClientValues: what a client must set, by the server's idle timeout and the keepalive that the firewall demands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where

if TYPE_CHECKING:
    from collections.abc import Callable

SHOW_SOCKETS = "ss -tnpo state established '( dport = :389 or dport = :636 )'"
KEEPALIVE_INTERVAL = 10
KEEPALIVE_PROBES = 3
CONNECT_TIMEOUT = 10
ANSWER_TIMEOUT = 30
"""Seconds that a client waits for a connection, and for an answer: longer than any healthy server takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientValues:
    """Seconds by which a client must have closed, checked or probed an idle connection. One of the two is known."""

    client: str
    """The name of the client's host."""
    server_idle_seconds: int | None
    """The idle timeout of the server. None: it has none, or it is not known."""
    keepalive_seconds: int | None
    """At most half of the firewall's idle timeout. None: there is no firewall, or its timeout is not known."""

    @property
    def longest_idle(self) -> int:
        """Return how long a connection may be idle before its client uses it no more: half of each timeout.

        Half: so that a request is on its way while the server still accepts it, although sweeps of pools are coarse.
        Keepalive of some other connection does not help this one, so the firewall's timeout counts, too.
        """
        limits = [self.server_idle_seconds // 2] if self.server_idle_seconds else []
        limits += [self.keepalive_seconds] if self.keepalive_seconds else []
        return max(2, min(limits))

    @property
    def within_half(self) -> int:
        """Return half of it, for pools that close an idle connection only after twice their limit."""
        return self.longest_idle // 2

    @property
    def probe_seconds(self) -> int:
        """Return the keepalive time: by the firewall where it is known, else as often as a connection may be idle."""
        return self.keepalive_seconds or self.longest_idle

    @property
    def probe_interval(self) -> int:
        """Return the seconds between two probes without an answer."""
        return min(KEEPALIVE_INTERVAL, self.probe_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSoftware:
    """One client library or program, and its remedy."""

    name: str
    programs: frozenset[str]
    """The names of processes that use it."""
    setting: str
    """Its decisive setting, by name."""
    source: str
    """By what its settings are known: measured with a version, or its documentation."""
    remedy: Callable[[ClientValues], Remedy]


def client_remedy(values: ClientValues, software: str, *, text: str, changes: str, risk: str, undo: str) -> Remedy:
    """Return the remedy of one client software, which takes effect when its programs are started again."""
    return Remedy(
        title=f"Set the idle time of connections in {software}",
        target=values.client,
        where=Where.CLIENT,
        kind=RemedyKind.CONFIG,
        text=text,
        changes=changes,
        risk=risk,
        undo=undo,
        verify=SHOW_SOCKETS,
        needs=Needs.RESTART,
    )
