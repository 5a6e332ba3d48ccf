"""Sockets written as the tools print them: the other direction of the readers, for properties."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.sockets import TcpState, Timer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.sockets import SocketTable

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
WINDOWS_STATES = NETSTAT_STATES | {
    TcpState.SYN_RECEIVED: "SYN_RECEIVED",
    TcpState.FIN_WAIT_1: "FIN_WAIT_1",
    TcpState.FIN_WAIT_2: "FIN_WAIT_2",
    TcpState.CLOSED: "CLOSED",
    TcpState.LISTEN: "LISTENING",
}
GERMAN_STATES = WINDOWS_STATES | {
    TcpState.ESTABLISHED: "HERGESTELLT",
    TcpState.SYN_SENT: "SYN_GESENDET",
    TcpState.SYN_RECEIVED: "SYN_EMPFANGEN",
    TcpState.FIN_WAIT_1: "FIN_WARTEN_1",
    TcpState.FIN_WAIT_2: "FIN_WARTEN_2",
    TcpState.TIME_WAIT: "WARTEND",
    TcpState.CLOSE_WAIT: "SCHLIESSEN_WARTEN",
    TcpState.LISTEN: "ABHÖREN",
    TcpState.CLOSING: "SCHLIESSEND",
}
POWERSHELL_STATES = {
    TcpState.ESTABLISHED: "Established",
    TcpState.SYN_SENT: "SynSent",
    TcpState.SYN_RECEIVED: "SynReceived",
    TcpState.FIN_WAIT_1: "FinWait1",
    TcpState.FIN_WAIT_2: "FinWait2",
    TcpState.TIME_WAIT: "TimeWait",
    TcpState.CLOSED: "Closed",
    TcpState.CLOSE_WAIT: "CloseWait",
    TcpState.LAST_ACK: "LastAck",
    TcpState.LISTEN: "Listen",
    TcpState.CLOSING: "Closing",
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


def sockets_in(table: SocketTable) -> list[Socket]:
    """Return what a reader made of a table, to be written again."""
    columns = (table.state, table.receive_queue, table.send_queue)
    return [
        Socket(
            local_address=local,
            local_port=local_port,
            remote_address=remote,
            remote_port=remote_port,
            state=state,
            receive_queue=receive_queue,
            send_queue=send_queue,
        )
        for (local, local_port, remote, remote_port), state, receive_queue, send_queue in zip(
            table.keys(), *columns, strict=True
        )
    ]


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


def as_netstat_windows(sockets: Iterable[Socket], *, german: bool = False) -> str:
    """Write `netstat -ano` of Windows; the encoding is the caller's choice."""
    title = "Aktive Verbindungen" if german else "Active Connections"
    names = ("Lokale Adresse", "Remoteadresse", "Status") if german else ("Local Address", "Foreign Address", "State")
    words = GERMAN_STATES if german else WINDOWS_STATES
    lines = ["", title, "", "  {:<6} {:<22} {:<22} {:<15} {}".format("Proto", *names, "PID")]
    for socket in sockets:
        local = _windows_end(socket.local_address, socket.local_port, socket)
        remote = _windows_end(socket.remote_address, socket.remote_port, socket)
        pid = 0 if socket.state is TcpState.TIME_WAIT else 688
        lines.append(f"  TCP    {local:<22} {remote:<22} {words[socket.state]:<15} {pid}")
    lines.append(f"  UDP    {'0.0.0.0:389':<22} {'*:*':<38} 688")
    return "\r\n".join(lines) + "\r\n"


def _windows_end(address: str, port: int, socket: Socket) -> str:
    shown = _windows_address(address, socket)
    return f"[{shown}]:{port}" if ":" in shown else f"{shown}:{port}"


def _windows_address(address: str, socket: Socket) -> str:
    return {"*": "::" if socket.family == 6 else "0.0.0.0"}.get(address, address)  # noqa: S104  the wildcard of Windows


def as_powershell_csv(sockets: Iterable[Socket], *, delimiter: str = ",") -> str:
    """Write `Get-NetTCPConnection | ConvertTo-Csv`, as far as its columns matter."""
    columns = ("CreationTime", "LocalAddress", "LocalPort", "OwningProcess", "RemoteAddress", "RemotePort", "State")
    lines = ["#TYPE Microsoft.Management.Infrastructure.CimInstance#root/standardcimv2/MSFT_NetTCPConnection"]
    rows = (
        (
            "20.11.2026 09:12:03",
            _windows_address(socket.local_address, socket),
            socket.local_port,
            0 if socket.state is TcpState.TIME_WAIT else 688,
            _windows_address(socket.remote_address, socket),
            socket.remote_port,
            POWERSHELL_STATES[socket.state],
        )
        for socket in sockets
    )
    lines += [delimiter.join(f'"{value}"' for value in row) for row in (columns, *rows)]
    return "\r\n".join(lines) + "\r\n"


def as_lsof_fields(sockets: Iterable[Socket], *, nul: bool = False) -> str:
    """Write `lsof -nP -iTCP -FpcftdPnT` (-F0 if nul), where TIME_WAIT cannot be."""
    sets = [["p2133", "cns-slapd"]]
    for number, socket in enumerate(socket for socket in sockets if socket.state is not TcpState.TIME_WAIT):
        name = _lsof_end(socket.local_address, socket.local_port)
        if socket.state is not TcpState.LISTEN:
            name += "->" + _lsof_end(socket.remote_address, socket.remote_port)
        sets.append([f"f{number}u", f"tIPv{socket.family}", f"d{number + 5000}", "PTCP", f"n{name}"])
        sets[-1] += [f"TST={NETSTAT_STATES[socket.state]}", f"TQR={socket.receive_queue}", f"TQS={socket.send_queue}"]
    if nul:
        return "".join("".join(f"{field}\0" for field in one) + "\n" for one in sets)
    return "".join(f"{field}\n" for one in sets for field in one)


def _lsof_end(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _words(address: str, socket: Socket, *, big_endian: bool) -> str:
    if address == "*":
        packed = bytes(4 if socket.family == 4 else 16)
    elif socket.mapped:
        packed = ipaddress.ip_address(f"::ffff:{address}").packed
    else:
        packed = ipaddress.ip_address(address).packed
    words = [packed[at : at + 4] for at in range(0, len(packed), 4)]
    return "".join((word if big_endian else word[::-1]).hex().upper() for word in words)


BSD_STATES = NETSTAT_STATES | {
    TcpState.SYN_RECEIVED: "SYN_RCVD",
    TcpState.FIN_WAIT_1: "FIN_WAIT_1",
    TcpState.FIN_WAIT_2: "FIN_WAIT_2",
    TcpState.CLOSED: "CLOSED",
}
SOLARIS_STATES = BSD_STATES | {TcpState.SYN_RECEIVED: "SYN_RECEIVED", TcpState.CLOSED: "IDLE"}


SOLARIS_NORMAL = "Swind Send-Q Rwind Recv-Q    State"
SOLARIS_VERBOSE = "Swind  Snext     Suna   Rwind  Rnext     Rack    Rto   Mss     State"
SOLARIS_USERS = "  User    Pid       Command     "


def as_solaris(sockets: Iterable[Socket], *, verbose: bool = False, users: bool = False) -> str:
    """Write `netstat -an` of illumos; -v takes two lines for a socket, -u one for each of its (two) processes."""
    ends = "Local/Remote Address " if verbose else "   Local Address        Remote Address    "
    header = f"{ends}{SOLARIS_USERS * users}{SOLARIS_VERBOSE if verbose else SOLARIS_NORMAL}"
    sections = {
        4: ["", "TCP: IPv4", header, "-------------------- -------------------- -----"],
        6: ["", "TCP: IPv6", f"{header}      If ", "--------------------------------- ------- -----"],
    }
    for socket in sockets:
        family = 6 if ":" in socket.local_address + socket.remote_address else 4
        state = SOLARIS_STATES[socket.state] + " net0" * (family == 6)
        local = _solaris_end(socket.local_address, socket.local_port, family)
        remote = _solaris_end(socket.remote_address, socket.remote_port, family)
        if verbose:
            sent, received = f"{(socket.send_queue + 1) % (1 << 32):08x}", f"{socket.receive_queue:08x}"
            numbers = f"49640 {sent} 00000000 49640 {received} 00000000   400  1460"
            sections[family] += [local, f"{remote} {numbers} {state}"]
        else:
            numbers = f"49640 {socket.send_queue:6} 128000 {socket.receive_queue:6}"
            holders = [f"{'root':8} {pid:6} {'my ns-slapd':15} " for pid in (531, 533)] if users else [""]
            sections[family] += [f"{local} {remote} {holder}{numbers} {state}" for holder in holders]
    return "\n".join(sections[4] + sections[6]) + "\n"


def _solaris_end(address: str, port: int, family: int) -> str:
    shown = "      *" if address == "*" else address
    return f"{shown}.{port or '*'}".ljust(20 if family == 4 else 33)


def as_freebsd(sockets: Iterable[Socket], *, pcb: bool = False, wide: bool = False) -> str:
    """Write `netstat -an` (-A: with the PCB, -W: nothing cut) of FreeBSD."""
    width = 45 if wide else 18 if pcb else 22
    heading = "Tcpcb            " if pcb else ""
    header = f"{heading}Proto Recv-Q Send-Q {'Local Address':{width}} {'Foreign Address':{width}} (state)    "
    return _bsd_table(sockets, header, pcb="fffff80003df43d0 " * pcb, width=width, wide=wide)


def as_macos(sockets: Iterable[Socket], *, pcb: bool = False, programs: bool = False) -> str:
    """Write `netstat -an` (-A: with PCB and Flowhash, -v: with bytes and programs) of macOS."""
    width = 18 if pcb else 22
    heading = "Socket           Flowhash " if pcb else ""
    header = f"{heading}Proto Recv-Q Send-Q  {'Local Address':{width}} {'Foreign Address':{width}} (state)    "
    tail = ""
    if programs:
        header += "      rxbytes      txbytes  rhiwat  shiwat          process:pid    state  options           gencnt"
        tail = "         6100         3165  131072  132104    my ns-slapd (1):389   00102 00000008 0000000000228b27"
    return _bsd_table(sockets, header, pcb="7fb03cb95fad8165  6a3d6e4 " * pcb, width=width, blanks=2, tail=tail)


def as_aix(sockets: Iterable[Socket], *, pcb: bool = False) -> str:
    """Write `netstat -an` (-A: with the PCB) of AIX."""
    width = 18 if pcb else 22
    heading = "PCB/ADDR         " if pcb else ""
    header = f"{heading}Proto Recv-Q Send-Q  {'Local Address':{width}} {'Foreign Address':{width}} (state)"
    return _bsd_table(sockets, header, pcb="f1000e0004c3e222 " * pcb, width=width, blanks=2)


def as_hpux(sockets: Iterable[Socket]) -> str:
    """Write `netstat -an` of HP-UX as its manual page describes it; no captured one is public."""
    header = f"Proto Recv-Q Send-Q  {'Local Address':22} {'Foreign Address':22} (state)"
    return _bsd_table(sockets, header, width=22, blanks=2, family=False)


def _bsd_table(
    sockets: Iterable[Socket],
    header: str,
    *,
    width: int,
    pcb: str = "",
    blanks: int = 1,
    wide: bool = False,
    family: bool = True,
    tail: str = "",
) -> str:
    lines = ["Active Internet connections (including servers)", header]
    for socket in sockets:
        six = ":" in socket.local_address + socket.remote_address
        proto = f"tcp{6 if six else 4}" if family else "tcp"
        ends = [
            f"{(address if wide else address[:16]) + '.' + str(port or '*'):{width}{'' if wide else f'.{width}'}}"
            for address, port in (
                (socket.local_address, socket.local_port),
                (socket.remote_address, socket.remote_port),
            )
        ]
        lines.append(
            f"{pcb}{proto:5} {socket.receive_queue:6} {socket.send_queue:6}{' ' * blanks}{ends[0]} {ends[1]} "
            f"{BSD_STATES[socket.state]:11}{tail}"
        )
    return "\n".join(lines) + "\n"
