"""The kernel's own table: /proc/net/tcp and /proc/net/tcp6, one or both in a file.

      sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
       0: 02024D0A:833C 02014D0A:0185 01 00000000:00000000 00:00000000 00000000     0        0 573975 1 000000002cac5fa4
       1: 1C00000A:97D0 412AF468:0050 06 00000000:00000000 03:000007C5 00000000     0        0 0 3 ffff8c7a12d31aa0

Addresses are 32-bit words in the byte order of the host, ports are numbers: 02024D0A is 10.77.2.2 on x86, ARM and
ppc64le, and 2.2.77.10 on s390x and SPARC, where 10.77.2.2 is 0A4D0202. The file does not contain the byte order; it is
derived from loopback and IPv4-mapped addresses. `timeout` is icsk_probes_out, the number of unanswered keepalive or
window probes. tx_queue of a LISTEN row is 0: the backlog is not shown. Source: Linux net/ipv4/tcp_ipv4.c
(get_tcp4_sock, get_timewait4_sock), net/ipv6/tcp_ipv6.c (get_tcp6_sock).
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import Addresses
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.socket_formats.rows import Rows, count_of
from ldapdiag.evidence.sockets import PROBING, SocketTable, TcpState, Timer
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.evidence.document import Document

HEADER = pattern(r"\s*sl +local_address +(rem_address|remote_address) ")
ROW = pattern(
    r"\s*\d+: [0-9A-F]{8}(?:[0-9A-F]{24})?:[0-9A-F]{4} [0-9A-F]{8}(?:[0-9A-F]{24})?:[0-9A-F]{4} [01][0-9A-F] "
)
ADDRESS = pattern(r"[0-9A-Fa-f]{8}(?:[0-9A-Fa-f]{24})?")

STATES = {f"{state:02X}": state for state in TcpState if state} | {"0C": TcpState.SYN_RECEIVED}
"""0C is NEW_SYN_RECV, which the kernel shows as 03 (get_openreq4)."""
TIMERS = {f"{timer:02X}": timer for timer in Timer}
FAMILIES = {"rem_address": 4, "remote_address": 6}
UDP_FIELDS = 13
"""Fields of a row of the similar /proc/net/udp; TCP has 12 (TIME_WAIT, SYN_RECV) or 17."""

LITTLE_ENDIAN = pattern(r"0100007F|0{16}FFFF0000.{8}|0{24}01000000")
BIG_ENDIAN = pattern(r"7F000001|0{20}FFFF.{8}|0{31}1")
"""127.0.0.1, an IPv4-mapped address and ::1 in either order."""


def recognises(head: Head) -> bool:
    """Recognise the kernel's table by its header, or by its rows of hexadecimal numbers."""
    return any(_is_tcp_header(line) or (ROW.match(line) and len(line.split()) != UDP_FIELDS) for line in head.lines)


def _is_tcp_header(line: str) -> bool:
    return HEADER.match(line) is not None and line.rstrip().endswith("inode")


def read(document: Document) -> Iterator[SocketTable]:
    """Read the rows; a repeated header of the same address family (a loop) begins another table."""
    snapshot = ProcNetSnapshot()
    document.rows = lambda: len(snapshot.rows)
    for line in document.lines:
        fields = line.split()
        if not fields or snapshot.take(fields):
            continue
        header = HEADER.match(line)
        if header is None:
            document.misread(line)
            continue
        family = FAMILIES[header[1]]
        if family in snapshot.headed and snapshot.rows and _is_tcp_header(line):
            yield snapshot.table(document)
            snapshot = ProcNetSnapshot()
        snapshot.take_header(family, tcp=_is_tcp_header(line))
    if snapshot.rows or (snapshot.headed and not document.missed):
        yield snapshot.table(document)


class HexNumbers(dict[str, int]):
    """The hexadecimal numbers of one document, each converted once."""

    def __missing__(self, text: str) -> int:
        if len(text) > 16:
            raise ValueError(text[:16])
        number = self[text] = int(text, 16)
        return number


class HexAddresses(dict[str, str]):
    """The hexadecimal addresses of one document, equal ones as one object; empty: not an address."""

    def __missing__(self, text: str) -> str:
        checked = text.upper() if ADDRESS.fullmatch(text) else ""
        return self.setdefault(text, checked) if checked else checked


class ProcNetSnapshot:
    """One snapshot of a host's sockets while it is read: its addresses stay hexadecimal to the last row."""

    def __init__(self) -> None:
        self.rows = Rows()
        self.numbers = HexNumbers()
        self.addresses = HexAddresses()
        self.headed: set[int] = set()
        self.in_udp = False

    def take_header(self, family: int, *, tcp: bool) -> None:
        """Read a header: the address family of the rows below it, and whether they are of TCP."""
        self.in_udp = not tcp
        if tcp:
            self.headed.add(family)

    def take(self, fields: list[str]) -> bool:
        """Add a TCP row; return whether the fields are a row of TCP or UDP."""
        if len(fields) < 10 or not fields[0].endswith(":"):
            return False
        if self.in_udp or len(fields) == UDP_FIELDS:
            return True
        state = STATES.get(fields[3])
        local, _, local_port = fields[1].partition(":")
        remote, _, remote_port = fields[2].partition(":")
        local = self.addresses[local]
        remote = self.addresses[remote]
        if state is None or not local or len(local) != len(remote):
            return False
        try:
            self._add(state, local, local_port, remote, remote_port, fields)
        except ValueError:
            return False
        return True

    def _add(
        self, state: TcpState, local: str, local_port: str, remote: str, remote_port: str, fields: list[str]
    ) -> None:
        send_queue, _, receive_queue = fields[4].partition(":")
        timer = TIMERS.get(fields[5][:2], Timer.OFF)
        retransmits = self.numbers[fields[6]]
        probes, inode = count_of(fields[8]), count_of(fields[9])
        if probes is None or inode is None:
            raise ValueError(fields[8:10])
        numbers = self.numbers
        self.rows.add(
            (
                local,
                numbers[local_port],
                remote,
                numbers[remote_port],
                state,
                numbers[receive_queue],
                numbers[send_queue],
            )
        )
        self.rows.set("timer", timer)
        self.rows.set("retransmits", retransmits if timer is Timer.RETRANSMIT else 0)
        self.rows.set("probes", probes if timer in PROBING else 0)
        self.rows.set("inode", inode)

    def table(self, document: Document) -> SocketTable:
        """Return the finished table, with addresses decoded."""
        rows = self.rows
        texts = rows.addresses()
        big_endian = is_big_endian(texts)
        known = Addresses()
        rows.respell({text: known[decoded(text, big_endian=big_endian)] for text in texts})
        families = self.headed | {4 if len(text) == 8 else 6 for text in texts}
        return rows.table(
            document,
            tool="proc",
            families=frozenset(families),
            shows_time_wait=True if self.headed or TcpState.TIME_WAIT in rows.states() else None,
            has_header=bool(self.headed),
        )


def is_big_endian(texts: Iterable[str]) -> bool:
    """Return whether addresses are big-endian, by those that are valid in one byte order only; without any, False."""
    votes = [0, 0]
    for text in texts:
        votes[0] += LITTLE_ENDIAN.fullmatch(text) is not None
        votes[1] += BIG_ENDIAN.fullmatch(text) is not None
    return votes[1] > votes[0]


def decoded(text: str, *, big_endian: bool) -> str:
    """Return the address of these hexadecimal words in the usual notation."""
    octets = bytes.fromhex(text)
    if not big_endian:
        octets = b"".join(octets[at : at + 4][::-1] for at in range(0, len(octets), 4))
    return str(ipaddress.ip_address(octets))


FORMAT = Format(name="proc-net-tcp", title="the kernel's table /proc/net/tcp", recognises=recognises, read=read)
