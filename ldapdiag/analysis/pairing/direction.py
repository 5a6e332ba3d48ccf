"""Direction: all connections between one client address and one server endpoint, joined at both ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from ldapdiag.analysis.pairing.carriers import Carriers
from ldapdiag.analysis.pairing.drop_style import NO_EVIDENCE, GhostEvidence, Style, style_of
from ldapdiag.analysis.pairing.samples import SampledConnection
from ldapdiag.evidence.addresses import endpoint
from ldapdiag.evidence.bundle import Missing
from ldapdiag.lazy_dataclass import dataclass

IDLE_SECONDS = 60
"""A live connection whose idle time is longer counts as idle (docs/contract.md, unreleased-connections)."""


class JoinKey(StrEnum):
    """The key by which both ends were joined, strongest first."""

    FOUR_TUPLE = "4-tuple"
    CLIENT_ENDPOINT = "client-endpoint"
    BOX_TABLE = "box-table"

    @property
    def description(self) -> str:
        """Return the key in prose."""
        return {
            "4-tuple": "both addresses and ports",
            "client-endpoint": "the client's address and port",
            "box-table": "the flow table of the middlebox",
        }[self.value]


class PathKind(StrEnum):
    """What the path does to addresses."""

    DIRECT = "direct"
    NAT = "nat"
    PROXY = "proxy"

    @property
    def description(self) -> str:
        """Return the kind of middlebox in prose."""
        return {"direct": "no middlebox", "nat": "NAT", "proxy": "a proxy"}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfOpen:
    """Half-open connections (RFC 9293, section 3.5.1): established at one end and absent at the other."""

    count: int = 0
    ports: tuple[int, ...] | None = ()
    """Their client ports (of proxy legs, the proxy's ports); None when their number is known but not which they are."""
    unproven: Mapping[str, int] = field(default_factory=dict)
    """Absent connections that are not counted, by the reason that excludes them."""
    reasons: tuple[str, ...] = ()
    """Why those counted are not churn."""
    possible_ports: tuple[int, ...] = ()
    """Client ports of unproven ones that churn does not explain either (pairing/possible_ghosts.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Severed:
    """Connections of both ends, or of the server if the client was not read, without an entry at a middlebox."""

    ports: tuple[int, ...] = ()
    """Their ports at the client."""
    rows: frozenset[int] = frozenset()
    """Their rows in the server's table."""
    unproven: Mapping[str, int] = field(default_factory=dict)
    """Connections without an entry that are not counted, by the reason."""
    unanswered: int = 0
    """Those of them of which an end has unanswered segments or keepalive probes."""
    unanswered_ports: tuple[int, ...] = ()
    """Where none is proven: the client ports of those whose packets are unanswered again and again."""
    none_works: bool = False
    """None of the other connections has received anything since packets of those are unanswered."""
    middlebox: str = ""
    carries_path: bool = False
    """The middlebox has entries for other connections of this path; otherwise only the routes lead through it."""
    is_whole: bool = False
    """Its flow table is known to be whole, because ldapdiag or its script took it."""
    is_timed: bool = False
    """The times of the flow table and of the socket tables are known."""
    is_on_both_routes: bool = False
    """The routes of both ends lead through the middlebox."""
    drops_by_rule: bool = False
    """Its rules drop a packet of a connection without an entry; else that is concluded from its settings, or seen."""
    lacks_rules: bool = False
    """Nothing shows what its rules do with such a packet."""
    passed: int = 0
    """Connections without an entry that are not severed, because its rules pass their next packet."""
    kept_seconds: float | None = None
    """The longest time left of an established entry there: it does not drop entries that were idle for less."""
    idle_seconds: tuple[float, ...] = ()
    """For how long each had been idle when the flow table was taken, ascending; empty where no table shows ages."""

    @property
    def count(self) -> int:
        """Return how many connections are severed."""
        return len(self.ports)

    @property
    def expired_seconds(self) -> float | None:
        """Return the shortest idle time after which the middlebox had no entry; None when it lost them otherwise.

        A restart, a failover or a full table takes entries of any age: younger ones than it keeps otherwise.
        """
        if not self.idle_seconds or self.kept_seconds is None or self.idle_seconds[0] < self.kept_seconds:
            return None
        return self.idle_seconds[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """The middleboxes between both ends."""

    kind: PathKind = PathKind.DIRECT
    translated_by: str | None = None
    """The middlebox, or the virtual endpoint, that translates addresses or ends connections."""
    middleboxes: tuple[str, ...] = ()
    """The middleboxes whose tables contain connections of this direction, or would contain its live ones."""
    carriers: Carriers = field(default_factory=Carriers)
    """All middleboxes that the direction passes through, by tables and routes."""

    @property
    def boxes(self) -> frozenset[str]:
        """Return all hosts that are middleboxes of this path, by tables or routes."""
        return self.carriers.all.union(self.middleboxes)


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketIdleTimes:
    """TCP idle times of a direction's connections, in seconds; empty where no table shows ages."""

    matched: tuple[float, ...] = ()
    """Of each connection held at both ends, until its snapshot; severed ones are not."""
    listed: tuple[float, ...] | None = None
    """Those of them that each middlebox lists, where it is not judged whether the others are live; None: all are."""
    before_loss: tuple[float, ...] = ()
    """Of each retransmitting connection, until its first unanswered segment was sent (lastrcv - busy)."""
    one_event: bool = False
    """All of those were idle at one moment: a restart or an outage then explains their loss as well as a timeout."""
    ghosts: tuple[float, ...] = ()
    """Of each ghost at the server, until its snapshot."""
    ghosts_of_running_clients: tuple[float, ...] = ()
    """Those of them whose client's host and processes are known to have existed before the last segment arrived."""
    probed: float | None = None
    """The longest time without a packet on the client's sockets that send keepalive probes; None: none does."""
    lost_sooner: bool = False
    """Others that retransmit were lost sooner than a middlebox of the path drops its state."""
    timers_shown: bool = True
    """The client's table shows which of its sockets send probes."""
    all_probed: float | None = None
    """The same, if all of the client's live sockets send probes and its table shows their answers; else None."""

    @property
    def live(self) -> tuple[float, ...]:
        """Return those that count as idle times of live connections."""
        return self.matched if self.listed is None else self.listed


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuality:
    """Limits of the tables that were joined."""

    headerless: bool = False
    """A table has no header, and may be a selection of rows."""
    partial: bool = False
    """The client's table shows the sockets of some programs only."""
    unreadable: int = 0
    """Lines of the client's table that were not understood."""
    of_windows: bool = False
    """The client's table is one that only Windows prints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnclosedLegs:
    """Sessions that a proxy keeps because one application has not closed its end, although the proxy has."""

    address: str
    """The client's."""
    host: str
    """Empty: its table was not read."""
    program: str
    """Empty: unknown."""
    ports: tuple[int, ...]
    """The proxy's ports towards the server."""
    at_both: bool
    """Both the client's table and the proxy's own show the half-closed legs."""

    @property
    def application(self) -> str:
        """Return the application in a few words."""
        return f"{self.program or 'an application'} on {self.host or self.address}"

    @property
    def observed(self) -> dict[str, Any]:
        """Return the observed values (docs/contract.md)."""
        return {
            "host": self.host or None,
            "client": self.address,
            "program": self.program or None,
            "connections": len(self.ports),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyLegs:
    """The client-side legs of the connections that a proxy carries to the server."""

    proxy: str
    sessions: int
    """Sessions whose server-side leg is established at the server."""
    live: int
    """Sessions whose client-side leg is established at its client."""
    orphaned: HalfOpen
    """Sessions whose client is gone; `ports` are the proxy's towards the server."""
    clients: tuple[str, ...]
    """The hosts at which the client-side legs are absent."""
    unclosed: tuple[UnclosedLegs, ...] = ()
    """Sessions that an application does not close, by application."""
    program: str = ""
    """The forwarding program, of which the proxy's socket table shows the sessions; empty: a session table does."""
    absent_at_proxy: bool
    """All client-side legs of the orphaned sessions are absent in the proxy's own socket table, too."""
    headerless: bool
    """A table has no header, and may be a selection of rows."""
    origins: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return the proxy, with its program where that is no proxy by its session table."""
        return f"{self.program} on {self.proxy}" if self.program else self.proxy

    @property
    def held(self) -> int:
        """Return how many connections to the server the proxy keeps for no use."""
        return self.orphaned.count + sum(len(one.ports) for one in self.unclosed)


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
    """Established at both ends, severed ones included."""
    live: int = 0
    """Of those not severed, how many a middlebox lists, or were used within its timeout, or between two snapshots."""
    closing: int = 0
    """Server sockets whose client was closing or opening: present at both ends, in different states."""
    ghosts: HalfOpen = HalfOpen()
    """Established at the server, absent at the client."""
    stranded: HalfOpen = HalfOpen()
    """Established at the client, absent at the server."""
    severed: Severed = field(default_factory=Severed)
    """Established at both ends, without an entry at a middlebox on the path."""
    join: JoinKey = JoinKey.FOUR_TUPLE
    path: Path = Path()
    evidence: GhostEvidence = NO_EVIDENCE
    idle_times: SocketIdleTimes = SocketIdleTimes()
    tables: TableQuality = TableQuality()
    samples: tuple[SampledConnection, ...] = ()
    """A few of the ghosts, as each table shows them; empty where the tables do not name them."""
    proxy_legs: ProxyLegs | None = None
    """Where the evidence contains the session table of a proxy at the client's end."""
    missing: Missing | None = None
    """Why the client's end could not be read; the direction is not judged then."""
    origins: tuple[str, ...] = ()

    @property
    def server(self) -> str:
        """Return the server's endpoint as text."""
        return endpoint(self.server_address, self.server_port)

    @property
    def style(self) -> Style:
        """Return how the ends were separated; unanswered packets of severed connections show that for ghosts, too."""
        style = style_of(self.ghosts.count, self.evidence)
        dropped = self.severed.unanswered and self.evidence.still_carried < self.ghosts.count
        return Style.SILENT_DROP if style is Style.UNKNOWN and dropped else style

    @property
    def held(self) -> int:
        """Return how many connections both ends hold: established at both, and not severed."""
        return self.matched - self.severed.count if self.missing is None else 0

    @property
    def hides_client(self) -> bool:
        """Return whether the client's table shows none of the connections, and that proves nothing of them."""
        return not self.matched and not self.client_count and bool(self.ghosts.unproven)

    @property
    def undecided(self) -> int:
        """Return how many of the server's connections are neither proven dead nor known to be live."""
        if self.missing is not None:
            return max(0, self.server_count - self.severed.count)
        return sum(self.ghosts.unproven.values())

    @property
    def idle_count(self) -> int | None:
        """Return how many live connections have been idle for over IDLE_SECONDS; None when no age is known."""
        if self.held and not self.idle_times.matched:
            return None
        return sum(seconds > IDLE_SECONDS for seconds in self.idle_times.matched)

    @property
    def longest_idle_seconds(self) -> float | None:
        """Return the longest idle time of a live connection."""
        return max(self.idle_times.matched, default=None)

    @property
    def observed(self) -> dict[str, Any]:
        """Return the observed values of a finding about this direction (docs/contract.md)."""
        return {
            "server": self.server,
            "client": self.client,
            "client_hosts": list(self.client_hosts),
            "server_count": self.server_count,
            "client_count": self.client_count,
            "matched": self.matched,
            "pairing": str(self.join),
            "path": str(self.path.kind),
            "style": str(self.style),
        }

    @property
    def key(self) -> str:
        """Return the part of a finding's id that identifies this direction."""
        return f"{self.client}|{self.server}"

    @property
    def subject(self) -> str:
        """Return the direction in one line."""
        return f"{self.client} -> {self.server}"
