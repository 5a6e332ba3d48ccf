"""Tables with very many clients, each with one connection, as each tool prints them: for limits, memory and time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import box_writers
import writers
from ldapdiag.evidence.sockets import TcpState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

SERVER = "10.77.9.2"
BOX = "10.77.9.1"


def peer(number: int) -> str:
    """Return the address of a peer; a different one for each of 16 million numbers."""
    return f"10.{100 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def sockets(peers: int) -> Iterator[writers.Socket]:
    """Yield a listener, and one established connection of each peer."""
    yield writers.Socket(
        local_address="*", local_port=389, remote_address="*", remote_port=0, state=TcpState.LISTEN, inode=1
    )
    for number in range(peers):
        yield writers.Socket(
            local_address=SERVER,
            local_port=389,
            remote_address=peer(number),
            remote_port=32768 + number % 28000,
            state=TcpState.ESTABLISHED,
            inode=100_000 + number,
        )


def flows(peers: int) -> Iterator[box_writers.Flow]:
    """Yield the same connections as flows of a middlebox that translates them."""
    for number in range(peers):
        client = (peer(number), 32768 + number % 28000)
        own = (BOX, 1024 + number % 60000)
        yield box_writers.Flow(client=(*client, SERVER, 389), server=(SERVER, 389, *own))


def as_lsof(rows: Iterable[writers.Socket]) -> str:
    """Write lsof -nP -iTCP."""
    lines = ["COMMAND    PID   USER   FD   TYPE DEVICE SIZE/OFF NODE NAME"]
    for fd, one in enumerate(rows, 64):
        end = f"->{one.remote_address}:{one.remote_port} (ESTABLISHED)" if one.remote_port else " (LISTEN)"
        lines.append(f"ns-slapd 15161 dirsrv {fd}u  IPv4 {fd + 9000}      0t0  TCP {one.local_address}:389{end}")
    return "\n".join(lines) + "\n"


def as_conntrack(rows: Iterable[box_writers.Flow]) -> str:
    """Write conntrack -L."""
    return "".join(
        f"tcp      6 299 ESTABLISHED src={a} dst={b} sport={port} dport={dialled} "
        f"src={server} dst={own} sport={server_port} dport={own_port} [ASSURED] mark=0 use=1\n"
        for (a, port, b, dialled), (server, server_port, own, own_port) in ((one.client, one.server) for one in rows)
    )


SOCKETS: dict[str, Callable[[Iterable[writers.Socket]], str]] = {
    "ss": writers.as_ss,
    "netstat": writers.as_netstat,
    "proc-net": writers.as_proc_net,
    "netstat-freebsd": writers.as_freebsd,
    "netstat-solaris": writers.as_solaris,
    "netstat-solaris-v": partial(writers.as_solaris, verbose=True),
    "netstat-windows": writers.as_netstat_windows,
    "powershell": writers.as_powershell_csv,
    "lsof": as_lsof,
    "lsof-fields": writers.as_lsof_fields,
}
FLOWS: dict[str, Callable[[Iterable[box_writers.Flow]], str]] = {
    "conntrack": as_conntrack,
    "conntrack-xml": box_writers.as_conntrack_xml,
    "f5": box_writers.as_f5,
    "f5-properties": box_writers.as_f5_properties,
    "show-sess": box_writers.as_show_sess,
    "show-sess-all": box_writers.as_show_sess_all,
}
TABLES = (*SOCKETS, *FLOWS)


def table(name: str, peers: int) -> str:
    """Return a table of so many peers in one of TABLES."""
    return SOCKETS[name](sockets(peers)) if name in SOCKETS else FLOWS[name](flows(peers))


def openldap_monitor(peers: int) -> str:
    """Return cn=monitor of OpenLDAP with the same connections, each of another account."""
    head = "dn: cn=Monitor\nobjectClass: monitorServer\nmonitoredInfo: OpenLDAP: slapd 2.5.13\n\n"
    return head + "".join(
        f"dn: cn=Connection {number},cn=Connections,cn=Monitor\n"
        "objectClass: monitorConnection\n"
        f"monitorConnectionNumber: {number}\n"
        f"monitorConnectionAuthzDN: uid=u{number},ou=people,dc=example,dc=com\n"
        f"monitorConnectionPeerAddress: IP={peer(number)}:{32768 + number % 28000}\n"
        f"monitorConnectionLocalAddress: IP={SERVER}:389\n"
        "monitorConnectionStartTime: 20261120091203Z\n"
        "monitorConnectionActivityTime: 20261120091204Z\n\n"
        for number in range(peers)
    )


def write(folder: Path, host: str, text: str, file: str = "table.txt") -> None:
    """Write a file of a host."""
    (folder / host).mkdir(parents=True, exist_ok=True)
    (folder / host / file).write_text(text, encoding="utf-8", newline="")


def at_clients(numbers: range) -> list[writers.Socket]:
    """Return the other ends of the peers' connections."""
    return [
        writers.Socket(
            local_address=peer(number),
            local_port=32768 + number % 28000,
            remote_address=SERVER,
            remote_port=389,
            state=TcpState.ESTABLISHED,
        )
        for number in numbers
    ]


def server_alone(folder: Path, peers: int) -> None:
    """Write the table of a server without its clients'."""
    write(folder, "ldap", table("ss", peers))


def one_host_of_all(folder: Path, peers: int) -> None:
    """Write a client with all addresses, where half of the connections are: a generator of load."""
    server_alone(folder, peers)
    write(folder, "app", writers.as_ss(at_clients(range(0, peers, 2))))
