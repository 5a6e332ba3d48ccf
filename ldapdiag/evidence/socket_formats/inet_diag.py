r"""Messages of inet_diag: the kernel's answer to a dump of all TCP sockets, as saved by `live.local.netlink`.

    inet_diag dump 1 little
    owner 573975 1171 java
    \n                                                      (an empty line; binary data follows)
    length type flags sequence pid | struct inet_diag_msg | attributes         (type 20; one for each socket)
    length type flags sequence pid | status                                    (type 3, NLMSG_DONE)

`little` or `big` is the byte order of the host; ports and addresses are in network order. `owner` lines contain the
owner of a socket: inode, process, program. IPv4 comes first, then IPv6, each with its NLMSG_DONE; without it the dump
is truncated, and a missing socket proves nothing. Attribute 2 is struct tcp_info, which is longer in newer kernels: 104
bytes in 3.10. Sockets in TIME-WAIT and SYN-RECV have none.
Source: Linux include/uapi/linux/{netlink,inet_diag,tcp}.h; net/ipv4/inet_diag.c (inet_sk_diag_fill).

The columns of an inet_diag dump: messages of the same layout are unpacked together, thousands at a time.
"""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from itertools import compress, repeat
from struct import Struct
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.addresses import ANY, Addresses
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.socket_formats.rows import LONGEST_OWNER
from ldapdiag.evidence.sockets import PROBING, SYN_AND_FIN, WITHOUT_PEER, SocketTable, TcpState, Timer, unanswered_for
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ldapdiag.evidence.document import Document

FIRST_LINE = pattern(r"inet_diag dump 1 (little|big)")
OWNER = pattern(rf"owner (\d{{1,10}}) (\d{{1,10}}) (.{{0,{LONGEST_OWNER}}})")

MOST_BYTES = 1 << 30
"""A million sockets are 400 MiB."""
MOST_TEXT = 1 << 26
"""Bytes of the lines before the messages."""

SLICE = 1 << 17
"""Bytes of messages unpacked at a time: as fast as a million, with less memory."""

DONE, SOCKET = 3, 20
"""Types of messages: NLMSG_DONE, SOCK_DIAG_BY_FAMILY."""
INTERRUPTED = 0x10
"""NLM_F_DUMP_INTR: the kernel's table changed while it was listed."""
HEADER = 16
"""Bytes of the netlink header of a message."""
LONGEST = 1 << 16
"""Bytes of a message; that of a socket has about 400."""

FAMILIES = {2: 4, 10: 6}


def recognises(head: Head) -> bool:
    """Recognise a dump by its first line."""
    return bool(head.lines) and FIRST_LINE.fullmatch(head.lines[0]) is not None


def read(document: Document) -> Iterator[SocketTable]:
    """Read the messages, up to the first damaged one, because the start of the next one is then unknown."""
    parts = _parts_of(iter(document.raw))
    text = next(parts)
    lines = text.decode(errors="backslashreplace").split("\n")
    first = FIRST_LINE.fullmatch(lines[0])
    document.seen += len(lines)
    if first is None:
        document.misread(lines[0])
        return
    dump = Dump(document, "<" if first[1] == "little" else ">")
    document.rows = lambda: len(dump.columns)
    for line in lines[1:]:
        if line:
            dump.take_owner(line)
    size = len(text)
    for chunk in parts:
        size += len(chunk)
        if size > MOST_BYTES:
            document.seen += 1
            document.misread(f"more than {MOST_BYTES >> 30} GiB")
            break
        if not dump.take(chunk):
            break
    if (table := dump.table()) is not None:
        yield table


def _parts_of(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the text up to the empty line, then the bytes after it in slices of SLICE."""
    text = bytearray()
    for chunk in chunks:
        searched = max(0, len(text) - 1)
        text += chunk
        if (end := text.find(b"\n\n", searched)) >= 0:
            yield bytes(text[: end + 1])
            del text[: end + 2]
            break
        if len(text) > MOST_TEXT:
            yield bytes(text)
            return
    else:
        yield bytes(text)
        return
    for first in range(0, len(text), SLICE):
        yield bytes(text[first : first + SLICE])
    text.clear()
    for chunk in chunks:
        for first in range(0, len(chunk), SLICE):
            yield chunk[first : first + SLICE]


class Dump:
    """One dump while its chunks are read."""

    def __init__(self, document: Document, order: str) -> None:
        self.document = document
        self.order = order
        self.head = Struct(f"{order}IHH8xB").unpack_from
        self.attribute = Struct(f"{order}HH").unpack_from
        self.incomplete = b""
        """The start of a message whose end is in the next chunk."""
        self.complete: list[int] = []
        self.layouts: dict[tuple[int, int], MessageLayout] = {}
        self.columns = InetDiagColumns(order)
        self.programs: dict[int, str] = {}
        self.processes: dict[int, int] = {}

    def take_owner(self, line: str) -> None:
        """Read the owner of an inode."""
        found = OWNER.fullmatch(line)
        if found is None:
            self.document.misread(line)
            return
        self.processes[int(found[1])] = int(found[2])
        self.programs[int(found[1])] = found[3]

    def take(self, chunk: bytes) -> bool:
        """Read the messages of a chunk, which may end within one; return whether the next one can be found."""
        data = self.incomplete + chunk
        at, end, seen = 0, len(data), 0
        head = self.head
        found: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        going = True
        while at + HEADER < end:
            length, kind, flags, family = head(data, at)
            padded = (length + 3) & ~3
            if at + padded > end and HEADER < length <= LONGEST:
                break
            seen += 1
            if kind == SOCKET and FIXED <= length <= LONGEST:
                found[length, family].append(at)
            elif not self._take_other(length, kind, flags):
                going = False
                break
            at += padded
        self.incomplete = data[at:] if going else b""
        self.document.seen += seen
        for (length, family), places in found.items():
            self._take_rows(data, length, family, places)
        return going

    def _take_other(self, length: int, kind: int, flags: int) -> bool:
        """Read the end of a listing; return whether it was one."""
        if kind == DONE and HEADER < length <= LONGEST and len(self.complete) < len(FAMILIES):
            self.complete.append((4, 6)[len(self.complete)])
            self._note_flags({flags})
            return True
        self.document.misread(f"a netlink message of type {kind}, {length} bytes long")
        return False

    def _note_flags(self, flags: set[int]) -> None:
        if any(each & INTERRUPTED for each in flags):
            self.document.note(
                f"{self.document.path}: the kernel's table changed while it was listed; sockets may be missing from it."
            )

    def _take_rows(self, data: bytes, length: int, family: int, places: list[int]) -> None:
        """Read messages of one length and address family, at these offsets."""
        if family not in FAMILIES:
            for _ in places:
                self.document.misread(f"a socket of address family {family}")
            return
        if (layout := self.layouts.get((length, family))) is None:
            info = self._info_of(data, places[0], length)
            layout = self.layouts[length, family] = MessageLayout(self.order, FAMILIES[family], info)
        fields = layout.columns(data, places)
        if layout.fits(fields):
            self._add(fields)
            return
        others: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for place in places:
            others[self._info_of(data, place, length)].append(place)
        for info, some in others.items():
            self._add(MessageLayout(self.order, FAMILIES[family], info).columns(data, some))

    def _add(self, fields: dict[str, Any]) -> None:
        self._note_flags(set(fields["flags"]))
        self.columns.add(fields)

    def _info_of(self, data: bytes, start: int, length: int) -> tuple[int, int]:
        """Return the offset of tcp_info in a message and its length, in bytes; zeros if there is none."""
        at = FIXED
        while at + 4 <= length:
            size, kind = self.attribute(data, start + at)
            if size < 4 or at + size > length:
                break
            if kind == TCP_INFO:
                return at, size - 4
            at += (size + 3) & ~3
        return 0, 0

    def table(self) -> SocketTable | None:
        """Return the finished table; None if no message was read."""
        document = self.document
        if self.incomplete:
            document.seen += 1
            document.misread(f"{len(self.incomplete):,} bytes that are not a complete message")
        if not self.complete and not self.columns:
            return None
        whole = len(self.complete) == len(FAMILIES)
        if not whole:
            document.note(f"{document.path} is truncated: it lacks the end of the kernel's list.")
        columns: dict[str, Any] = self.columns.finished()
        if set(columns["state"]) == {TcpState.LISTEN}:
            document.note(f"{document.path} contains listening sockets only: there was no connection.")
        if self.processes:
            columns["owner"] = [self.programs.get(inode, "") for inode in columns["inode"]]
            columns["pid"] = [self.processes.get(inode) for inode in columns["inode"]]
        return SocketTable(
            origin=document.origin(),
            tool="inet_diag",
            shows_time_wait=True,
            families=frozenset(self.complete),
            has_header=whole,
            **columns,
        )


FORMAT = Format(name="inet_diag", title="a socket table of the kernel", recognises=recognises, read=read)


TCP_INFO = 2
"""INET_DIAG_INFO, the attribute that contains struct tcp_info."""
FIXED = 88
"""Bytes of a message before its attributes: header and struct inet_diag_msg."""

FIELDS = (
    *("flags", "state", "timer", "tries", "local_port", "remote_port", "local_address", "remote_address", "cookie"),
    *("receive_queue", "send_queue", "inode"),
)
"""The fields of every message, in order."""
UNCONVERTED = ("local_port", "remote_port", "receive_queue", "send_queue", "inode", "cookie")
TCP_INFO_FIELDS = {
    "backoff": (4, "B", 1),
    "retransmission_timeout": (8, "I", 4),
    "last_sent": (44, "I", 4),
    "last_received": (52, "I", 4),
    "last_acknowledged": (56, "I", 4),
    "bytes_acknowledged": (120, "Q", 8),
    "bytes_received": (128, "Q", 8),
    "busy": (168, "Q", 8),
    "bytes_sent": (200, "Q", 8),
}
"""Fields of tcp_info: offset, struct format and length in bytes, in order. Older kernels have the first ones only."""
COLUMNS = (
    *("local_address", "local_port", "remote_address", "remote_port", "state"),
    *("receive_queue", "send_queue", "timer", "retransmits", "probes", "inode", "cookie"),
    *("last_received", "last_acknowledged", "busy", "bytes_sent", "bytes_received"),
)
INFO_COLUMNS = COLUMNS[-5:]

STATES = (*TcpState, TcpState.SYN_RECEIVED, TcpState.CLOSED, *[TcpState.UNKNOWN] * 242)
"""By number: 12 is NEW_SYN_RECV, 13 BOUND_INACTIVE."""
TIMERS = (*Timer, *[Timer.OFF] * 251)


class MessageLayout:
    """The positions of the fields in messages of one length and address family; a host has a few layouts."""

    def __init__(self, order: str, family: int, info: tuple[int, int]) -> None:
        at, self.info_length = info
        end = "4s12x" if family == 4 else "16s"
        fields = f"{order}6xH8x1xBBBHH{end}{end}4xQ4xII4xI"
        self.names = [*FIELDS]
        if self.info_length:
            fields += f"{at - FIXED}xHH"
            self.names += ["attribute_length", "attribute"]
            done = 0
            for name, (offset, kind, width) in TCP_INFO_FIELDS.items():
                if offset + width <= self.info_length:
                    fields += f"{offset - done}x{kind}"
                    done = offset + width
                    self.names.append(name)
        self.unpack = Struct(fields).unpack_from

    def columns(self, data: bytes, places: Iterable[int]) -> dict[str, tuple[Any, ...]]:
        """Return the fields of the messages at these offsets, by name, as columns."""
        rows = map(self.unpack, repeat(data), places)
        return dict(zip(self.names, zip(*rows, strict=True), strict=True))

    def fits(self, columns: Mapping[str, Sequence[int]]) -> bool:
        """Return whether all messages have their tcp_info at the offset of the first one."""
        if not self.info_length:
            return True
        lengths, attributes = columns["attribute_length"], columns["attribute"]
        return set(lengths) == {self.info_length + 4} and set(attributes) == {TCP_INFO}


class SwappedPorts(dict[int, int]):
    """Ports as read on a little-endian host, each converted from network byte order once."""

    def __missing__(self, port: int) -> int:
        swapped = self[port] = (port & 0xFF) << 8 | port >> 8
        return swapped


class RawAddresses(dict[bytes, str]):
    """The addresses of one dump by their bytes, each formatted once."""

    def __init__(self) -> None:
        super().__init__()
        self.texts = Addresses()
        """Makes an IPv4-mapped and the plain address one object."""

    def __missing__(self, raw: bytes) -> str:
        if len(raw) == 4:
            text = ".".join(map(str, raw)) if any(raw) else ANY
            address = self.texts.setdefault(text, text)
        else:
            address = self.texts[str(ipaddress.IPv6Address(raw))]
        self[raw] = address
        return address


class InetDiagColumns:
    """The columns of a socket table while its messages are read."""

    def __init__(self, order: str) -> None:
        self.little = order == "<"
        self.table: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        self.swapped = SwappedPorts()
        self.addresses = RawAddresses()
        self.has_info = False

    def __len__(self) -> int:
        return len(self.table["state"])

    def add(self, fields: dict[str, Sequence[Any]]) -> None:
        """Add rows, given as columns of numbers by field name, converted to the units of SocketTable."""
        if self.little:
            for name in ("local_port", "remote_port"):
                fields[name] = list(map(self.swapped.__getitem__, fields[name]))
        else:  # a cookie is two words, the low one first
            fields["cookie"] = [cookie >> 32 | (cookie & 0xFFFFFFFF) << 32 for cookie in fields["cookie"]]
        for name in UNCONVERTED:
            self.table[name] += fields[name]
        for name in ("local_address", "remote_address"):
            self.table[name] += map(self.addresses.__getitem__, fields[name])
        states = list(map(STATES.__getitem__, fields["state"]))
        self.table["state"] += states
        self._add_timers(fields["timer"], fields["tries"])
        self._add_info(states, fields)

    def _add_timers(self, numbers: Sequence[int], tries: Sequence[int]) -> None:
        """Add the timers and how often they expired; most sockets have none."""
        if not any(numbers):
            self.table["timer"] += repeat(Timer.OFF, len(numbers))
            for name in ("retransmits", "probes"):
                self.table[name] += repeat(0, len(numbers))
            return
        timers = list(map(TIMERS.__getitem__, numbers))
        pairs = list(zip(timers, tries, strict=True))
        self.table["timer"] += timers
        self.table["retransmits"] += [count if timer is Timer.RETRANSMIT else 0 for timer, count in pairs]
        self.table["probes"] += [count if timer in PROBING else 0 for timer, count in pairs]

    def _add_info(self, states: Sequence[TcpState], fields: dict[str, Sequence[Any]]) -> None:
        """Add the fields of tcp_info; None where there is none, or the kernel does not have the field."""
        self.has_info = self.has_info or "last_received" in fields
        if "busy" in fields:
            busy = [microseconds // 1000 for microseconds in fields["busy"]]
            numbers = zip(fields["backoff"], fields["timer"], strict=True)
            waiting = (doublings or TIMERS[number] is Timer.PERSIST for doublings, number in numbers)
            for row in compress(range(len(states)), waiting):
                timeout, last_sent = fields["retransmission_timeout"][row] // 1000, fields["last_sent"][row]
                busy[row] = min(busy[row], unanswered_for(fields["backoff"][row], timeout, last_sent))
            fields["busy"] = busy
        if "bytes_acknowledged" in fields and "bytes_sent" not in fields:
            fields["bytes_sent"] = [count if count > SYN_AND_FIN else 0 for count in fields["bytes_acknowledged"]]
        without = [] if WITHOUT_PEER.isdisjoint(states) else [state in WITHOUT_PEER for state in states]
        for name in INFO_COLUMNS:
            column = self.table[name]
            first = len(column)
            column += fields.get(name) or repeat(None, len(states))
            for row in compress(range(first, first + len(states)), without):
                column[row] = None

    def finished(self) -> dict[str, list[Any]]:
        """Return the columns, with each socket once: the kernel lists a table that changes, and may repeat sockets.

        Columns of tcp_info are left out if no message had it.
        """
        if not self.has_info:
            for name in INFO_COLUMNS:
                del self.table[name]
        cookies = self.table["cookie"]
        if len(set(cookies)) == len(cookies):
            return self.table
        kept = sorted({cookie: row for row, cookie in enumerate(cookies)}.values())
        return {name: [column[row] for row in kept] for name, column in self.table.items()}
