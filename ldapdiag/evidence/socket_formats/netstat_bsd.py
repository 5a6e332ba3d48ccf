"""The table of BSD's netstat: FreeBSD, macOS, NetBSD, OpenBSD, AIX and HP-UX.

    Active Internet connections (including servers)
    Proto Recv-Q Send-Q  Local Address          Foreign Address        (state)
    tcp4       0      0  10.77.1.2.389          10.77.2.2.58862        ESTABLISHED
    tcp6       0      0  fe80::1%lo0.389        *.*                    LISTEN

    PCB/ADDR         Proto Recv-Q Send-Q  Local Address      Foreign Address    (state)                  AIX -Aan
    f1000e0004c3e222 tcp4       0      0  192.168.100.101.38 192.168.100.12.588 ESTABLISHED

    Proto Rexmit OOORcv 0-win  Local Address          Foreign Address                                    FreeBSD -T
    tcp4       3      0      0 10.77.1.2.389          10.77.2.2.58862

    Proto   Recv-Q Send-Q  Local Address          Foreign Address        TCP-State              OpenBSD; NetBSD: State
    tcp          0      0  10.77.1.2.389          10.77.2.2.58862        ESTABLISHED

The last dot separates address and port. An address is truncated to 16 characters, or to 12 with -A and without -n;
address, dot and port to 22, with -A to 18. So without -A, ports and IPv4 addresses are always complete; with -A the
last digits of a port may be missing (the row above is .389 to .58862), and an IPv4 address may be truncated.
A longer text shows that nothing is truncated (-W; on macOS -l for IPv6). macOS prints a Flowhash after the PCB, and
after the state rxbytes and txbytes (-b), rhiwat, shiwat and pid, or process:pid (-v). -T, -x and -R print no states.
OpenBSD repeats the heading for each protocol, NetBSD for IPv6: a tcp6 section that follows belongs to the same table.
HP-UX: there is no public capture; rows are as described in netstat(1) of HP-UX 11i.
Source: FreeBSD usr.bin/netstat/inet.c, Apple network_cmds netstat.tproj/inet.c (protopr, inetprint, inet6print).

Addresses and ports that BSD's netstat truncated: collected while rows are read, marked after the last row.

The columns that macOS prints after the state: bytes with -b, buffers and the program with -v.

    (state)        rxbytes      txbytes  rhiwat  shiwat          process:pid    state  options           gencnt
    ESTABLISHED       6100         3165  131072  132104  ns-slapd helper:389   00102 00000008 0000000000228b27

    (state)     rhiwat shiwat    pid   epid  state    options
    LISTEN      131072 131072  46116      0 0x0100 0x00000106

Source: Apple network_cmds netstat.tproj/inet.c (protopr).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import ANY, CUT, UNKNOWN_PORT, Addresses, Ports, is_exact
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.socket_formats.rows import LOCAL, LONGEST_OWNER, REMOTE, STATES, Rows, count_of
from ldapdiag.evidence.sockets import SocketTable, TcpState
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ldapdiag.evidence.document import Document

TCP = frozenset({"tcp", "tcp4", "tcp6", "tcp46", "toe4", "toe6", "toe46"})
"""toe: TCP offloaded to the network card (FreeBSD)."""
OTHER = frozenset({"udp", "icm", "ip4", "ip6", "igm", "raw", "div", "sct", "mpt", "sdp", "vso"})
"""The first letters of other protocols' names."""
HEADINGS = frozenset(
    {"Active", "Proto", "Tcpcb", "PCB", "PCB/ADDR", "Socket", "Proto/ID", "Address", "SADR/PCB", "Registered"}
    | {"kctlref", "pcb"}
)
NOISE = ("Some tcp sockets may have been", "Some udp sockets may have been", "netstat: ")
HEADER = pattern(
    r" {0,8}(?:(?:Tcpcb|PCB|PCB/ADDR|Socket) {1,16}(?:Flowhash {1,8})?)?"
    r"Proto {1,8}(?:Recv-Q {1,8}Send-Q {1,8}|Rexmit {1,8}OOORcv {1,8}0-win {1,8})"
    r"Local Address {1,48}Foreign Address(?P<columns>.*)"
)
STATELESS = ("R-MBUF", "flowid")
OWN_WORDS = ("(state)", "TCP-State", *STATELESS)
"""Column names of BSD only. NetBSD's State is also Linux's, so NetBSD is recognised by its rows."""
STATE_WORDS = frozenset({"(state)", "TCP-State", "State"})
MOST_WORDS = 5
WORD = pattern(r"[A-Z][A-Z0-9_]{1,15}")


def recognises(head: Head) -> bool:
    """Recognise BSD by its header, or by rows with a dot before the port; Linux has a colon there."""
    return any(_is_own_header(line) or _is_row(line) for line in head.lines)


def _is_own_header(line: str) -> bool:
    header = HEADER.match(line[:400])
    return header is not None and ("0-win" in line[:60] or any(word in header["columns"] for word in OWN_WORDS))


def _is_row(line: str) -> bool:
    fields = line[:300].split(None, 8)
    at = _protocol_at(fields)
    if at < 0 or len(fields) < at + 6 or fields[at + 5] not in STATES:
        return False
    ports = (fields[at + 3].rpartition("."), fields[at + 4].rpartition("."))
    return fields[at + 1].isdigit() and all(dot and ":" not in port for _, dot, port in ports)


def _protocol_at(fields: list[str]) -> int:
    """Return the position of the protocol of a TCP row: 0, or after PCB and Flowhash 1 or 2; -1: not a TCP row."""
    return next((at for at, field in enumerate(fields[:3]) if field in TCP), -1)


def read(document: Document) -> Iterator[SocketTable]:
    """Read the TCP rows; a repeated heading (a loop) begins another table."""
    snapshot = NetstatBsdSnapshot(Addresses(), Ports())
    document.rows = lambda: len(snapshot.rows)
    for line in document.lines:
        fields = snapshot.fields_of(line)
        if not fields:
            continue
        if fields[0] in TCP:
            snapshot, finished = snapshot.snapshot_of_row(fields[0])
            if finished is not None:
                yield finished.table(document)
            if not snapshot.take(fields):
                document.misread(line)
        elif fields[0] in HEADINGS:
            snapshot = snapshot.snapshot_of_heading(line.lstrip())  # a table pasted into a report is indented
        elif not (snapshot.take_other(fields) or line.startswith(NOISE)):
            document.misread(line)
    if snapshot.previous is not None:
        yield snapshot.previous.table(document)
    if snapshot.rows or (snapshot.has_header and not snapshot.others and not document.missed):
        yield snapshot.table(document)


class NetstatBsdSnapshot:
    """One snapshot of a host's sockets while it is read."""

    def __init__(self, addresses: Addresses, ports: Ports) -> None:
        self.rows = Rows()
        self.addresses = addresses
        self.ports = ports
        self.pcb = 0
        """Number of fields before the protocol: the PCB (-A), and macOS' Flowhash."""
        self.truncation = Truncation()
        self.macos_columns = MacosColumns()
        self.has_header = False
        self.has_queues = True
        self.stateless = False
        self.elsewhere = False
        """Within a section of other sockets: UNIX, kernel control."""
        self.others = False
        self.protocols: set[str] = set()
        self.previous: NetstatBsdSnapshot | None = None
        """The snapshot above a heading, until the first row below shows whether that continues it."""
        self.words: set[str] = set()
        """Unknown state names."""

    def fields_of(self, line: str) -> list[str]:
        """Return the fields of a line; those of a TCP row without the fields before its protocol."""
        fields = line.split(None, 6 + self.pcb)
        if not self.pcb and (not fields or fields[0] in TCP):
            return fields
        at = self.pcb
        if len(fields) <= at or fields[at] not in TCP:
            at = _protocol_at(fields)
            if at < 0:
                return fields
            self.pcb = max(at, self.pcb)
            fields = line.split(None, 6 + at)
        return fields[at:]

    def snapshot_of_row(self, protocol: str) -> tuple[NetstatBsdSnapshot, NetstatBsdSnapshot | None]:
        """Return the snapshot of a row, and the previous snapshot if it is finished.

        IPv6 rows below IPv4 rows belong to the same snapshot.
        """
        previous, self.previous = self.previous, None
        if previous is not None and protocol == "tcp6" and previous.protocols == {"tcp"}:
            return previous, None
        return self, previous

    def snapshot_of_heading(self, line: str) -> NetstatBsdSnapshot:
        """Return the snapshot of a heading, a new one if it follows rows; the next row shows whether it is."""
        snapshot = self
        if self.rows and (line.startswith("Active Internet connections") or HEADER.match(line[:400])):
            snapshot = NetstatBsdSnapshot(self.addresses, self.ports)
            snapshot.previous = self
        snapshot.take_heading(line)
        return snapshot

    def take_heading(self, line: str) -> None:
        """Read the heading of a section, and its columns."""
        if line.startswith("Active "):
            self.elsewhere = not line.startswith("Active Internet")
            self.has_header = self.has_header or not self.elsewhere
        elif line.startswith("Registered "):
            self.elsewhere = True
        elif (header := HEADER.match(line[:400])) is not None:
            self.has_header = True
            self.elsewhere = False
            self.stateless = STATE_WORDS.isdisjoint(header["columns"].split())
            self.has_queues = "0-win" not in line[:60]
            self.macos_columns = MacosColumns(header["columns"].split()[1:])

    def take_other(self, fields: list[str]) -> bool:
        """Ignore a row of another protocol, or any in a section of other sockets; return whether it was one."""
        if self.elsewhere:
            return True
        internet = any(field[:3] in OTHER for field in fields[:3])
        self.others = self.others or internet
        return internet

    def take(self, fields: list[str]) -> bool:
        """Add a row; return whether the fields are a TCP row."""
        state = STATES.get(fields[5]) if len(fields) > 5 else None
        if state is None:
            added = self._take_without_state(fields)
        else:
            added = self._add(fields[3], fields[4], state, fields[1], fields[2])
        if added:
            self.protocols.add(fields[0])
        if added and len(fields) > 6 and self.macos_columns.columns:
            self.macos_columns.take(fields[6], self.rows)
        return added

    def _take_without_state(self, fields: list[str]) -> bool:
        """Add a row without a known state: -T, -x and -R print none, and a new system may have new ones."""
        if not self.has_queues:
            return len(fields) > 5 and self._add(fields[4], fields[5], TcpState.UNKNOWN, "0", "0")
        if len(fields) < 5 or (len(fields) == 5 and not self.stateless):
            return False
        state, word = TcpState.UNKNOWN, fields[5] if len(fields) > 5 else ""
        if word.endswith("*"):  # FreeBSD: a SYN or FIN has not been sent yet
            state = STATES.get(word[:-1], state)
        elif not self.stateless:
            if not (WORD.fullmatch(word) or (word.isdigit() and len(word) < 4)):
                return False
            if len(self.words) < MOST_WORDS:
                self.words.add(word)
        return self._add(fields[3], fields[4], state, fields[1], fields[2])

    def _add(self, local_end: str, remote_end: str, state: TcpState, receive: str, send: str) -> bool:
        local, _, local_port = local_end.rpartition(".")
        remote, _, remote_port = remote_end.rpartition(".")
        receive_queue = 0 if receive == "0" else count_of(receive)
        send_queue = 0 if send == "0" else count_of(send)
        if not local or not remote or receive_queue is None or send_queue is None:
            return False
        if ":" in local_port or ":" in remote_port:
            return False  # a row of Linux
        addresses, ports = self.addresses, self.ports
        local, local_number = addresses[local], ports[local_port]
        remote, remote_number = addresses[remote], ports[remote_port]
        if self.pcb or len(local_end) > SHORT or len(remote_end) > SHORT:
            cell = len(self.rows.cells)
            self.truncation.add(local_end, local_port, local, cell + LOCAL + 1, with_pcb=self.pcb > 0)
            self.truncation.add(remote_end, remote_port, remote, cell + REMOTE + 1, with_pcb=self.pcb > 0)
        self.rows.add((local, local_number, remote, remote_number, state, receive_queue, send_queue))
        return True

    def table(self, document: Document) -> SocketTable:
        """Return the finished table."""
        if self.stateless:
            document.note(f"{document.path} has no states (netstat with -T, -x or -R).")
        if self.words:
            document.note(f"{document.path} has unknown states: {', '.join(sorted(self.words))}.")
        ports_truncated = self.truncation.mark(self.rows)
        shows_all = not self.stateless and (self.has_header or TcpState.TIME_WAIT in self.rows.states())
        return self.rows.table(
            document,
            tool="netstat",
            queues=self.has_queues,
            shows_time_wait=True if shows_all else None,
            ports_truncated=ports_truncated,
            has_header=self.has_header,
        )


FORMAT = Format(
    name="netstat-bsd",
    title="a socket table of netstat on a BSD, macOS, AIX or HP-UX",
    recognises=recognises,
    read=read,
)


ADDRESS = 16
"""Characters to which an address is truncated."""
NAMED_ADDRESS = 12
"""The same with -A and without -n, where the port may be a name."""
END = 18
"""Characters to which address, dot and port are truncated with -A (the row begins with a PCB)."""
SHORT = ADDRESS + 1
"""Without -A, an endpoint of at most this many characters is complete."""


class Truncation:
    """The endpoints of one table that may be truncated.

    A longer endpoint of the same address family shows that the table truncates none.
    """

    def __init__(self) -> None:
        self.named = False
        """A port is a service name: the table was printed without -n."""
        self.wide: set[bool] = set()
        """Families (True: IPv6) with an endpoint that is longer than the limit."""
        self.addresses: dict[bool, set[str]] = {False: set(), True: set()}
        self.named_addresses: dict[bool, set[str]] = {False: set(), True: set()}
        self.ports: dict[bool, list[int]] = {False: [], True: []}
        """Indexes in Rows.cells of ports that may lack digits."""

    def add(self, end: str, port: str, address: str, cell: int, *, with_pcb: bool) -> None:
        """Add an endpoint: its text, the text of its port, its normalised address, the index of its port's cell."""
        length = len(end)
        shown = length - len(port) - 1
        if shown > ADDRESS or (with_pcb and length > END):
            self.wide.add(":" in end)
        elif shown == ADDRESS and is_exact(address):
            self.addresses[":" in end].add(address)
        if with_pcb:
            if length == END:
                self.ports[":" in end].append(cell)
            if shown == NAMED_ADDRESS and is_exact(address):
                self.named_addresses[":" in end].add(address)
            if not port.isdigit() and port != ANY:
                self.named = True

    def mark(self, rows: Rows) -> bool:
        """Mark addresses and ports that may be truncated in `rows`; return whether any ports were marked."""
        doubtful: set[str] = set()
        ports = 0
        for six in (False, True):
            if six in self.wide:
                continue
            doubtful |= self.addresses[six]
            if self.named:
                doubtful |= self.named_addresses[six]
            for cell in self.ports[six]:
                rows.cells[cell] = UNKNOWN_PORT
            ports += len(self.ports[six])
        if doubtful:
            rows.respell({text: text + CUT if text in doubtful else text for text in rows.addresses()})
        return ports > 0


PROCESS = pattern(r"(.{0,64}?):(\d{1,10})(?=\s|$)")
"""The name of a program may contain blanks, brackets and colons."""
MOST_COLUMNS = 16


class MacosColumns:
    """The columns after the state, by their names in the header."""

    def __init__(self, columns: Sequence[str] = ()) -> None:
        self.columns = tuple(columns[:MOST_COLUMNS])
        self._at = {name: at for at, name in reversed(list(enumerate(self.columns)))}
        self._programs: dict[str, str] = {}

    def take(self, rest: str, rows: Rows) -> None:
        """Add the values of these columns to the last row."""
        process = self._at.get("process:pid")
        texts = rest.split(None, len(self.columns) if process is None else process)
        if (at := self._at.get("rxbytes")) is not None and len(texts) > at + 1:
            rows.set("bytes_received", count_of(texts[at]))
            rows.set("bytes_sent", count_of(texts[at + 1]))
        if (at := self._at.get("pid")) is not None and len(texts) > at:
            rows.set("pid", count_of(texts[at]))
        if process is not None and len(texts) > process and (found := PROCESS.match(texts[process])):
            name = found[1][:LONGEST_OWNER]
            rows.set("owner", self._programs.setdefault(name, name))
            rows.set("pid", int(found[2]))
