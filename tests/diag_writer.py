"""Sockets written as the kernel answers for inet_diag: the other direction of its reader."""

from __future__ import annotations

import ipaddress
from struct import pack
from typing import TYPE_CHECKING

from ldapdiag.evidence.sockets import TcpState, Timer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from writers import Socket

PROBING = {Timer.KEEPALIVE, Timer.PERSIST}
WITHOUT_INFO = {TcpState.TIME_WAIT, TcpState.SYN_RECEIVED}
SEQUENCE = (255, 4711)
"""Number of the request, and port of who asked."""


def tcp_info(
    order: str, *, size: int = 284, last_received: int = 7000, busy: int = 2500, backoff: int = 0, timeout: int = 0
) -> bytes:
    """Return a struct tcp_info: idle as said, 5 s since the last ACK, 146 bytes sent and 96 received.

    It was `busy` for so many microseconds, as is the `timeout` of its retransmission.
    """
    words = bytearray(284)
    for at, kind, value in (
        *((52, "I", last_received), (56, "I", 5000), (120, "Q", 147), (128, "Q", 96)),
        *((168, "Q", busy), (200, "Q", 146)),
        *((4, "B", backoff), (8, "I", timeout), (44, "I", 800)),
    ):
        field = pack(order + kind, value)
        words[at : at + len(field)] = field
    return bytes(words[:size])


def attribute(order: str, kind: int, content: bytes) -> bytes:
    """Return a netlink attribute, padded."""
    return pack(order + "HH", len(content) + 4, kind) + content + bytes(-len(content) % 4)


def message(order: str, kind: int, content: bytes, *, flags: int = 2) -> bytes:
    """Return a netlink message."""
    return pack(order + "IHHII", len(content) + 16, kind, flags, *SEQUENCE) + content


def done(order: str, *, flags: int = 2) -> bytes:
    """Return the end of a listing."""
    return message(order, 3, bytes(4), flags=flags)


def _raw(socket: Socket, address: str) -> bytes:
    if socket.family == 4:
        return (bytes(4) if address == "*" else ipaddress.IPv4Address(address).packed) + bytes(12)
    if address == "*":
        return bytes(16)
    return ipaddress.IPv6Address(f"::ffff:{address}" if socket.mapped else address).packed


def row(
    socket: Socket, *, cookie: int, order: str = "<", attributes: Sequence[bytes] | None = None, flags: int = 2
) -> bytes:
    """Return the message of one socket."""
    if attributes is None:
        info = [] if socket.state in WITHOUT_INFO else [attribute(order, 2, tcp_info(order))]
        attributes = [attribute(order, 8, b"\0"), *info]
    fixed = pack(
        f"{order}BBBB2s2s16s16sIIIIIIII",
        *(10 if socket.family == 6 else 2, socket.state, socket.timer, socket.tries),
        *(socket.local_port.to_bytes(2, "big"), socket.remote_port.to_bytes(2, "big")),
        *(_raw(socket, socket.local_address), _raw(socket, socket.remote_address)),
        *(0, cookie & 0xFFFFFFFF, cookie >> 32, 0),
        *(socket.receive_queue, socket.send_queue, 389, socket.inode & 0xFFFFFFFF),
    )
    return message(order, 20, fixed + b"".join(attributes), flags=flags)


def start(order: str = "<", owners: str = "") -> bytes:
    """Return the lines before the messages."""
    return f"inet_diag dump 1 {'little' if order == '<' else 'big'}\n{owners}\n".encode()


def as_inet_diag(sockets: Iterable[Socket], *, order: str = "<", info: bool = True) -> bytes:
    """Return a whole dump, with tcp_info or without."""
    attributes = None if info else []
    rows: dict[int, list[bytes]] = {4: [], 6: []}
    for cookie, socket in enumerate(sockets, 0x1_0000_0001):
        rows[socket.family].append(row(socket, cookie=cookie, order=order, attributes=attributes))
    return start(order) + b"".join(b"".join(rows[family]) + done(order) for family in (4, 6))
