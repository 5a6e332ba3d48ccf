"""Listeners: which sockets are an LDAP server's end, by listening ports, programs and registered ports.

A proxy that listens on an LDAP port is the server's end of its clients' connections, but no directory server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import LDAP_PORTS, UNKNOWN_PORT
from ldapdiag.evidence.flows import Relay
from ldapdiag.evidence.sockets import SocketTable, TcpState
from ldapdiag.servers.traits import directory_programs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ldapdiag.evidence.flows import BoxTimeouts, FlowTable
    from ldapdiag.evidence.processes import ProcessTable

RELAY_PROGRAMS = (
    "haproxy", "nginx", "envoy", "stunnel", "socat", "traefik", "rinetd", "relayd", "ncat", "sshd", "ssh", "pasta",
    "passt", "rootlesskit", "rootlessport", "slirp4netns", "systemd-socket-proxyd", "linkerd2-proxy", "ghostunnel",
    "gobetween", "xinetd", "sshd-session", "dropbear", "plink", "tlstunnel", "hitch", "kubectl", "kubelet",
    "containerd", "crio", "microsocks", "sockd", "danted", "3proxy", "redsocks", "chisel", "frpc", "frps", "gost",
    "tsh", "teleport", "cloudflared", "vpnkit", "wslrelay",
)  # fmt: skip
"""Programs that accept a connection and open another one to the server: proxies, TLS terminators, port forwarders."""

FORWARDER_PROGRAMS = ("docker-proxy", "kube-proxy")
"""Programs that hold a port open while the kernel translates its connections, which their sockets do not show."""

SHORTEST_CUT = 9
"""Characters after which lsof cuts a program's name; the kernel (comm) does after 15."""


def is_relay(program: str) -> bool:
    """Return whether a program of this name, possibly with a version or cut by a tool, passes connections on."""
    name = program.lower().removesuffix(".exe").rstrip("0123456789.-")
    return name in RELAY_PROGRAMS or _is_cut(program, RELAY_PROGRAMS) or is_forwarder(program)


def is_forwarder(program: str) -> bool:
    """Return whether a program holds a port whose connections the kernel translates."""
    return program in FORWARDER_PROGRAMS or _is_cut(program, FORWARDER_PROGRAMS)


def _is_cut(program: str, names: Iterable[str]) -> bool:
    return len(program) >= SHORTEST_CUT and any(name.startswith(program) for name in names)


def listener_ports(table: SocketTable, known: Collection[int]) -> frozenset[int]:
    """Return the ports of this table's LDAP listeners; `known` adds ports to the registered ones.

    A port that only a forwarder holds is not among them: the connections are another namespace's.
    """
    ports = set()
    for row, state in enumerate(table.state):
        if state is TcpState.LISTEN:
            owner = table.owner[row] if table.owner is not None else ""
            port = table.local_port[row]
            if not is_forwarder(owner) and (port in LDAP_PORTS or port in known or owner in directory_programs()):
                ports.add(port)
    return frozenset(ports)


def relays_at(
    ports: Collection[int],
    tables: Sequence[SocketTable],
    flows: Iterable[FlowTable] = (),
    timeouts: Iterable[BoxTimeouts] = (),
    processes: ProcessTable | None = None,
) -> dict[int, str]:
    """Return, of one host's LDAP ports, those that only relays serve, with the program; "proxy" where it is unknown.

    The owner of the listening socket decides; where no table shows it, the list of processes does, or the session
    table or the configuration of a proxy on this host.
    """
    accepting = proxied_ports(flows, timeouts)
    relays = {}
    for port in ports:
        programs = set[str]().union(*(programs_at(port, table) for table in tables)) or _listed_at(port, processes)
        if programs and all(map(is_relay, programs)):
            relays[port] = min(programs)
        elif not programs and accepting is not None and (port in accepting or not accepting):
            relays[port] = "proxy"
    return relays


def programs_at(port: int, table: SocketTable) -> set[str]:
    """Return the programs that own the listening sockets of a port, or its other sockets where none is listed."""
    if table.owner is None:
        return set()
    rows = [row for row, local in enumerate(table.local_port) if local == port and table.owner[row]]
    listening = [row for row in rows if table.state[row] is TcpState.LISTEN]
    return {table.owner[row] for row in listening or rows}


def _listed_at(port: int, processes: ProcessTable | None) -> set[str]:
    """Return the programs that listen on a port by the list of processes."""
    listeners = processes.listeners if processes else ()
    found = (processes.process(listener.pid) for listener in listeners if listener.port == port) if processes else ()
    return {process.program for process in found if process is not None}


def proxied_ports(flows: Iterable[FlowTable], timeouts: Iterable[BoxTimeouts]) -> frozenset[int] | None:
    """Return the ports on which a host's proxy accepts connections; empty: unknown. None: no evidence of a proxy."""
    tables = [table for table in flows if table.relay is Relay.PROXY]
    settings = [timeout for timeout in timeouts if timeout.relay is Relay.PROXY]
    if not (tables or settings):
        return None
    used = {client[3] for table in tables for client in table.client} - {UNKNOWN_PORT}
    return frozenset(used).union(*(setting.ports for setting in settings))


def served_ports(table: SocketTable, known: Collection[int]) -> frozenset[int]:
    """Return the local ports of this table on which an LDAP server accepts connections.

    Without any LISTEN row (a table taken without -a) a registered port with peers on other ports counts, too: a
    client's own port is never a registered one.
    """
    if listening := listener_ports(table, known):
        return listening
    if TcpState.LISTEN in set(table.state):
        return frozenset()
    registered = LDAP_PORTS.union(known)
    pairs = set(zip(table.local_port, (port in registered for port in table.remote_port), strict=True))
    return frozenset(port for port, to_ldap in pairs if port in registered and not to_ldap)


def unfit_because(table: SocketTable, ports: Collection[int]) -> str | None:
    """Return why a table does not show which connections a server has on these ports; None when it does."""
    if not table.shows_connections:
        return "lists listening sockets only"
    if not ports:
        return "shows no listening socket and no connection of the server: it may be of another network namespace"
    ends = set(zip(table.local_port, table.state, strict=True))
    states = {state for port, state in ends if port in ports}
    if TcpState.UNKNOWN in states and TcpState.ESTABLISHED not in states:
        return (
            "shows no states, or unrecognised ones (ss for one state only, BSD's netstat with -T, -x or -R, "
            "lsof -F without T)"
        )
    if table.ports_truncated and (UNKNOWN_PORT, TcpState.ESTABLISHED) in ends:
        return "truncates local ports (netstat -A), so that any connection may be LDAP"
    return None
