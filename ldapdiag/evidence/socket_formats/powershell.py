r"""The sockets of PowerShell's Get-NetTCPConnection as CSV: ConvertTo-Csv or Export-Csv, any columns in any order.

    #TYPE Microsoft.Management.Infrastructure.CimInstance#root/standardcimv2/MSFT_NetTCPConnection
    "LocalAddress","LocalPort","RemoteAddress","RemotePort","State","OwningProcess"
    "::","389","::","0","Listen","688"
    "10.77.1.2","389","10.77.2.2","58862","Established","688"
    "10.77.1.2","389","10.77.2.2","58860","TimeWait","0"

With -UseCulture the delimiter is the list separator of the culture. States are names or numbers of the enumeration;
Bound is a socket with a port and no peer. TimeWait sockets have process 0. Get-NetTCPConnection has no column
ProcessName; administrators add it.
Source: learn.microsoft.com, powershell/module/nettcpip/get-nettcpconnection; MIB_TCP_STATE of tcpmib.h.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import ANY, ANY_PORT, CUT, UNKNOWN_PORT, Addresses, Ports
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.socket_formats.rows import LONGEST_OWNER, Rows, count_of
from ldapdiag.evidence.sockets import SocketTable, TcpState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

NUMBERED = (
    (1, "Closed", TcpState.CLOSED),
    (2, "Listen", TcpState.LISTEN),
    (3, "SynSent", TcpState.SYN_SENT),
    (4, "SynReceived", TcpState.SYN_RECEIVED),
    (5, "Established", TcpState.ESTABLISHED),
    (6, "FinWait1", TcpState.FIN_WAIT_1),
    (7, "FinWait2", TcpState.FIN_WAIT_2),
    (8, "CloseWait", TcpState.CLOSE_WAIT),
    (9, "Closing", TcpState.CLOSING),
    (10, "LastAck", TcpState.LAST_ACK),
    (11, "TimeWait", TcpState.TIME_WAIT),
    (12, "DeleteTCB", TcpState.CLOSED),
    (100, "Bound", TcpState.CLOSED),
)
STATES = {key: state for number, name, state in NUMBERED for key in (str(number), name.lower())}

TYPE_LINE = "#TYPE "
DELIMITERS = ",;\t"
LOCAL_ADDRESS, LOCAL_PORT, REMOTE_ADDRESS, REMOTE_PORT, STATE = (
    "localaddress",
    "localport",
    "remoteaddress",
    "remoteport",
    "state",
)
NEEDED = (LOCAL_ADDRESS, LOCAL_PORT, REMOTE_ADDRESS, REMOTE_PORT, STATE)
OTHER_END = frozenset({REMOTE_ADDRESS, REMOTE_PORT, STATE})
"""Columns that a table of UDP endpoints (Get-NetUDPEndpoint) does not have."""
PROCESS = "owningprocess"
OWNERS = ("processname", "process")
LONGEST_HEADER = 4096


def recognises(head: Head) -> bool:
    """Recognise the CSV by its header: a local port, and a column of the remote end."""
    return any(header_of(line) is not None for line in head.lines)


def header_of(line: str) -> tuple[str, dict[str, int]] | None:
    """Return the delimiter and the position of each column in a header; None for any other line."""
    if len(line) > LONGEST_HEADER or "LocalPort" not in line:
        return None
    delimiter = max(DELIMITERS, key=line.count)
    names = values_of(line, delimiter)
    columns = {name.strip().lower(): place for place, name in enumerate(names)}
    return (delimiter, columns) if LOCAL_PORT in columns and OTHER_END & columns.keys() else None


def values_of(line: str, delimiter: str) -> list[str]:
    """Return the values of a line; empty if it is not CSV. No value extends over several lines."""
    try:
        return next(csv.reader((line,), delimiter=delimiter), [])
    except csv.Error:
        return []


def read(document: Document) -> Iterator[SocketTable]:
    """Read the rows; each header begins another table."""
    snapshot: PowershellSnapshot | None = None
    addresses, ports = Addresses(), Ports()
    document.rows = lambda: len(snapshot.rows) if snapshot else 0
    for line in document.lines:
        if not line or line.isspace() or line.startswith(TYPE_LINE):
            continue
        if (header := header_of(line)) is not None:
            if snapshot is not None and snapshot.rows:
                yield snapshot.table(document)
            snapshot = PowershellSnapshot(*header, addresses, ports)
        elif snapshot is None or not snapshot.take(line):
            document.misread(line)
    if snapshot is not None and snapshot.rows:
        yield snapshot.table(document)


class PowershellSnapshot:
    """One snapshot of a host's sockets while it is read."""

    def __init__(self, delimiter: str, columns: dict[str, int], addresses: Addresses, ports: Ports) -> None:
        self.rows = Rows()
        self.delimiter = delimiter
        self.width = max(columns.values()) + 1
        self.missing = [name for name in NEEDED if name not in columns]
        self.places = tuple(columns.get(name, -1) for name in NEEDED)
        self.process = columns.get(PROCESS, -1)
        self.owner = next((columns[name] for name in OWNERS if name in columns), -1)
        self.addresses = addresses
        self.ports = ports
        self.owners: dict[str, str] = {}
        self.has_unknown = False

    def take(self, line: str) -> bool:
        """Add a row; return whether the line is one."""
        values = values_of(line, self.delimiter)
        if len(values) < self.width:
            return False
        local, local_port, remote, remote_port, word = (values[at] if at >= 0 else "" for at in self.places)
        port = self.ports[local_port]
        if port == UNKNOWN_PORT:
            return False
        remote_at = (
            self.addresses[remote] if remote else CUT,
            self.ports[remote_port] if remote_port else UNKNOWN_PORT,
        )
        state = STATES.get(word.lower())
        if state is None:
            state = TcpState.LISTEN if remote_at == (ANY, ANY_PORT) else TcpState.UNKNOWN
            self.has_unknown = self.has_unknown or (word != "" and state is TcpState.UNKNOWN)
        if state is TcpState.LISTEN:
            remote_at = ANY, ANY_PORT
        self.rows.add((self.addresses[local] if local else CUT, port, *remote_at, state, 0, 0))
        self._take_owner(values)
        return True

    def _take_owner(self, values: list[str]) -> None:
        """Add the process to the last row."""
        pid = count_of(values[self.process]) if self.process >= 0 else None
        if pid:
            self.rows.set("pid", pid)
        if self.owner >= 0 and values[self.owner]:
            owner = values[self.owner][:LONGEST_OWNER]
            self.rows.set("owner", self.owners.setdefault(owner, owner))

    def table(self, document: Document) -> SocketTable:
        """Return the finished table."""
        if self.missing:
            document.note(f"{document.path} lacks columns: {', '.join(self.missing)}.")
        if self.has_unknown:
            document.note(f"{document.path} has unknown states; their rows have no state.")
        return self.rows.table(document, tool="powershell", queues=False, shows_time_wait=self.rows.show_time_wait())


FORMAT = Format(
    name="powershell-csv",
    title="the sockets of PowerShell's Get-NetTCPConnection",
    recognises=recognises,
    read=read,
)
