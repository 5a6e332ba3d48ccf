"""The table of netstat on Solaris 8 to 11, OpenSolaris and illumos (SmartOS, OmniOS), without a protocol column.

    TCP: IPv4
       Local Address        Remote Address    Swind Send-Q Rwind Recv-Q    State
    -------------------- -------------------- ----- ------ ----- ------ -----------
          *.389                *.*                0      0 128000      0 LISTEN
    10.77.1.2.389        10.77.2.2.58862    1064800      0 1055864      0 ESTABLISHED

The last dot separates address and port; widths are minimums, so nothing is truncated and columns shift. In the IPv6
section the interface (If) is the last column. -u adds User, Pid and Command, and repeats a socket for each of its
processes. -v prints a socket in two lines, the local end in the first, with sequence numbers in place of the queues:

    10.77.1.2.389
    10.77.2.2.58862      49640 7a3f6c11 7a3f6c10 49640 10c5a9e2 10c5a9e2   400  1460 ESTABLISHED

Swind and Rwind are windows, not queues. Without -a all states below ESTABLISHED are left out, as LISTEN and IDLE.
Source: illumos usr/src/cmd/cmd-inet/usr.bin/netstat/netstat.c (tcp_report_item_v4, tcp_report_item_v6, mitcp_state).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import Addresses, Ports
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.socket_formats.rows import LONGEST_OWNER, Rows, count_of
from ldapdiag.evidence.socket_formats.rows import STATES as UNDERSCORED
from ldapdiag.evidence.sockets import SocketTable, TcpState
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

STATES = UNDERSCORED | {"IDLE": TcpState.CLOSED, "BOUND": TcpState.CLOSED}
"""IDLE: opened, BOUND: with an address; both neither listening nor connected."""

SHOWN_WITH_ALL = frozenset({TcpState.LISTEN, TcpState.CLOSED, TcpState.TIME_WAIT})
"""States that are printed with -a only."""

HEADER = pattern(r"\s*Local(?: Address {1,40}Remote|/Remote) Address\s")
TITLES = frozenset({"TCP", "TCP: IPv4", "TCP: IPv6", "UDP", "UDP: IPv4", "UDP: IPv6", "SCTP:", "SCTP"})
MOST_FIELDS = 20
HEXADECIMAL = pattern(r"[0-9a-fA-F]{1,8}")


def recognises(head: Head) -> bool:
    """Recognise Solaris by its header, or by rows that begin with both endpoints, not with the protocol."""
    return any(HEADER.match(line) or _is_row(line) for line in head.lines)


def _is_row(line: str) -> bool:
    fields = line[:300].split(None, 8)
    if len(fields) < 7 or fields[6] not in STATES or not all(number.isdigit() for number in fields[2:6]):
        return False
    ports = (fields[0].rpartition("."), fields[1].rpartition("."))
    return all(dot and address and ":" not in port for address, dot, port in ports)


def read(document: Document) -> Iterator[SocketTable]:
    """Read the TCP rows; a repeated header of the same address family (a loop) begins another table."""
    snapshot = NetstatSolarisSnapshot(Addresses(), Ports())
    document.rows = lambda: len(snapshot.rows)
    for line in document.lines:
        fields = line.split(None, MOST_FIELDS)
        if snapshot.take(fields):
            continue
        if snapshot.first:
            document.misread(snapshot.first)
            snapshot.first = ""
        if HEADER.match(line):
            family = snapshot.family_of(line)
            if family in snapshot.headed and snapshot.rows:
                yield snapshot.table(document)
                snapshot = NetstatSolarisSnapshot(snapshot.addresses, snapshot.ports)
            snapshot.take_header(line)
        elif not (snapshot.take_title(line) or snapshot.take_first(line, fields)):
            document.misread(line)
    if snapshot.first:
        document.misread(snapshot.first)
    if snapshot.rows or (snapshot.headed and not document.missed):
        yield snapshot.table(document)


class NetstatSolarisSnapshot:
    """One snapshot of a host's sockets while it is read."""

    def __init__(self, addresses: Addresses, ports: Ports) -> None:
        self.rows = Rows()
        self.addresses = addresses
        self.ports = ports
        self.headed: set[int] = set()
        self.in_tcp = True
        self.in_two_lines = False
        self.has_users = False
        self.first = ""
        """The first line of a socket, until its second line is read."""
        self.owned: set[tuple[str, str, TcpState]] = set()
        """The sockets of a table with users, which repeats a socket for each process."""
        self.owners: dict[str, str] = {}

    def family_of(self, header: str) -> int:
        """Return the address family of the TCP rows below this header; 0: another protocol."""
        if "Swind" not in header[:400] or "StrsI/O" in header[:400]:
            return 0
        return 6 if "If" in header[:400].split() else 4

    def take_header(self, line: str) -> None:
        """Read a header: the kind of the rows below it, and their columns."""
        family = self.family_of(line)
        self.in_tcp = family > 0
        if family:
            self.headed.add(family)
            self.has_users = "Pid" in line[:400]
            self.in_two_lines = "Local/Remote" in line[:60]

    def take_title(self, line: str) -> bool:
        """Ignore a title, a rule, or a line in a section of another protocol; return whether it was one."""
        text = line[:400].strip()
        if text in TITLES:
            self.in_tcp = text.startswith("TCP")
        elif text.startswith("Active UNIX domain sockets"):
            self.in_tcp = False
        return not self.in_tcp or not text or text in TITLES or text.startswith("-----")

    def take_first(self, line: str, fields: list[str]) -> bool:
        """Keep the first of a socket's two lines, which contains the local end only; return whether it is one."""
        if not self.in_two_lines or len(fields) != 1 or "." not in fields[0]:
            return False
        self.first = line
        return True

    def take(self, fields: list[str]) -> bool:
        """Add a row; return whether the fields are a TCP row."""
        if self.first:
            return self._take_second(fields)
        if len(fields) < 7:
            return False
        state = STATES.get(fields[6])
        if state is None:
            return self.has_users and self._take_with_user(fields)
        send_queue, receive_queue = fields[3], fields[5]
        return self._add(
            fields[0],
            fields[1],
            state,
            0 if receive_queue == "0" else count_of(receive_queue),
            0 if send_queue == "0" else count_of(send_queue),
        )

    def _take_with_user(self, fields: list[str]) -> bool:
        """Add a row of -u, unless its socket is in the table; the name of a program may contain blanks."""
        at = len(fields) - (1 if fields[-1] in STATES else 2)
        state = STATES.get(fields[at])
        if state is None or at < 6:
            return False
        return self._add_owned(
            (fields[0], fields[1], state), count_of(fields[at - 1]), count_of(fields[at - 3]), fields[2 : at - 4]
        )

    def _take_second(self, fields: list[str]) -> bool:
        """Add the socket whose local end was in the previous line."""
        state = STATES.get(fields[9]) if len(fields) > 9 else None
        if state is None:
            return False
        ends = (self.first.strip(), fields[0])
        queues = (_distance(fields[5], fields[6]), _distance(fields[2], fields[3], less=1))
        owner = fields[10:] if len(fields) > 11 and fields[11].isdigit() else fields[11:]  # If may be empty
        owner[2:] = [program.rpartition("/")[2] for program in owner[2:3]]  # -v also prints the program's arguments
        added = self._add_owned((*ends, state), *queues, owner) if self.has_users else self._add(*ends, state, *queues)
        if added:
            self.first = ""
        return added

    def _add_owned(
        self, socket: tuple[str, str, TcpState], receive_queue: int | None, send_queue: int | None, owner: list[str]
    ) -> bool:
        """Add a socket and its owner: user, PID and the words of the program's name."""
        if socket in self.owned:
            return True
        if not self._add(*socket, receive_queue, send_queue):
            return False
        self.owned.add(socket)
        program = " ".join(owner[2:])[:LONGEST_OWNER]
        self.rows.set("owner", self.owners.setdefault(program, program))
        self.rows.set("pid", count_of(owner[1]) if len(owner) > 1 else None)
        return True

    def _add(
        self, local_end: str, remote_end: str, state: TcpState, receive_queue: int | None, send_queue: int | None
    ) -> bool:
        local, _, local_port = local_end.rpartition(".")
        remote, _, remote_port = remote_end.rpartition(".")
        if not local or not remote or receive_queue is None or send_queue is None:
            return False
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
        return True

    def table(self, document: Document) -> SocketTable:
        """Return the finished table."""
        return self.rows.table(
            document,
            tool="netstat",
            shows_time_wait=None if SHOWN_WITH_ALL.isdisjoint(self.rows.states()) else True,
            has_header=bool(self.headed),
        )


def _distance(later: str, earlier: str, *, less: int = 0) -> int | None:
    """Return the distance of two hexadecimal sequence numbers, from which netstat computes queues: at least 0."""
    if not (HEXADECIMAL.fullmatch(later) and HEXADECIMAL.fullmatch(earlier)):
        return None
    distance = (int(later, 16) - int(earlier, 16)) % (1 << 32)
    return max(distance - less, 0) if distance < 1 << 31 else 0


FORMAT = Format(name="netstat-solaris", title="a socket table of netstat on Solaris", recognises=recognises, read=read)
