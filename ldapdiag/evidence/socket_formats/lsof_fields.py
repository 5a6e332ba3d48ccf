r"""The open TCP sockets of lsof -F, the output for programs: one field per line, after its letter.

    p2133                                  process: PID; K thread, c command, u user, L user's name, g, R
    cns-slapd
    f64                                    file: descriptor; a l t G D d s o i k P n
    tIPv6
    d549674
    PTCP
    n10.77.1.2:389->10.77.3.2:41816        name
    TST=ESTABLISHED                        T: state, and the queues
    TQR=0
    TQS=0

Only p and the requested fields are printed; a file ends where the next one begins. With -F0 a field ends in NUL, and a
line ends with the process or file. As in lsof.py, a socket of several threads or processes is read as one row. Without
P, TCP and UDP cannot be distinguished: names that are endpoints are kept, with a note; without T there are no states.
Source: lsof(8), OUTPUT FOR OTHER PROGRAMS; samples of lsof 4.87.
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

FIELDS = frozenset("aCcDdFfGgiKkLlMNnoPRrSsTtuZz")
"""The letters of lsof(8), except p, which is followed by a number, and m."""
PROCESS = pattern(r"p\d{1,10}")
NOISE = ("lsof: ", "      Output information may be incomplete.")
ENDPOINT = r"(?:\*|\[[0-9A-Fa-f:.%\w]{2,64}\]|(?!anon_inode:)[\w.-]{1,255}):(?:\*|[\w-]{1,64})"
NAME = pattern(rf"{ENDPOINT}(?:->{ENDPOINT})?")
FAMILIES = frozenset({"IPv4", "IPv6"})
TCP_INFO = frozenset({"ST", "QR", "QS"})
MARKER = "m"
"""The start of each repetition of lsof -r."""


def recognises(head: Head) -> bool:
    """Recognise the output by its first field, a process, followed only by fields."""
    fields = [field for line in head.lines if not line.startswith(NOISE) for field in _fields_of(line)]
    return (
        bool(fields)
        and PROCESS.fullmatch(fields[0]) is not None
        and any(field[0] in "fn" for field in fields)
        and all(_is_field(field) or field[0] == MARKER for field in fields)
    )


def _fields_of(line: str) -> list[str]:
    """Return the fields of a line: one, or with -F0 those separated by NUL."""
    return [field for field in line.split("\0") if field and not field.isspace()]


def _is_field(field: str) -> bool:
    return field[0] in FIELDS or PROCESS.fullmatch(field) is not None


def read(document: Document) -> Iterator[SocketTable]:
    """Read the sockets; at each marker of lsof -r another table begins."""
    snapshot = LsofFieldsSnapshot(Addresses(), Ports())
    document.rows = lambda: len(snapshot.rows)
    for line in document.lines:
        fields = _fields_of(line)
        if not fields:
            continue
        if fields[0][0] == MARKER:
            snapshot.end_file()
            if snapshot.rows:
                yield snapshot.table(document)
            snapshot = LsofFieldsSnapshot(snapshot.addresses, snapshot.ports)
        elif all(map(_is_field, fields)):
            snapshot.take_line(fields)
        elif not line.startswith(NOISE):
            document.misread(line)
    snapshot.end_file()
    if snapshot.rows:
        yield snapshot.table(document)


class LsofFieldsSnapshot:
    """One snapshot of the open sockets while it is read."""

    def __init__(self, addresses: Addresses, ports: Ports) -> None:
        self.rows = Rows()
        self.addresses = addresses
        self.ports = ports
        self.pid: int | None = None
        self.command = ""
        self.owners: dict[str, str] = {}
        self.file: dict[str, str] = {}
        """The fields of the file being read, by letter; those of T by the two letters after it."""
        self.seen: set[int | tuple[str, str]] = set()
        """The sockets by inode, or else by name and the device or address family."""
        self.has_queues = self.has_states = False
        self.without_protocol = False

    def take_line(self, fields: list[str]) -> None:
        """Read the fields of a line: one, or with -F0 all fields of a process or a file."""
        if len(fields) > 1:
            self.end_file()
            for field in fields:
                self._take(field[0], field[1:])
            self.end_file()
            return
        letter = fields[0][0]
        if letter != "T" and (letter in "fKp" or "n" in self.file):  # only T follows the name
            self.end_file()
        self._take(letter, fields[0][1:])

    def _take(self, letter: str, value: str) -> None:
        """Read one field of a process or of a file."""
        if letter == "p":
            self.pid, self.command = count_of(value), ""
        elif letter == "c":
            self.command = self.owners.setdefault(value[:LONGEST_OWNER], value[:LONGEST_OWNER])
        elif letter == "T":
            key, _, text = value.partition("=")
            if key in TCP_INFO:
                self.file[key] = text
        else:
            self.file[letter] = value

    def end_file(self) -> None:
        """Add the file that was read, if it is a TCP socket that is not yet in the table."""
        file, self.file = self.file, {}
        name = file.get("n", "").partition(" ")[0]
        if file.get("P", "TCP") != "TCP" or ("t" in file and file["t"] not in FAMILIES):
            return
        if not NAME.fullmatch(name):
            return
        inode = count_of(file.get("d", ""))
        socket = inode or (file.get("d") or file.get("t", ""), name)
        if socket in self.seen:
            return
        self.seen.add(socket)
        self._add(file, name, inode)

    def _add(self, file: dict[str, str], name: str, inode: int | None) -> None:
        local, _, local_port = name.partition("->")[0].rpartition(":")
        remote, _, remote_port = name.partition("->")[2].rpartition(":")
        self.without_protocol = self.without_protocol or "P" not in file
        self.has_states = self.has_states or "ST" in file
        self.has_queues = self.has_queues or "QR" in file or "QS" in file
        self.rows.add(
            (
                self.addresses[local],
                self.ports[local_port],
                self.addresses[remote] if remote else ANY,
                self.ports[remote_port] if remote else ANY_PORT,
                STATES.get(file.get("ST", ""), TcpState.UNKNOWN),
                count_of(file.get("QR", "")) or 0,
                count_of(file.get("QS", "")) or 0,
            )
        )
        if self.command:
            self.rows.set("owner", self.command)
        self.rows.set("pid", self.pid)
        if "d" in file:
            self.rows.set("inode", inode)

    def table(self, document: Document) -> SocketTable:
        """Return the finished table."""
        if self.without_protocol:
            document.note(f"{document.path} has no protocol (lsof -F without P): some rows may be UDP sockets.")
        if not self.has_states:
            document.note(f"{document.path} has no states (lsof -F without T).")
        return self.rows.table(
            document,
            tool="lsof",
            queues=self.has_queues,
            shows_time_wait=False,
            shows_all_programs=False,
        )


FORMAT = Format(name="lsof-fields", title="open sockets of lsof -F", recognises=recognises, read=read)
