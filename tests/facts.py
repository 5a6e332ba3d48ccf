"""Facts for tests, built in memory: each from the values that matter, with sensible defaults for the others.

The site is always the same: the server `ldap` (10.77.1.2, port 389), its clients `app1` (10.77.2.2) and `app2`
(10.77.3.2), and the firewall `fw` between them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.hosts.snapshots import snapshots_of
from ldapdiag.analysis.idle.bounds import IdleBounds, PathBounds
from ldapdiag.analysis.idle.keepalive import GhostLifetime
from ldapdiag.analysis.load.descriptors import Descriptors, LimitReached
from ldapdiag.analysis.load.forecast import LimitForecast
from ldapdiag.analysis.pairing.direction import Direction, HalfOpen, Path, SocketIdleTimes, TableQuality
from ldapdiag.analysis.pairing.drop_style import GhostEvidence
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.evidence.addresses import identifies_a_host
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.flows import FlowTable, Relay
from ldapdiag.evidence.host_facts import HostDescription, KernelSettings, TcpCounters
from ldapdiag.evidence.monitor import Monitor, MonitoredConnection
from ldapdiag.evidence.origin import Origin, Span
from ldapdiag.evidence.sockets import SocketTable, TcpState
from ldapdiag.servers.commands.server_address import ServerAddress

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ldapdiag.evidence.sockets import Key

LDAP, APP1, APP2, OTHER = "10.77.1.2", "10.77.2.2", "10.77.3.2", "10.77.4.2"
START = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
DS389 = ServerIdentity(family=Family.DS389, version=(2, 3, 1))
OPENLDAP = ServerIdentity(family=Family.OPENLDAP, version=(2, 5, 13))

QUEUES = ("receive_queue", "send_queue")
BLANK = {"receive_queue": 0, "send_queue": 0, "retransmits": 0, "probes": 0, "owner": ""}
"""What a row has in a column that only other rows fill."""


def address_of(host: str = "ds1", *ports: int, **others: Any) -> ServerAddress:
    """Return the address of the only server of a host, by default on port 389; by default the operator named it."""
    return ServerAddress(**{"name": host, "host": host, "ports": ports or (389,), "is_named": True} | others)


def slapd_of(host: str) -> ServerAddress:
    """Return the address of the only slapd of a host, whose evidence shows the local socket of the laboratory's."""
    return address_of(host, socket="ldapi:///")


def at(seconds: float) -> Span:
    """Return a moment, so many seconds after the start of the story."""
    moment = START + timedelta(seconds=seconds)
    return Span(start=moment, end=moment)


def origin(host: str = "ldap", name: str = "file.txt", *, taken: float | None = None) -> Origin:
    """Return the origin of a file in the host's folder."""
    span = None if taken is None else at(taken)
    return Origin(path=f"{host}/{name}", folder=host, host=host, taken=span, lines=1, understood=1)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One socket: the key, the state, and whatever columns it fills."""

    key: Key
    state: TcpState
    columns: dict[str, Any] = field(default_factory=dict)


def row(local: str, remote: str, state: TcpState = TcpState.ESTABLISHED, **columns: Any) -> Row:
    """Return a row between two endpoints as people write them: `10.77.1.2:389`, `*:389`."""
    ends = [end.rpartition(":")[::2] for end in (local, remote)]
    (own, port), (peer, peer_port) = ((address, 0 if number == "*" else int(number)) for address, number in ends)
    return Row(key=(own, port, peer, peer_port), state=state, columns=columns)


def listening(port: int = 389, **columns: Any) -> Row:
    """Return a listener on all addresses."""
    return row(f"*:{port}", "*:*", TcpState.LISTEN, **columns)


def at_server(
    count: int, client: str = APP1, *, first: int = 40000, state: TcpState = TcpState.ESTABLISHED, **columns: Any
) -> list[Row]:
    """Return so many of the server's sockets with one client, on ports counted from `first`."""
    return [row(f"{LDAP}:389", f"{client}:{first + number}", state, **columns) for number in range(count)]


def at_client(
    count: int, client: str = APP1, *, first: int = 40000, state: TcpState = TcpState.ESTABLISHED, **columns: Any
) -> list[Row]:
    """Return the same as a client has them."""
    return [row(f"{client}:{first + number}", f"{LDAP}:389", state, **columns) for number in range(count)]


def row_of_another_service(host: str = APP1) -> list[Row]:
    """Return a connection that is not LDAP; it identifies the owner of the table."""
    return [row(f"{host}:50022", f"{OTHER}:22")]


def table(
    rows: Iterable[Row],
    host: str = "ldap",
    *,
    columns: Sequence[str] = QUEUES,
    taken: float | None = None,
    **traits: Any,
) -> SocketTable:
    """Return a socket table with the columns named, and those that a row fills."""
    rows = list(rows)
    shown = {*columns, *(name for one in rows for name in one.columns)}
    return SocketTable(
        origin=origin(host, "ss.txt", taken=taken),
        tool=traits.pop("tool", "ss"),
        local_address=[one.key[0] for one in rows],
        local_port=[one.key[1] for one in rows],
        remote_address=[one.key[2] for one in rows],
        remote_port=[one.key[3] for one in rows],
        state=[one.state for one in rows],
        **{name: [one.columns.get(name, BLANK.get(name)) for one in rows] for name in shown},
        **traits,
    )


def host(name: str = "ldap", *tables: SocketTable, **traits: Any) -> Host:
    """Return a host with these tables; those taken at different times are different snapshots."""
    addresses = {address for one in tables for address in one.local_address if identifies_a_host(address)}
    return Host(
        host=name,
        addresses=frozenset(addresses),
        snapshots=snapshots_of(tables),
        origins=tuple(one.origin.path for one in tables),
        **traits,
    )


def description(host: str = "app1", *, up: float = 1e6, **traits: Any) -> HostDescription:
    """Return a host's description of itself at START, so many seconds after it booted."""
    told = {"machine": "machine-1", "clock": START, "booted": START - timedelta(seconds=up)} | traits
    return HostDescription(origin=origin(host, "host.txt", taken=0), name=host, **told)


def server(name: str = "ldap", *, identity: ServerIdentity | None = DS389, **facts: Any) -> Instance:
    """Return a directory server on port 389."""
    return Instance(name=name, identity=identity, **{"host": name, "ports": frozenset({389})} | facts)


def monitor(identity: ServerIdentity = DS389, **counters: Any) -> Monitor:
    """Return the cn=monitor of a server."""
    return Monitor(origin=origin(name="cn-monitor.ldif"), identity=identity, **counters)


def monitored(
    count: int, client: str = APP1, account: str = "uid=app,dc=example", **traits: Any
) -> tuple[MonitoredConnection, ...]:
    """Return so many connections as cn=monitor lists them."""
    return tuple(MonitoredConnection(account=account, client=client, **traits) for _ in range(count))


def settings(host: str = "fw", **values: int) -> KernelSettings:
    """Return kernel parameters of nf_conntrack, by the end of their names: `max=262144`."""
    names = {f"net.netfilter.nf_conntrack_{name}": str(value) for name, value in values.items()}
    return KernelSettings(origin=origin(host, "sysctl.txt"), values=names)


def counters(**values: int) -> TcpCounters:
    """Return counters of nstat, by the end of their names: `ListenOverflows=5`."""
    names = {f"TcpExt{name}": value for name, value in values.items()}
    return TcpCounters(origin=origin(name="nstat.txt"), values=names)


def flows(
    rows: Iterable[Row], host: str = "fw", *, state: str = "ESTABLISHED", taken: float | None = None
) -> FlowTable:
    """Return the flow table of a middlebox that carries these sockets of the server, addresses untranslated."""
    keys = [one.key for one in rows]
    return FlowTable(
        origin=origin(host, "conntrack.txt", taken=taken),
        client=[(peer, port, own, own_port) for own, own_port, peer, port in keys],
        server=keys,
        state=[state] * len(keys),
        seconds_left=[20] * len(keys),
    )


def sessions(rows: Iterable[Row], clients: Iterable[Row], host: str = "proxy", **traits: Any) -> FlowTable:
    """Return a proxy's table: each of the server's sockets with the client's socket whose session it is."""
    keys = [one.key for one in rows]
    legs = [one.key for one in clients]
    return FlowTable(
        origin=origin(host, "show-sess-all.txt", taken=traits.pop("taken", None)),
        client=legs,
        server=keys,
        state=["ESTABLISHED"] * len(keys),
        seconds_left=[3600] * len(keys),
        tool="haproxy",
        relay=Relay.PROXY,
        **traits,
    )


GROUPED: Mapping[str, tuple[type[Any], Mapping[str, str]]] = {
    "ghosts": (HalfOpen, {"ghosts": "count", "ghost_ports": "ports", "unproven": "unproven"}),
    "stranded": (HalfOpen, {"stranded": "count", "stranded_ports": "ports", "unproven_stranded": "unproven"}),
    "path": (
        Path,
        {"path": "kind", "translated_by": "translated_by", "middleboxes": "middleboxes", "carriers": "carriers"},
    ),
    "idle_times": (
        SocketIdleTimes,
        {
            "idle_seconds": "matched",
            "idle_before_loss": "before_loss",
            "one_event": "one_event",
            "timers_shown": "timers_shown",
            "lost_sooner": "lost_sooner",
            "ghost_ages": "ghosts",
            "ages_of_running": "ghosts_of_running_clients",
            "probed": "probed",
            "all_probed": "all_probed",
        },
    ),
    "tables": (TableQuality, {"headerless": "headerless", "partial": "partial", "unreadable": "unreadable"}),
    "evidence": (GhostEvidence, {name.name: name.name for name in fields(GhostEvidence)}),
}
"""The groups of a direction's fields, and the keywords that fill them here."""


def direction(client: str = APP1, **numbers: Any) -> Direction:
    """Return the connections between a client and the server, none of them dead unless said so."""
    known = {"server_count": 0, "client_hosts": ("app1",), "origins": ("app1/ss.txt", "ldap/ss.txt")} | numbers
    if "client_count" not in known:
        known["client_count"] = known["server_count"] - known.get("ghosts", 0)
    if "ghost_ports" not in known:
        known["ghost_ports"] = tuple(range(40000, 40000 + known.get("ghosts", 0)))
    for group, (kind, keywords) in GROUPED.items():
        known[group] = kind(**{name: known.pop(key) for key, name in keywords.items() if key in known})
    return Direction(client=client, server_address=LDAP, server_port=389, **known)


def pairing(*directions: Direction) -> Pairing:
    """Return the directions that end at the server."""
    return Pairing(server="ldap", host="ldap", directions=directions)


def descriptors(used: int | None = 100, limit: int | None = 20000, **facts: Any) -> Descriptors:
    """Return how many descriptors the server has, not growing unless said so."""
    known = {
        "used_source": "/proc/PID/fd",
        "exact": True,
        "limit_source": "Max open files of the process",
        "forecast": LimitForecast(not_because="no evidence shows its connections at two times"),
        "reached": (),
        "recovered": False,
        "origins": ("ldap/proc-fd-count.txt",),
    }
    return Descriptors(server="ldap", used=used, limit=limit, **known | facts)


def forecast(median: float, earliest: float | None = None, latest: float | None = None, **facts: Any) -> LimitForecast:
    """Return a forecast in hours, a tenth of it wide at each side unless said so, from an access log of a day."""
    known = {"rates": (9.0, 10.0, 11.0), "source": "its access log", "readings": 24, "hours": 24.0}
    earliest = 0.9 * median if earliest is None else earliest
    return LimitForecast(median=median, earliest=earliest, latest=latest or 1.1 * median, **known | facts)


def reached(meaning: str = "accepted and closed at once: no descriptor left", count: int = 15) -> LimitReached:
    """Return a sign that the limit was reached, in the log of a server."""
    clause = f"{meaning} ({count} times)"
    return LimitReached(meaning=meaning, count=count, first=START, last=START, source="ldap/slapd.log", clause=clause)


def nobodys(fact: Any) -> Any:
    """Return a fact as gathering reads it, before anybody has said whose it is."""
    return replace(fact, origin=replace(fact.origin, host=""))


def lifetime(**facts: Any) -> GhostLifetime:
    """Return what ends a ghost at the server: nothing, unless said so."""
    known = {
        "idle_timeout_seconds": 0,
        "idle_timeout_source": "ldap/cn-config.ldif",
        "keepalive": False,
        "keepalive_seconds": None,
        "keepalive_source": "its sockets run no keepalive timer",
        "probing_seconds": 675,
    }
    return GhostLifetime(server="ldap", host="ldap", **known | facts)


def bounds(upper: float | None, lower: float | None = None) -> IdleBounds:
    """Return the idle timeout of the middlebox between app1 and the server; its own setting if both bounds agree."""
    path = PathBounds(
        client_network="10.77.2.0/24",
        lower_seconds=upper if lower is None else lower,
        upper_seconds=upper,
        source="nf_conntrack_tcp_timeout_established of fw",
        middlebox="fw",
        drop_seen=True,
    )
    return IdleBounds(server="ldap", paths=(path,))
