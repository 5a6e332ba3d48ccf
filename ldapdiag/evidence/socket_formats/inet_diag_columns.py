"""The columns of an inet_diag dump: messages of the same layout are unpacked together, thousands at a time."""

from __future__ import annotations

import ipaddress
from itertools import compress, repeat
from struct import Struct
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.addresses import ANY, Addresses
from ldapdiag.evidence.sockets import PROBING, SYN_AND_FIN, WITHOUT_PEER, TcpState, Timer, unanswered_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
