r"""The open TCP sockets of lsof -nP -iTCP, or the TCP rows of a longer lsof.

    COMMAND   PID   TID   USER   FD   TYPE DEVICE SIZE/OFF NODE NAME
    ns-slapd 2133       dirsrv    8u  IPv6 548412      0t0  TCP *:389 (LISTEN)
    ns-slapd 2133  2140 dirsrv   64u  IPv6 549674      0t0  TCP 10.77.1.2:389->10.77.3.2:41816 (ESTABLISHED)

TID is printed with -K, and by default in lsof 4.87 to 4.89; such a table repeats a socket for each thread, any table
repeats a socket of several processes. It is read as one row, with its first owner. DEVICE is the inode on Linux and a
kernel address elsewhere; together with the name it identifies a socket. lsof lists open files, which sockets in
TIME_WAIT do not have; without root it shows the caller's programs only. SIZE/OFF is empty before lsof 4.81.
Source: lsof(8), OUTPUT; samples of lsof 4.87 to 4.95.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import ANY, ANY_PORT, Addresses, Ports
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.socket_formats.rows import LONGEST_OWNER, STATES, Rows, count_of
from ldapdiag.evidence.sockets import SocketTable, TcpState
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

HEADER = pattern(r"COMMAND +PID +.{0,40}USER +FD +TYPE +DEVICE +SIZE(?:/OFF)? +NODE +NAME")
FAMILIES = frozenset({"IPv4", "IPv6"})
NOISE = ("lsof: ", "      Output information may be incomplete.", "=====")


def recognises(head: Head) -> bool:
    """Recognise lsof by its header, or by a row of a TCP socket."""
    return any(HEADER.match(line) or _name_at(line[:300].split()) for line in head.lines)


def _name_at(fields: list[str]) -> int:
    """Return the position of the name in the fields of a TCP row; 0 for any other row."""
    if len(fields) < 7 or not fields[1].isdigit() or "TCP" not in fields[5:]:
        return 0
    protocol = fields.index("TCP", 5)
    is_row = len(fields) > protocol + 1 and not FAMILIES.isdisjoint(fields[protocol - 3 : protocol - 1])
    return protocol + 1 if is_row else 0


def read(document: Document) -> Iterator[SocketTable]:
    """Read the TCP rows; a repeated header (lsof -r) begins another table."""
    snapshot = LsofSnapshot(Addresses(), Ports())
    document.rows = lambda: len(snapshot.rows)
    for line in document.lines:
        fields = line.split(None, 14)
        if not fields:
            continue
        name = _name_at(fields)
        if name and snapshot.take(fields, name):
            continue
        if HEADER.match(line):
            if snapshot.rows:
                yield snapshot.table(document)
                snapshot = LsofSnapshot(snapshot.addresses, snapshot.ports)
            snapshot.has_header = True
        elif name or not (line.startswith(NOISE) or _is_other(fields)):
            document.misread(line)
    if snapshot.rows:
        yield snapshot.table(document)


def _is_other(fields: list[str]) -> bool:
    """Return whether these are the fields of another row: a file, a pipe, a UDP socket."""
    return len(fields) > 5 and fields[1].isdigit()


class LsofSnapshot:
    """One snapshot of the open sockets while it is read."""

    def __init__(self, addresses: Addresses, ports: Ports) -> None:
        self.rows = Rows()
        self.addresses = addresses
        self.ports = ports
        self.owners: dict[str, str] = {}
        self.seen: set[tuple[str, str]] = set()
        self.has_header = False

    def take(self, fields: list[str], name_at: int) -> bool:
        """Add a row, unless its socket is already in the table; return whether the fields are a TCP row."""
        name = fields[name_at]
        state_text = fields[name_at + 1] if len(fields) > name_at + 1 else ""
        if name == "no":  # `no PCB, CANTSENDMORE`: a file without a connection
            return True
        state = STATES.get(state_text.strip("()"), TcpState.UNKNOWN)
        local, _, local_port = name.partition("->")[0].rpartition(":")
        remote, _, remote_port = name.partition("->")[2].rpartition(":")
        if not local or ("->" in name and not remote):
            return False
        device = next(fields[at + 1] for at in range(name_at - 4, name_at - 2) if fields[at] in FAMILIES)
        if (device, name) in self.seen:
            return True
        self.seen.add((device, name))
        self.rows.add(
            (
                self.addresses[local],
                self.ports[local_port],
                self.addresses[remote] if remote else ANY,
                self.ports[remote_port] if remote else ANY_PORT,
                state,
                0,
                0,
            )
        )
        owner = fields[0][:LONGEST_OWNER]
        self.rows.set("owner", self.owners.setdefault(owner, owner))
        self.rows.set("pid", count_of(fields[1]))
        self.rows.set("inode", count_of(device))
        return True

    def table(self, document: Document) -> SocketTable:
        """Return the finished table."""
        return self.rows.table(
            document,
            tool="lsof",
            queues=False,
            shows_time_wait=False,
            shows_all_programs=False,
            has_header=self.has_header,
        )


FORMAT = Format(name="lsof", title="open sockets of lsof", recognises=recognises, read=read)
