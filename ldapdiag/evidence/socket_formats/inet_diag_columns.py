"""The columns of a dump of inet_diag: messages of one layout, unpacked thousands at a time, and none by itself."""

from __future__ import annotations

import ipaddress
from itertools import compress, repeat
from struct import Struct
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.addresses import ANY, Addresses
from ldapdiag.evidence.sockets import TcpState, Timer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

TCP_INFO = 2
"""INET_DIAG_INFO, the attribute that holds struct tcp_info."""
FIXED = 88
"""Bytes of a message before its attributes: header and struct inet_diag_msg."""

FIELDS = (
    *("flags", "state", "timer", "tries", "local_port", "remote_port", "local_address", "remote_address", "cookie"),
    *("receive_queue", "send_queue", "inode"),
)
"""What every message has, in order."""
AS_TOLD = ("local_port", "remote_port", "receive_queue", "send_queue", "inode", "cookie")
TCP_INFO_FIELDS = {
    "last_received": (52, "I", 4),
    "last_acknowledged": (56, "I", 4),
    "bytes_acknowledged": (120, "Q", 8),
    "bytes_received": (128, "Q", 8),
    "busy": (168, "Q", 8),
    "bytes_sent": (200, "Q", 8),
}
"""Where tcp_info has what a column tells, in order, with kind and length; it may end before."""
COLUMNS = (
    *("local_address", "local_port", "remote_address", "remote_port", "state"),
    *("receive_queue", "send_queue", "timer", "retransmits", "probes", "inode", "cookie"),
    *("last_received", "last_acknowledged", "busy", "bytes_sent", "bytes_received"),
)
INFO_COLUMNS = COLUMNS[-5:]

STATES = (*TcpState, TcpState.SYN_RECEIVED, TcpState.CLOSED, *[TcpState.UNKNOWN] * 242)
"""By number: 12 is NEW_SYN_RECV, 13 BOUND_INACTIVE."""
TIMERS = (*Timer, *[Timer.OFF] * 251)
PROBING = frozenset({Timer.KEEPALIVE, Timer.PERSIST})
SYN_AND_FIN = 2
"""The kernel counts each as a byte when it is acknowledged."""
WITHOUT_PEER = frozenset({TcpState.LISTEN, TcpState.SYN_SENT})
"""Nothing ever came in: their tcp_info counts from the start of the machine."""


class MessageLayout:
    """Where messages of one length and family have what is told; those of a host have one of a few."""

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
        """Return what the messages at these places tell."""
        rows = map(self.unpack, repeat(data), places)
        return dict(zip(self.names, zip(*rows, strict=True), strict=True))

    def fits(self, columns: Mapping[str, Sequence[int]]) -> bool:
        """Tell whether every message has its tcp_info where the first one had it."""
        if not self.info_length:
            return True
        lengths, attributes = columns["attribute_length"], columns["attribute"]
        return set(lengths) == {self.info_length + 4} and set(attributes) == {TCP_INFO}


class SwappedPorts(dict[int, int]):
    """Ports as a little-endian host reads them, each swapped into network order once."""

    def __missing__(self, port: int) -> int:
        swapped = self[port] = (port & 0xFF) << 8 | port >> 8
        return swapped


class RawAddresses(dict[bytes, str]):
    """The addresses of one dump by their bytes, each written once."""

    def __init__(self) -> None:
        super().__init__()
        self.texts = Addresses()
        """An IPv4-mapped address is one object with the plain one."""

    def __missing__(self, raw: bytes) -> str:
        if len(raw) == 4:
            text = ".".join(map(str, raw)) if any(raw) else ANY
            address = self.texts.setdefault(text, text)
        else:
            address = self.texts[str(ipaddress.IPv6Address(raw))]
        self[raw] = address
        return address


class InetDiagColumns:
    """The columns of a table, growing."""

    def __init__(self, order: str) -> None:
        self.little = order == "<"
        self.table: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        self.swapped = SwappedPorts()
        self.addresses = RawAddresses()
        self.has_info = False

    def __len__(self) -> int:
        return len(self.table["state"])

    def add(self, told: dict[str, Sequence[Any]]) -> None:
        """Add rows, told as columns of numbers, which are put into the units of SocketTable."""
        if self.little:
            for name in ("local_port", "remote_port"):
                told[name] = list(map(self.swapped.__getitem__, told[name]))
        else:  # a cookie is two words, the low one first
            told["cookie"] = [cookie >> 32 | (cookie & 0xFFFFFFFF) << 32 for cookie in told["cookie"]]
        for name in AS_TOLD:
            self.table[name] += told[name]
        for name in ("local_address", "remote_address"):
            self.table[name] += map(self.addresses.__getitem__, told[name])
        states = list(map(STATES.__getitem__, told["state"]))
        self.table["state"] += states
        self._add_timers(told["timer"], told["tries"])
        self._add_info(states, told)

    def _add_timers(self, numbers: Sequence[int], tries: Sequence[int]) -> None:
        """Add what runs and how often it ran out; most sockets have no timer."""
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

    def _add_info(self, states: Sequence[TcpState], told: dict[str, Sequence[Any]]) -> None:
        """Add what tcp_info tells; None where there is none, or the kernel is too old to tell."""
        self.has_info = self.has_info or "last_received" in told
        if "busy" in told:
            told["busy"] = [microseconds // 1000 for microseconds in told["busy"]]
        if "bytes_acknowledged" in told and "bytes_sent" not in told:
            told["bytes_sent"] = [count if count > SYN_AND_FIN else 0 for count in told["bytes_acknowledged"]]
        without = [] if WITHOUT_PEER.isdisjoint(states) else [state in WITHOUT_PEER for state in states]
        for name in INFO_COLUMNS:
            column = self.table[name]
            first = len(column)
            column += told.get(name) or repeat(None, len(states))
            for row in compress(range(first, first + len(states)), without):
                column[row] = None

    def finished(self) -> dict[str, list[Any]]:
        """Return the columns, each socket in them once: the kernel walks a table that changes, and may meet one twice.

        InetDiagColumns that nothing was told for are left out.
        """
        if not self.has_info:
            for name in INFO_COLUMNS:
                del self.table[name]
        cookies = self.table["cookie"]
        if len(set(cookies)) == len(cookies):
            return self.table
        kept = sorted({cookie: row for row, cookie in enumerate(cookies)}.values())
        return {name: [column[row] for row in kept] for name, column in self.table.items()}
