r"""The table of iproute2's ss, with every option set that changes its columns.

    State  Recv-Q Send-Q      Local Address:Port       Peer Address:Port Process
    ESTAB  0      0      [::ffff:10.77.1.2]:389  [::ffff:10.77.2.2]:58862 timer:(keepalive,31sec,0) ino:5 sk:3 <->
    \t bbr wscale:10,10 rto:204 rtt:0.041/0.032 bytes_sent:146 lastsnd:264252 lastrcv:264252 lastack:264252 busy:4ms

The second line (-i, -m without -O) begins with a blank. A key is omitted when its value is 0.
Source: iproute2 misc/ss.c; samples of 3.x to 6.x in the tests.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import normalise_address, port_number
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.socket_text.rows import Rows
from ldapdiag.evidence.sockets import SocketTable, TcpState, Timer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

STATES = {
    "ESTAB": TcpState.ESTABLISHED,
    "SYN-SENT": TcpState.SYN_SENT,
    "SYN-RECV": TcpState.SYN_RECEIVED,
    "FIN-WAIT-1": TcpState.FIN_WAIT_1,
    "FIN-WAIT-2": TcpState.FIN_WAIT_2,
    "TIME-WAIT": TcpState.TIME_WAIT,
    "UNCONN": TcpState.CLOSED,
    "CLOSE-WAIT": TcpState.CLOSE_WAIT,
    "LAST-ACK": TcpState.LAST_ACK,
    "LISTEN": TcpState.LISTEN,
    "CLOSING": TcpState.CLOSING,
    "UNKNOWN": TcpState.UNKNOWN,
}
TIMERS = {
    "on": Timer.RETRANSMIT,
    "keepalive": Timer.KEEPALIVE,
    "timewait": Timer.TIME_WAIT,
    "persist": Timer.PERSIST,
}
NETIDS = frozenset({"tcp", "mptcp"})
OTHER_NETIDS = frozenset(
    {"udp", "raw", "icmp6", "u_str", "u_dgr", "u_seq", "nl", "p_raw", "p_dgr", "dccp", "sctp", "vsock", "xdp", "tipc"}
)
NOISE = ("Failed to find cgroup2 mount", "Netid", "State", "Recv-Q", "Cannot open netlink socket", "RTNETLINK answers")

TIMER = re.compile(r"timer:\((\w+),([^,)]*),(\d+)\)")
USERS = re.compile(r'users:\(\("([^"]*)",(?:pid=)?(\d+)')
NUMBERS = re.compile(r" (ino|lastrcv|lastack|busy|bytes_sent|bytes_acked|bytes_received):(\d+)")
HAS_TCP_INFO = re.compile(r" (?:rto|cwnd|mss):\d")
HEADER = re.compile(r"^(?:Netid\s+)?State\s+Recv-Q\s+Send-Q\s+Local Address:Port\s+Peer Address:Port")
ROW = re.compile(r"^(?:\w+\s+)?(?:" + "|".join(STATES) + r")\s+\d+\s+\d+\s+\S+[:*]\S*\s+\S+")


def recognises(head: Head) -> bool:
    """Tell ss by its header, or by rows with its own spelling of the states."""
    return any(HEADER.match(line) or ROW.match(line) for line in head.lines)


def read(document: Document) -> Iterator[SocketTable]:
    """Read the TCP rows; sockets of other kinds are passed over."""
    rows = Rows()
    header = listeners = others = False
    tcp = False
    for line in document.lines:
        fields = line.split(None, 5)
        if not fields:
            continue
        if line[0] in "\t ":
            if tcp:
                _details(rows, " " + line)
            continue
        state = STATES.get(fields[0])
        if state is None:
            netid = fields[0]
            if netid in NETIDS and len(fields) > 1:
                fields = line.split(None, 6)[1:]
                state = STATES.get(fields[0])
            elif netid in OTHER_NETIDS:
                tcp = False
                continue
        if state is None or not _row(rows, state, fields):
            header = header or HEADER.match(line) is not None
            if not line.startswith(NOISE):
                tcp = False
                document.misread(line)
            continue
        tcp = True
        listeners = listeners or state is TcpState.LISTEN
        others = others or state is TcpState.TIME_WAIT
        if len(fields) > 5:
            _details(rows, " " + fields[5])
    yield rows.table(
        document,
        telling="ss",
        shows_time_wait=True if listeners or others else None,
        has_header=header,
    )


def _row(rows: Rows, state: TcpState, fields: list[str]) -> bool:
    """Add a row; tell whether the fields were one."""
    if len(fields) < 5:
        return False
    local, _, local_port = fields[3].rpartition(":")
    remote, _, remote_port = fields[4].rpartition(":")
    if not (local and remote and fields[1].isdigit() and fields[2].isdigit()):
        return False
    rows.add(
        normalise_address(local),
        port_number(local_port),
        normalise_address(remote),
        port_number(remote_port),
        state,
        int(fields[1]),
        int(fields[2]),
    )
    return True


def _details(rows: Rows, text: str) -> None:
    """Add what follows the addresses, on the same line or the next, to the newest row."""
    if len(text) < 6:
        return
    if timer := TIMER.search(text):
        kind = TIMERS.get(timer[1], Timer.OFF)
        rows.set("timer", kind)
        rows.set("probes" if kind in {Timer.KEEPALIVE, Timer.PERSIST} else "retransmits", int(timer[3]))
    if users := USERS.search(text):
        rows.set("owner", users[1])
        rows.set("pid", int(users[2]))
    found: dict[str, str] = dict(NUMBERS.findall(text))
    if "ino" in found:
        rows.set("inode", int(found["ino"]))
    if HAS_TCP_INFO.search(text):
        rows.set("last_received", int(found.get("lastrcv", 0)))
        rows.set("last_acknowledged", int(found.get("lastack", 0)))
        rows.set("busy", int(found.get("busy", 0)))
        rows.set("bytes_sent", int(found.get("bytes_sent", found.get("bytes_acked", 0))))
        rows.set("bytes_received", int(found.get("bytes_received", 0)))


FORMAT = Format(name="ss", title="a socket table of ss", recognises=recognises, read=read)
