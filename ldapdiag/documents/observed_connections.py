"""What the checks of connections observed."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class ConnectionChurn(TypedDict):
    """`connection-churn`: clients that open a connection for nearly every operation.

    Per client.
    """

    client: str | None
    connections: int | None
    median_life_seconds: float | None
    """Upper bound."""
    median_operations: float | None
    """Upper bound."""
    per_second: float | None
    server: str | None


class ConnectionShare(TypedDict):
    """`connection-share`: the server's connections by account and by client.

    Always info.
    """

    by_account: list[dict[str, int | str]] | None
    by_client: list[dict[str, int | str]] | None
    server: str | None


class ConntrackTableFull(TypedDict):
    """`conntrack-table-full`: middleboxes that cannot track another connection."""

    host: str | None
    limit: int | None
    used: int | None


class EphemeralPortExhaustion(TypedDict):
    """`ephemeral-port-exhaustion`: source addresses with hardly a port left for another connection to one server.

    Per source address and server ip:port.
    """

    closed_per_second: float | None
    """In the last minute, by TIME-WAIT."""
    end: Literal["client", "nat", "server"] | None
    host: str | None
    """The host whose table shows it."""
    ports: int | None
    """The ports that it may use."""
    possible_per_second: float | None
    """New connections that the ports suffice for; both null where TIME-WAIT does not count."""
    range: str | None
    range_known: bool | None
    """The host's own setting."""
    server: str | None
    source: str | None
    time_wait: int | None
    """Of the used ones."""
    used: int | None
    """Ports that cannot be chosen for another connection."""


class SampleEnd(TypedDict):
    """A ghost in the table of one end; null: no socket, no entry."""

    host: str
    state: str | None


class SampleAtServer(TypedDict):
    """A ghost in the table of the server."""

    idle_seconds: float | None
    last_received_at: str | None
    state: str
    unanswered_probes: int | None
    """Null: the table does not show it."""


class GhostSample(TypedDict):
    """One of at most 5 ghosts, from the shortest idle to the longest."""

    boxes: list[SampleEnd]
    client: SampleEnd
    client_port: int
    server: SampleAtServer


class IdleAges(TypedDict):
    """Connections by idle time (TCP); a bin contains those from its edge up to the next."""

    box_action: str | None
    edges_seconds: list[float] | None
    """At most 71; narrower up to four times the upper bound of the timeout, where one width would not show it."""
    ghosts: list[int] | None
    live: list[int] | None
    longest_live_seconds: float | None
    lower_seconds: float | None
    upper_seconds: float | None


class GhostConnections(TypedDict):
    """`ghost-connections`: connections established at the server that no longer exist at the client.

    Per address the server sees and server ip:port.
    """

    accounts: dict[str, int] | None
    client: str | None
    client_count: int | None
    client_hosts: list[str] | None
    ghost_client_ports: list[int] | None
    ghost_client_ports_possible: list[int] | None
    """Absent at the client, but an unread namespace may have them; or probes unanswered by a client that was not read;
    without ghosts the confidence is then possible.
    """
    ghost_samples: list[GhostSample] | None
    """At most 5, from the shortest idle time to the longest, as each table shows them."""
    ghosts: int | None
    ghosts_possible: int | None
    idle_ages: IdleAges | None
    """Null where no table shows ages."""
    matched: int | None
    pairing: Literal["4-tuple", "client-endpoint", "box-table"] | None
    path: Literal["direct", "nat", "proxy"] | None
    server: str | None
    server_count: int | None
    style: Literal["silent-drop", "reset-to-client", "client-gone", "unknown"] | None
    unproven: int | None


class UnusedTimeout(TypedDict):
    """A setting of a host that is not known to carry a path."""

    box: str
    """The host."""
    seconds: float


class PathTimeout(TypedDict):
    """The idle timeout on the path of a client network."""

    box: str | None
    """Host whose setting this is, or null."""
    client_network: str
    drop_seen: bool
    """Connections were dropped after that time."""
    loose: bool
    """`upper_seconds` is the idle time of the youngest ghosts, and the timeout may be far below it."""
    lower_seconds: float | None
    """Observed; null of a setting after whose time no drop was seen."""
    remarks: list[str]
    """What contradicts a setting, or supports a timeout without bounding it."""
    source: str
    """Prose: a measurement, or a setting of the middlebox: nf_conntrack, haproxy.cfg, F5 profile or connection."""
    suspects: list[str]
    upper_seconds: float | None


class ReplayedTimeout(TypedDict):
    """What an idle timeout would have closed, by the access log."""

    closed_unused: int
    closes_by_seconds: float | None
    cut: int
    cut_per_day: float
    exempt: int
    first_account: str | None
    """Those with the most cuts."""
    first_client: str | None
    freed_seconds: float
    held_seconds: float
    most_cut_per_day: float
    """The undecided ones included."""
    peak: int | None
    timeout_seconds: float
    undecided: int


class IdleTimeout(TypedDict):
    """`idle-timeout`: idle timeouts and keepalives that leave dead connections open, or close live ones.

    Per server.
    """

    box_action: str | None
    """`drops its state after`, `closes both ends after`; with `is set to …` where that was not observed; `keeps its
    state for` where no upper bound is known.
    """
    box_lower_seconds: float | None
    box_upper_seconds: float | None
    """Of a setting that was not observed, the setting; null of one that explains none of the ghosts."""
    current_seconds: float | None
    """0: off; null: unknown."""
    gaps: list[str] | None
    ghost_lifetime_seconds: float | None
    hidden_above_seconds: float | None
    """A middlebox drops connections idle for longer, so nothing shows their use."""
    idle_ages: IdleAges | None
    """Of all paths, with the bounds of the tightest; null where no table shows ages."""
    keepalive_seconds: float | None
    live_ages: int | None
    """Live connections with a known socket age."""
    log_seconds: float | None
    """Time that the access log shows, without gaps longer than any idle time; or null."""
    longest_idle_seconds: float | None
    longest_idle_source: str | None
    """`access log` or `socket ages`."""
    most_cuts_per_day: float | None
    """Excluded at 95 %, if none is seen."""
    not_used: list[UnusedTimeout] | None
    """Settings of hosts that are not known to carry a path."""
    paths: list[PathTimeout] | None
    recommended_seconds: float | None
    replay: list[ReplayedTimeout] | None
    """By the access log; it shows nothing of a timeout that is not below `log_seconds`."""
    seconds_left: float | None
    """Before which they hardly run out; null: not forecast."""
    server: str | None
    silent_seconds: float | None
    """Gaps in the log that are longer than any idle time."""
    suspects: list[str] | None
    thin: bool | None
    """It is not excluded at 95 % that the value cuts one live connection a day."""
    tidy_seconds: float | None
    tidy_unsafe: bool | None
    unhurried_seconds: float | None
    """What would be recommended if the descriptors lasted."""
    would_close_now: int | None
    would_cut_living: int | None


class IdleTimeoutNotEnforced(TypedDict):
    """`idle-timeout-not-enforced`: connections that stay open although they are idle for longer than the idle timeout.

    Per server.
    """

    closed_late: int | None
    """That the idle timeout ended."""
    closes_by_seconds: float | None
    """Idle seconds by which this version closes."""
    exempt: int | None
    """Idle for longer, not counted; null: not known."""
    longest_idle_seconds: float | None
    open: int | None
    """Connections idle for longer now."""
    open_clients: dict[str, int] | None
    reasons: list[Literal["ignored", "needs-activity", "keeps-old-limit", "account-limit"]] | None
    server: str | None
    timeout_seconds: float | None
    used_later: int | None
    """Idle times in the access log that a request ended."""


class IdleTimeoutTooLow(TypedDict):
    """`idle-timeout-too-low`: clients that would use connections again which the idle timeout closes.

    Per client.
    """

    client: str | None
    closes: int | None
    cut: int | None
    """Connections that the idle timeout closed."""
    cut_per_hour: float | None
    opened: int | None
    reopened: int | None
    """Of these, after others had ended, at least."""
    server: str | None
    shortest_idle_seconds: float | None
    """Of those cut."""
    used_late: int | None
    """Requests after 80 % of that or more."""


class ProbingClient(TypedDict):
    """A client on the path."""

    client: str
    in_time: bool
    """Seen to probe in time."""
    kernel_seconds: float | None
    """Null: unknown."""


class KeepaliveTooSlow(TypedDict):
    """`keepalive-too-slow`: keepalive probes that are sent after the firewall has dropped its state."""

    box_upper_seconds: float | None
    clients: list[ProbingClient] | None
    """On the path."""
    end: str | None
    host: str | None
    keepalive_seconds: float | None


class KeepingApplication(TypedDict):
    """A program that does not close."""

    client: str
    connections: int
    host: str
    """Null: not read."""
    program: str


class ProxyHeldConnections(TypedDict):
    """`proxy-held-connections`: server-side connections of a proxy whose client is gone, or does not close.

    Client leg gone or half-closed, server leg kept.
    """

    connections: int | None
    proxy: str | None
    server: str | None
    applications: NotRequired[list[KeepingApplication] | None]


class SeveredConnections(TypedDict):
    """`severed-connections`: connections established at both ends that a middlebox on the path no longer tracks.

    Both ESTABLISHED, a middlebox on the path has no entry; `matched` includes them.
    """

    accounts: dict[str, int] | None
    client: str | None
    client_count: int | None
    client_hosts: list[str] | None
    idle_seconds: float | None
    """Of the youngest, when the flow table was taken; null where no table shows ages."""
    matched: int | None
    middlebox: str | None
    """Null: packets of `unanswered` connections stay unanswered, no middlebox is proven to be the cause, and `severed`
    is 0.
    """
    pairing: str | None
    path: str | None
    server: str | None
    server_count: int | None
    severed: int | None
    severed_client_ports: list[int] | None
    """At the client; behind a NAT the server shows others, `matched` is 0 and `client` the client's own address; where
    `client_count` is null its end was not read, and each is severed or a ghost.
    """
    style: str | None
    unanswered: int | None
    """Retransmissions or probes at an end."""
    unproven: int | None


class StrandedConnections(TypedDict):
    """`stranded-connections`: connections established at a client that no longer exist at the server.

    Client ESTABLISHED, server has none.
    """

    accounts: dict[str, int] | None
    client: str | None
    client_count: int | None
    client_hosts: list[str] | None
    matched: int | None
    pairing: str | None
    path: str | None
    server: str | None
    server_count: int | None
    stranded: int | None
    stranded_client_ports: list[int] | None
    style: str | None
    unproven: int | None


class UncleanCloses(TypedDict):
    """`unclean-closes`: connections that end without UNBIND, or because data no longer passes.

    Per client; info: probes.
    """

    client: str | None
    closes: int | None
    """Of connections with an operation."""
    codes: dict[str, int] | None
    idle: int | None
    network: int | None
    probes: int | None
    """Connections without any."""
    server: str | None
    unclean: int | None


class UnreleasedConnections(TypedDict):
    """`unreleased-connections`: applications that keep far more connections open than they use.

    Both ends agree; the application keeps too many: >= 100 or 25 % of the limit, >= 90 % idle for > 60 s.
    """

    accounts: dict[str, int] | None
    client: str | None
    connections: int | None
    idle: int | None
    server: str | None
