"""Sockets written as the tools print them: the other direction of the readers, for properties."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.sockets import TcpState, Timer

if TYPE_CHECKING:
    from collections.abc import Iterable

NETSTAT_STATES = {
    TcpState.ESTABLISHED: "ESTABLISHED",
    TcpState.SYN_SENT: "SYN_SENT",
    TcpState.SYN_RECEIVED: "SYN_RECV",
    TcpState.FIN_WAIT_1: "FIN_WAIT1",
    TcpState.FIN_WAIT_2: "FIN_WAIT2",
    TcpState.TIME_WAIT: "TIME_WAIT",
    TcpState.CLOSED: "CLOSE",
    TcpState.CLOSE_WAIT: "CLOSE_WAIT",
    TcpState.LAST_ACK: "LAST_ACK",
    TcpState.LISTEN: "LISTEN",
    TcpState.CLOSING: "CLOSING",
}
SS_STATES = {
    TcpState.ESTABLISHED: "ESTAB",
    TcpState.SYN_SENT: "SYN-SENT",
    TcpState.SYN_RECEIVED: "SYN-RECV",
    TcpState.FIN_WAIT_1: "FIN-WAIT-1",
    TcpState.FIN_WAIT_2: "FIN-WAIT-2",
    TcpState.TIME_WAIT: "TIME-WAIT",
    TcpState.CLOSED: "UNCONN",
    TcpState.CLOSE_WAIT: "CLOSE-WAIT",
    TcpState.LAST_ACK: "LAST-ACK",
    TcpState.LISTEN: "LISTEN",
    TcpState.CLOSING: "CLOSING",
}
NETSTAT_TIMERS = {
    Timer.OFF: "off",
    Timer.RETRANSMIT: "on",
    Timer.KEEPALIVE: "keepalive",
    Timer.TIME_WAIT: "timewait",
    Timer.PERSIST: "probe",
}
SS_TIMERS = {
    Timer.RETRANSMIT: "on",
    Timer.KEEPALIVE: "keepalive",
    Timer.TIME_WAIT: "timewait",
    Timer.PERSIST: "persist",
}


@dataclass(frozen=True, kw_only=True)
class Socket:
    """One TCP socket, as a reader should see it. A wildcard address is `*`, a port that is none 0."""

    local_address: str
    local_port: int
    remote_address: str
    remote_port: int
    state: TcpState
    receive_queue: int = 0
    send_queue: int = 0
    timer: Timer = Timer.OFF
    tries: int = 0
    """Retransmissions or probes, by the timer."""
    inode: int = 0
    mapped: bool = False
    """IPv4 on a dual-stack socket, which the kernel keeps as ::ffff:a.b.c.d."""

    @property
    def family(self) -> int:
        return 6 if self.mapped or ":" in self.local_address + self.remote_address else 4


def as_netstat(sockets: Iterable[Socket], *, wide: bool = True) -> str:
    """Write `netstat -tanoe` (without -W if not wide) of net-tools."""
    lines = [
        "Active Internet connections (servers and established)",
        "Proto Recv-Q Send-Q Local Address           Foreign Address         State       User       Inode      Timer",
    ]
    for socket in sockets:
        proto = "tcp6" if socket.family == 6 else "tcp"
        ends = (
            _netstat_end(socket.local_address, socket.local_port, socket, wide=wide),
            _netstat_end(socket.remote_address, socket.remote_port, socket, wide=wide),
        )
        tries = (0, socket.tries) if socket.timer in {Timer.KEEPALIVE, Timer.PERSIST} else (socket.tries, 0)
        timer = f"{NETSTAT_TIMERS[socket.timer]} (1.50/{tries[0]}/{tries[1]})"
        lines.append(
            f"{proto:4}  {socket.receive_queue:6} {socket.send_queue:6} {ends[0]:23} {ends[1]:23} "
            f"{NETSTAT_STATES[socket.state]:11} {105:<10} {socket.inode:<10} {timer}"
        )
    return "\n".join(lines) + "\n"


def _netstat_end(address: str, port: int, socket: Socket, *, wide: bool) -> str:
    shown = {"*": "::" if socket.family == 6 else "0.0.0.0"}.get(address, address)  # noqa: S104  netstat's wildcard
    name = str(port) if port else "*"
    if not wide and len(shown) + len(name) > 22:
        shown = shown[: 22 - len(name)]
    return f"{shown}:{name}"


def as_ss(sockets: Iterable[Socket], *, header: bool = True, netid: bool = False) -> str:
    """Write `ss -tanoe` of iproute2."""
    lines = []
    if header:
        lines.append("Netid  " * netid + "State  Recv-Q Send-Q      Local Address:Port       Peer Address:PortProcess")
    for socket in sockets:
        ends = (
            _ss_end(socket.local_address, socket.local_port, socket),
            _ss_end(socket.remote_address, socket.remote_port, socket),
        )
        timer = SS_TIMERS.get(socket.timer)
        details = f"timer:({timer},1min30sec,{socket.tries}) " if timer else ""
        lines.append(
            f"{'tcp   ' * netid}{SS_STATES[socket.state]:10} {socket.receive_queue:<6} {socket.send_queue:<6} "
            f"{ends[0]:>45} {ends[1]:>45} {details}ino:{socket.inode} sk:1b <->  "
        )
    return "".join(line + "\n" for line in lines)


def _ss_end(address: str, port: int, socket: Socket) -> str:
    if address == "*":
        shown = "*" if socket.mapped else "[::]" if socket.family == 6 else "0.0.0.0"  # noqa: S104  as ss prints it
    elif socket.mapped:
        shown = f"[::ffff:{address}]"
    else:
        shown = f"[{address}]" if ":" in address else address
    return f"{shown}:{port or '*'}"


def as_proc_net(sockets: Iterable[Socket], *, big_endian: bool = False) -> str:
    """Write /proc/net/tcp and /proc/net/tcp6, one after the other."""
    tables: dict[int, list[str]] = {4: [], 6: []}
    for socket in sockets:
        rows = tables[socket.family]
        tries = (0, socket.tries) if socket.timer in {Timer.KEEPALIVE, Timer.PERSIST} else (socket.tries, 0)
        local = _words(socket.local_address, socket, big_endian=big_endian)
        remote = _words(socket.remote_address, socket, big_endian=big_endian)
        tail = "" if socket.state is TcpState.TIME_WAIT else " 20 4 31 15 -1"
        rows.append(
            f"{len(rows):4}: {local}:{socket.local_port:04X} {remote}:{socket.remote_port:04X} {socket.state:02X} "
            f"{socket.send_queue:08X}:{socket.receive_queue:08X} {socket.timer:02X}:{150:08X} {tries[0]:08X} "
            f"{105:5} {tries[1]:8} {socket.inode} 1 000000002cac5fa4{tail}"
        )
    tail = "st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
    lines = [f"  sl  local_address rem_address   {tail}   ", *tables[4]]
    lines += [f"  sl  local_address {'':23}remote_address {'':23}{tail}", *tables[6]]
    return "\n".join(lines) + "\n"


def _words(address: str, socket: Socket, *, big_endian: bool) -> str:
    if address == "*":
        packed = bytes(4 if socket.family == 4 else 16)
    elif socket.mapped:
        packed = ipaddress.ip_address(f"::ffff:{address}").packed
    else:
        packed = ipaddress.ip_address(address).packed
    words = [packed[at : at + 4] for at in range(0, len(packed), 4)]
    return "".join((word if big_endian else word[::-1]).hex().upper() for word in words)
