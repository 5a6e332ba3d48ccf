"""Socket listing by netlink (sock_diag(7)): the kernel's inet_diag messages. The only module that imports pyroute2.

pyroute2 is used for transport only: its decoder takes 80 microseconds and 4 KiB per socket, and returns an empty table
for a refused request. A marshal (set_marshal) keeps the messages as they are and raises the kernel's errors;
evidence/socket_formats/inet_diag.py decodes them. Its private parts in use: docs/decisions.md.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from dataclasses import field
from socket import AF_INET, AF_INET6, SOCK_DGRAM, socket
from struct import Struct
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.live.local.namespaces import run_inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.sources.live.local.processes import SocketOwner

FIRST_LINE = f"inet_diag dump 1 {sys.byteorder}\n".encode()
"""File type, version and byte order."""

MAX_SECONDS = 20
"""Default time limit of one listing; a million sockets take two seconds."""
TICK_SECONDS = 0.1
"""Time between two checks of the limit."""

TCP = 6
STATES = 0xFFF
"""All states but BOUND_INACTIVE, which no other method lists."""
WITH_TCP_INFO = 1 << 1
AF_NETLINK, NETLINK_SOCK_DIAG = 16, 4
SOCK_DIAG_BY_FAMILY = 20
NLMSG_NOOP, NLMSG_ERROR, NLMSG_DONE = 1, 2, 3
NLM_F_REQUEST, NLM_F_MULTI, NLM_F_DUMP = 0x1, 0x2, 0x300

HEADER = Struct("=IHHII").unpack_from
STATUS = Struct("=i").unpack_from
INODE = Struct("=84xI").unpack_from
END = 20
"""Bytes of NLMSG_DONE with its status."""
PACK_ERROR = Struct("=IHHIIi").pack
"""An NLMSG_ERROR message, to end a listing that the kernel does not end in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingLimit:
    """Time limit for listing sockets; `stop` ends it at once."""

    deadline: float = field(default_factory=lambda: monotonic() + MAX_SECONDS)
    """By time.monotonic()."""
    stop: Event = field(default_factory=Event)

    @property
    def error_number(self) -> int:
        """Return why the listing must end, as an errno: ECANCELED or ETIMEDOUT; 0 to continue."""
        if self.stop.is_set():
            return errno.ECANCELED
        return errno.ETIMEDOUT if monotonic() > self.deadline else 0

    def check(self) -> None:
        """Raise OSError when the listing must end."""
        if number := self.error_number:
            raise OSError(number, os.strerror(number))


def import_early() -> None:
    """Import pyroute2 before a listing, so that the import does not lengthen the span of the first snapshot."""
    with suppress(ImportError):
        import pyroute2.netlink.diag  # noqa: F401, PLC0415  Linux only, and it takes 0.2 s


def dump(
    namespace: str | None = None,
    *,
    tcp_info: bool = True,
    owners: Mapping[int, SocketOwner] | None = None,
    limit: ListingLimit | None = None,
) -> bytes:
    """Return all TCP sockets of a network namespace as the content of a capture file; `owners` are by inode.

    `namespace` is a path (/run/netns/app1, /proc/1171/ns/net), or None for the program's own. Raises OSError when it
    cannot be entered, when the kernel refuses or aborts the listing, and at the limit: a failure never looks like an
    empty table.
    """
    from pyroute2.netlink.nlsocket import NetlinkSocket  # noqa: PLC0415  Linux only, and it takes 0.2 s

    descriptor = run_inside(namespace, _open_netlink)  # closed with the socket below
    datagrams: list[bytes] = []
    with NetlinkSocket(NETLINK_SOCK_DIAG, fileno=descriptor) as kernel:
        for family in (AF_INET, AF_INET6):
            _list_family(kernel, family, datagrams, limit or ListingLimit(), tcp_info=tcp_info)
    owner_lines = _owner_lines(datagrams, owners) if owners else ""
    return b"".join((FIRST_LINE, owner_lines.encode(), b"\n", *datagrams))


def _open_netlink() -> int:
    return socket(AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG).detach()


def _list_family(
    kernel: Any,  # noqa: ANN401  pyroute2 has no types
    family: int,
    datagrams: list[bytes],
    limit: ListingLimit,
    *,
    tcp_info: bool,
) -> None:
    """Add the kernel's messages about all sockets of an address family to `datagrams`."""
    from pyroute2.netlink.diag import inet_diag_req  # noqa: PLC0415  Linux only, and it takes 0.2 s

    kernel.set_marshal(RawMarshal(datagrams))
    request = inet_diag_req()
    request["sdiag_family"] = family
    request["sdiag_protocol"] = TCP
    request["idiag_ext"] = WITH_TCP_INFO if tcp_info else 0
    request["idiag_states"] = STATES
    loop, queues = kernel.asyncore.event_loop, kernel.asyncore.msg_queue

    def watch() -> None:
        if number := limit.error_number:
            for tag in tuple(queues.queues):
                queues.put_nowait(tag, PACK_ERROR(20, NLMSG_ERROR, 0, 0, 0, -number))
        elif not done:
            loop.call_later(TICK_SECONDS, watch)

    done = False
    loop.call_soon(watch)
    for _ in kernel.nlm_request(request, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP):
        pass
    done = True


class RawMarshal:
    """A marshal for pyroute2 that keeps each datagram as it is, and detects only the end and errors."""

    seq_map: dict[int, Any]
    """Parsers by request; pyroute2 requires the attribute."""

    def __init__(self, datagrams: list[bytes]) -> None:
        self.seq_map = {}
        self.datagrams = datagrams

    def parse(self, data: bytes, *_: object) -> Iterator[dict[str, Any]]:
        """Yield one message for the whole datagram: the last one, or the first if that is an error.

        NLMSG_DONE is the only or the last message of a datagram. Data that only looks like it is detected by the
        decoder, which reads all messages.
        """
        first = HEADER(data, 0)
        last = HEADER(data, len(data) - END) if len(data) >= END else first
        kind, at = NLMSG_NOOP, 0
        if first[1] in {NLMSG_DONE, NLMSG_ERROR}:
            kind = first[1]
        elif last == (END, NLMSG_DONE, last[2], *first[3:]):
            kind, at = NLMSG_DONE, len(data) - END
        error = None
        if kind != NLMSG_NOOP:
            (status,) = STATUS(data, at + 16)
            if status < 0 or kind == NLMSG_ERROR:
                error = OSError(-status or errno.EBADMSG, os.strerror(-status or errno.EBADMSG))
        self.datagrams.append(data)
        yield {"header": {"type": kind, "flags": NLM_F_MULTI, "error": error}}

    def is_enough(self, message: dict[str, Any]) -> bool:
        """Return whether this is the last message; called by pyroute2."""
        return message["header"]["type"] in {NLMSG_DONE, NLMSG_ERROR}


def _owner_lines(datagrams: list[bytes], owners: Mapping[int, SocketOwner]) -> str:
    """Return a line for each owner of a socket in these messages."""
    lines = []
    for datagram in datagrams:
        at = 0
        while at < len(datagram):
            length, kind, *_ = HEADER(datagram, at)
            if kind == SOCK_DIAG_BY_FAMILY:
                (inode,) = INODE(datagram, at)
                if owner := owners.get(inode):
                    lines.append(f"owner {inode} {owner.pid} {owner.program}\n")
            at += (max(length, 16) + 3) & ~3
    return "".join(lines)
