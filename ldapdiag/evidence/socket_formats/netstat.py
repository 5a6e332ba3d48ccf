r"""The table of Linux netstat: net-tools from 1.60 on, and busybox.

    Active Internet connections (servers and established)
    Proto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name     Timer
    tcp6       0      0 :::389                  :::*                    LISTEN      2133/ns-slapd        off (0.00/0/0)
    tcp6       0      0 10.77.1.2:389           10.77.2.2:58862         ESTABLISHED -           keepalive (31.58/0/0)
    tcp6       0      0 2001:db8:1234:5678::389 2001:db8:1234:567:40760 ESTABLISHED -               off (0.00/0/0)

With -e, User and Inode precede the program; the timer is (seconds/retransmissions/unanswered probes). Without -W
an address is truncated so that address, colon and port have 23 characters: in the last row above the remote end is port
40760 of an address that begins with 2001:db8:1234:567, and the local address may be truncated too.
Send-Q of a LISTEN row is always 0, because /proc/net/tcp does not contain the backlog.
Source: net-tools netstat.c (addr_do_one, tcp_do_one, finish_this_one), busybox networking/netstat.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import CUT, Addresses, Ports
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.socket_formats.rows import LONGEST_OWNER, STATES, Rows, count_of
from ldapdiag.evidence.sockets import PROBING, SocketTable, TcpState, Timer
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

TCP = frozenset({"tcp", "tcp6"})
OTHER_INTERNET = frozenset(
    {"udp", "udp6", "udplite", "udplite6", "udpl", "udpl6", "raw", "raw6", "sctp", "sctp6", "dccp", "dccp6", "icmp"}
)
OTHER = OTHER_INTERNET | {"unix", "igmp", "l2cap", "rfcomm", "ax25", "x25", "ipx", "ddp", "netrom", "rose"}
HEADINGS = frozenset({"Active", "Aktive", "Connexions", "Proto"})
ONLY_SERVERS = ("(only servers)", "(Nur Server)", "(seulement serveurs)")
NOISE = (
    "(Not all processes could be identified",
    " will not be shown, you would have to be root",
    "(No info could be read for",
    "(Es konnten nicht alle Prozesse identifiziert werden",
    "nicht-eigene Processe werden nicht angezeigt",
    "Sockets du domaine UNIX",
    "netstat: ",
    "warning, got bogus",
)
HEADER = pattern(r"\s*Proto +Recv-Q +Send-Q .{10,130}? (?:State|Etat)\b")
CUT_LENGTH = 23
"""Characters of a field that may be truncated; a longer one shows that the table was printed with -W."""

TIMERS = {
    "off": Timer.OFF,
    "on": Timer.RETRANSMIT,
    "keepalive": Timer.KEEPALIVE,
    "timewait": Timer.TIME_WAIT,
    "probe": Timer.PERSIST,
    "unkn-4": Timer.PERSIST,  # net-tools before 2.10
}


def recognises(head: Head) -> bool:
    """Recognise Linux netstat by rows with a colon before the port (BSD: a dot), or by its header alone."""
    if any(map(_is_row, head.lines)):
        return True
    return any(map(HEADER.match, head.lines)) and not any(map(_has_dotted_ports, head.lines))


def _is_row(line: str) -> bool:
    fields = line[:300].split(None, 6)
    if len(fields) < 6 or fields[0] not in TCP or fields[5] not in STATES:
        return False
    ports = (fields[3].rpartition(":"), fields[4].rpartition(":"))
    return fields[1].isdigit() and all(colon and "." not in port for _, colon, port in ports)


def _has_dotted_ports(line: str) -> bool:
    """Return whether this is a row of NetBSD, which has the same header as Linux."""
    fields = line[:300].split(None, 5)
    return len(fields) > 4 and fields[0] in TCP and all("." in end.rpartition(":")[2] for end in fields[3:5])


def read(document: Document) -> Iterator[SocketTable]:
    """Read the TCP rows; a repeated heading (netstat -c, or a loop) begins another table."""
    snapshot = NetstatSnapshot(Addresses(), Ports())
    document.rows = lambda: len(snapshot.rows)
    for line in document.lines:
        fields = line.split(None, 6)
        if not fields:
            continue
        kind = fields[0]
        if kind in TCP:
            if not snapshot.take(fields):
                document.misread(line)
        elif kind in OTHER:
            snapshot.others = snapshot.others or kind in OTHER_INTERNET
        elif kind in HEADINGS:
            if snapshot.rows and snapshot.is_heading(line):
                yield snapshot.table(document)
                snapshot = NetstatSnapshot(snapshot.addresses, snapshot.ports)
            snapshot.take_heading(line)
        elif not line.startswith(NOISE):
            document.misread(line)
    if snapshot.rows or (snapshot.is_empty() and not document.missed):
        yield snapshot.table(document)


class NetstatSnapshot:
    """One snapshot of a host's sockets while it is read."""

    def __init__(self, addresses: Addresses, ports: Ports) -> None:
        self.rows = Rows()
        self.addresses = addresses
        self.ports = ports
        self.has_header = False
        self.shows_time_wait: bool | None = None
        self.others = False
        self.wide = False
        self.doubtful = False
        self.programs: dict[str, tuple[int | None, str] | None] = {}

    def is_heading(self, line: str) -> bool:
        """Return whether this line is the heading of the internet section, not that of UNIX sockets."""
        return "nternet" in line[:60] or HEADER.match(line) is not None

    def take_heading(self, line: str) -> None:
        """Read a heading, which shows whether there are listeners only: without -l, TIME_WAIT is included."""
        if self.is_heading(line):
            self.has_header = True
            if "nternet" in line[:60]:
                self.shows_time_wait = not any(words in line[:120] for words in ONLY_SERVERS)

    def take(self, fields: list[str]) -> bool:
        """Add a row; return whether the fields are a TCP row."""
        if len(fields) < 6:
            return False
        state = STATES.get(fields[5])
        local, _, local_port = fields[3].rpartition(":")
        remote, _, remote_port = fields[4].rpartition(":")
        receive_queue = 0 if fields[1] == "0" else count_of(fields[1])
        send_queue = 0 if fields[2] == "0" else count_of(fields[2])
        if state is None or not local or not remote or receive_queue is None or send_queue is None:
            return False
        if len(fields[3]) >= CUT_LENGTH:
            local = self._perhaps_cut(local, fields[3])
        if len(fields[4]) >= CUT_LENGTH:
            remote = self._perhaps_cut(remote, fields[4])
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
        if len(fields) > 6:
            self._take_details(fields[6])
        return True

    def _perhaps_cut(self, address: str, field: str) -> str:
        if len(field) > CUT_LENGTH:
            self.wide = True
        elif ":" in address:
            self.doubtful = True
            return address + CUT
        return address

    def _take_details(self, rest: str) -> None:
        """Add the columns of -e, -p and -o to the last row."""
        rest = rest.rstrip()
        before, _, counters = rest.rpartition("(")
        if counters.endswith(")"):
            before, _, name = before.rstrip().rpartition(" ")
            timer = TIMERS.get(name)
            numbers = counters[:-1].split("/", 3)
            if timer is not None and len(numbers) == 3:
                rest = before.rstrip()
                self.rows.set("timer", timer)
                self.rows.set("retransmits", (count_of(numbers[1]) or 0) if timer is Timer.RETRANSMIT else 0)
                self.rows.set("probes", (count_of(numbers[2]) or 0) if timer in PROBING else 0)
        if rest:
            self._take_owner(rest)

    def _take_owner(self, text: str) -> None:
        """Add User and Inode (-e) and PID/Program name (-p), as far as present."""
        words = text.split(None, 2)
        if len(words) > 1 and "/" not in words[0] and (inode := count_of(words[1])) is not None:
            self.rows.set("inode", inode)
            text = words[2] if len(words) > 2 else ""
        text = text[:LONGEST_OWNER]
        if text not in self.programs:
            self.programs[text] = _program(text)
        program = self.programs[text]
        if program is not None:
            self.rows.set("pid", program[0])
            self.rows.set("owner", program[1])

    def is_empty(self) -> bool:
        """Return whether this is a TCP table without rows; a table of UDP has the same heading."""
        return self.has_header and not self.others

    def table(self, document: Document) -> SocketTable:
        """Return the finished table."""
        rows = self.rows
        if self.wide and self.doubtful:
            rows.respell({address: self._whole(address) for address in rows.addresses()})
        return rows.table(
            document,
            tool="netstat",
            shows_time_wait=True if TcpState.TIME_WAIT in rows.states() else self.shows_time_wait,
            has_header=self.has_header,
        )

    def _whole(self, address: str) -> str:
        return self.addresses[address.removesuffix(CUT)] if ":" in address else address


def _program(text: str) -> tuple[int | None, str] | None:
    """Return PID and name of `pid/name`, or None; a dash: no owner, or one that is hidden from this user."""
    if text == "-":
        return None, ""
    number, slash, name = text.partition("/")
    pid = count_of(number)
    return (pid, name) if slash and pid is not None else None


FORMAT = Format(name="netstat", title="a socket table of Linux netstat", recognises=recognises, read=read)
