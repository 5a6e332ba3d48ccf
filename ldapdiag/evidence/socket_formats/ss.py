r"""The table of iproute2's ss, with any options that change its columns.

    Netid  State  Recv-Q Send-Q      Local Address:Port       Peer Address:Port Process
    tcp    ESTAB  0      0      [::ffff:10.77.1.2]:389  [::ffff:10.77.2.2]:58862 timer:(keepalive,31sec,0) ino:5 <->
    \t bbr wscale:10,10 rto:204 rtt:0.041/0.032 bytes_sent:146 lastsnd:264252 lastrcv:264252 lastack:264252 busy:4ms
    FIN-WAIT-1 0   1          10.201.1.2:53836        10.201.2.2:389  timer:(on,3.080ms,2) users:(("java",1171,6))

The column Netid is printed for several kinds of sockets, State unless a single state was requested. The details of
-i and -m follow in the same line (-O) or in the next one, which begins with a blank or a tab; a key whose value is 0 is
left out. iproute2 before 4.x prints IPv6 without brackets, and users without pid= and fd=.
An expiry like 3.080ms means 3.080 seconds (print_ms_timer prints seconds, a dot, milliseconds); no column needs it.
Source: iproute2 misc/ss.c (sock_state_print, inet_addr_print, print_ms_timer, tcp_stats_print).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import ANY, ANY_PORT, Addresses, Ports
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.socket_formats.rows import Rows, count_of
from ldapdiag.evidence.sockets import (
    PROBING,
    SYN_AND_FIN,
    WITHOUT_PEER,
    SocketTable,
    TcpState,
    Timer,
    unanswered_for,
)
from ldapdiag.lazy_pattern import pattern

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
    "UNDEF": TcpState.UNKNOWN,
}
TIMERS = {
    "on": Timer.RETRANSMIT,
    "keepalive": Timer.KEEPALIVE,
    "timewait": Timer.TIME_WAIT,
    "persist": Timer.PERSIST,
}
OTHER_NETIDS = frozenset(
    {"udp", "raw", "icmp6", "u_str", "u_dgr", "u_seq", "nl", "p_raw", "p_dgr", "dccp", "sctp"}
    | {"v_str", "v_dgr", "xdp", "ti_rd", "ti_dg", "ti_sq", "ti_st", "???", "mptcp"}
)
"""Kinds that are ignored. The subflows of an mptcp socket are in the table as tcp."""
NOISE = ("Failed to find cgroup2 mount", "Failed to open cgroup2", "Cannot open netlink socket", "RTNETLINK answers")

HEADER = pattern(r"(?:Netid\s+)?(?:State\s+)?Recv-Q\s+Send-Q\s+Local Address:Port\s+Peer Address:Port")
TIMER = pattern(r"timer:\((\w{1,16}),[^,)]{0,32},(\d{1,9})\)")
COOKIE = pattern(r" sk:([0-9a-f]{1,16})(?![0-9a-f])")
USERS = pattern(r'users:\(\("(.{0,64}?)",(?:pid=)?(\d{1,10})\b')
NUMBERS = pattern(
    r" (ino|lastsnd|lastrcv|lastack|busy|bytes_sent|bytes_acked|bytes_received|rto|backoff|cwnd|mss):(\d{1,20})"
)


def recognises(head: Head) -> bool:
    """Recognise ss by its header, or by rows with its state names."""
    return any(HEADER.match(line) or _is_row(line) for line in head.lines)


def _is_row(line: str) -> bool:
    fields = line[:300].split(None, 6)
    if fields and (fields[0] == "tcp" or fields[0] in OTHER_NETIDS):
        del fields[0]
    return (
        len(fields) > 4
        and fields[0] in STATES
        and fields[1].isdigit()
        and fields[2].isdigit()
        and (":" in fields[3] or fields[3] == ANY)
    )


def read(document: Document) -> Iterator[SocketTable]:
    """Read the TCP rows; a repeated header (a loop) begins another table."""
    snapshot = SsSnapshot(Addresses(), Ports())
    document.rows = lambda: len(snapshot.rows)
    for line in document.lines:
        if line[:1] in {" ", "\t", ""}:
            if not snapshot.take_details_line(line):
                document.misread(line)
        elif snapshot.take_line(line):
            pass
        elif HEADER.match(line):
            if snapshot.rows:
                yield snapshot.table(document)
                snapshot = SsSnapshot(snapshot.addresses, snapshot.ports)
            snapshot.take_header(line)
        elif not line.startswith(NOISE):
            snapshot.previous = ""
            document.misread(line)
    if snapshot.is_of_tcp() if snapshot.rows else snapshot.is_empty() and not document.missed:
        yield snapshot.table(document)


class SsSnapshot:
    """One snapshot of a host's sockets while it is read."""

    def __init__(self, addresses: Addresses, ports: Ports) -> None:
        self.rows = Rows()
        self.addresses = addresses
        self.ports = ports
        self.has_header = False
        self.has_netid = False
        self.has_state = True
        self.previous = ""
        """The kind of the previous row, to which a line of details belongs: tcp, another, or empty."""
        self.others = False

    def take_header(self, line: str) -> None:
        """Read the columns in a header."""
        self.has_header = True
        self.has_netid = line.startswith("Netid")
        self.has_state = "State" in line[:16]

    def take_line(self, line: str) -> bool:
        """Read a row of any kind; return whether the line is one."""
        fields = line.split(None, 5)
        kind = "tcp"
        state = STATES.get(fields[0]) if fields else None
        if state is None:
            kind, fields = self._aligned(fields)
            state = STATES.get(fields[0]) if fields else None
        if state is None or len(fields) < 5:
            return False
        if kind != "tcp":
            self.previous = kind
            self.others = True
            return True
        local, _, local_port = fields[3].rpartition(":")
        remote, _, remote_port = fields[4].rpartition(":")
        receive_queue = 0 if fields[1] == "0" else count_of(fields[1])
        send_queue = 0 if fields[2] == "0" else count_of(fields[2])
        if not local or not remote or receive_queue is None or send_queue is None:
            return False
        self.previous = kind
        addresses, ports = self.addresses, self.ports
        self.rows.add(
            (
                addresses[local],
                ports[local_port],
                addresses[remote],
                ports[remote_port],
                state,
                receive_queue,
                send_queue,
            )
        )
        if len(fields) > 5:
            self._take_details(" " + fields[5])
        return True

    def _aligned(self, fields: list[str]) -> tuple[str, list[str]]:
        """Return the kind of a row that does not begin with its state, and its fields from State on."""
        kind = "tcp"
        if fields and (fields[0] == "tcp" or fields[0] in OTHER_NETIDS):
            self.has_netid = True
            kind, *fields = fields
        if not self.has_state:
            fields = ["UNKNOWN", *fields]
        return kind, [*fields[:4], *" ".join(fields[4:]).split(None, 1)]

    def take_details_line(self, line: str) -> bool:
        """Read the second line of a row (-i, -m without -O), which may be empty; return whether it is one."""
        if not line.strip():
            return True
        if self.previous == "tcp":
            self._take_details(" " + line)
        return self.previous != "" and ":" in line

    def _take_details(self, text: str) -> None:
        """Add the details after the addresses, in the same line or the next, to the last row."""
        if len(text) < 6:
            return
        if "timer:(" in text and (timer := TIMER.search(text)):
            kind = TIMERS.get(timer[1], Timer.OFF)
            self.rows.set("timer", kind)
            self.rows.set("retransmits", int(timer[2]) if kind is Timer.RETRANSMIT else 0)
            self.rows.set("probes", int(timer[2]) if kind in PROBING else 0)
        if "users:((" in text and (users := USERS.search(text)):
            self.rows.set("owner", users[1])
            self.rows.set("pid", int(users[2]))
        if " sk:" in text and (cookie := COOKIE.search(text)):
            self.rows.set("cookie", int(cookie[1], 16))
        self._take_numbers(dict(NUMBERS.findall(text)), is_closed="timer:(persist" in text)

    def _take_numbers(self, found: dict[str, str], *, is_closed: bool) -> None:
        """Add inode and tcp_info; with tcp_info, a key that is left out is 0. `is_closed`: the peer's window is."""
        if "ino" in found:
            self.rows.set("inode", int(found["ino"]))
        if found.keys().isdisjoint({"rto", "cwnd", "mss"}) or self.rows.newest_state() in WITHOUT_PEER:
            return
        self.rows.set("last_received", int(found.get("lastrcv", 0)))
        self.rows.set("last_acknowledged", int(found.get("lastack", 0)))
        busy = int(found.get("busy", 0))
        doublings = int(found.get("backoff", 0))
        if (doublings or is_closed) and "rto" in found:
            busy = min(busy, unanswered_for(doublings, int(found["rto"]), int(found.get("lastsnd", 0))))
        self.rows.set("busy", busy)
        acknowledged = int(found.get("bytes_acked", 0))
        self.rows.set("bytes_sent", int(found.get("bytes_sent", acknowledged if acknowledged > SYN_AND_FIN else 0)))
        self.rows.set("bytes_received", int(found.get("bytes_received", 0)))

    def is_empty(self) -> bool:
        """Return whether this is a TCP table without rows; ss -x has the same header."""
        return self.has_header and not self.others

    def is_of_tcp(self) -> bool:
        """Return whether these are TCP rows; without Netid, ss -uan is recognised by states and wildcard peers."""
        states = self.rows.states()
        if self.has_netid or TcpState.CLOSED not in states or states - {TcpState.CLOSED, TcpState.ESTABLISHED}:
            return True
        return self.rows.remote_ports(TcpState.CLOSED) != {ANY_PORT}

    def table(self, document: Document) -> SocketTable:
        """Return the finished table."""
        if not self.has_state:
            document.note(f"{document.path} has no state column: it contains the sockets of a single state.")
        return self.rows.table(
            document,
            tool="ss",
            shows_time_wait=self.rows.show_time_wait(),
            has_header=self.has_header,
        )


FORMAT = Format(name="ss", title="a socket table of ss", recognises=recognises, read=read)
