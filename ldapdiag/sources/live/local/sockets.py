"""The TCP sockets of this host, by the best that can tell them; the one door to pyroute2, which only carries.

pyroute2's own decoding takes 80 microseconds and 4 KiB for a socket, and takes a refusal for an empty table; so its
messages go through a marshal of ours (set_marshal) that keeps them as they are and raises what the kernel refuses.
What they say is evidence/socket_formats/inet_diag.py's business.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from socket import AF_INET, AF_INET6, SOCK_DGRAM, socket
from struct import Struct
from threading import Event, get_native_id
from time import monotonic
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.origin import Span
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.local.namespaces import inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ldapdiag.sources.live.local.namespaces import Namespace
    from ldapdiag.sources.live.local.processes import Holder

FIRST_LINE = f"inet_diag dump 1 {sys.byteorder}\n".encode()
"""Says what the file is, and how to read its numbers."""

MOST_SECONDS = 20
"""For one listing, where nobody says; a million sockets take two."""
TICK_SECONDS = 0.1
"""How soon a listing notices that it is to stop."""
CHUNK = 1 << 16

TCP = 6
STATES = 0xFFF
"""All but BOUND_INACTIVE, which nobody else shows either."""
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
OUR_ANSWER = Struct("=IHHIIi").pack
"""For when the kernel has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Until when sockets may be listed; `stop` ends it at once."""

    deadline: float = field(default_factory=lambda: monotonic() + MOST_SECONDS)
    """By time.monotonic()."""
    stop: Event = field(default_factory=Event)

    @property
    def trouble(self) -> int:
        """Return why it is over, as an errno; 0 while it is not."""
        if self.stop.is_set():
            return errno.ECANCELED
        return errno.ETIMEDOUT if monotonic() > self.deadline else 0

    def check(self) -> None:
        """Raise OSError when it is over."""
        if number := self.trouble:
            raise OSError(number, os.strerror(number))


def take(
    namespace: Namespace,
    *,
    folder: str,
    look: int,
    held: Mapping[int, Holder] | None = None,
    limit: Limit | None = None,
) -> Iterator[Input | Gap]:
    """Yield the sockets of a namespace, told by the best that can tell them, and what could not, as a gap.

    `look` counts the looks at this host, from 1; `held` tells whose sockets they are, by inode.
    """
    limit = limit or Limit()
    with suppress(ImportError):
        import pyroute2.netlink.diag  # noqa: F401, PLC0415  now, so that it does not lengthen the span of the first look
    refusals: list[str] = []
    for telling, way in WAYS.items():
        start = datetime.now(UTC)
        try:
            limit.check()
            content = way(namespace, held, limit)
        except (OSError, ImportError) as error:
            if limit.trouble:
                yield _over(folder, limit)
                return
            refusals.append(f"{telling}: {_reason(error)}")
            continue
        taken = Span(start=start, end=datetime.now(UTC))
        path = f"{folder}/sockets-{look}.{telling}"
        asked = f"{telling} in {_called(namespace)}"
        yield Input(
            path=path, folder=folder, label=path, source=partial(BytesIO, content), named=True, taken=taken, asked=asked
        )
        if refusals:
            yield _gap(folder, refusals, f"; {telling} told fewer columns")
        return
    yield _gap(folder, refusals, "")


def _called(namespace: Namespace) -> str:
    if namespace.own:
        return "its own network namespace"
    return f"the network namespace {namespace.name or namespace.path}"


def _over(folder: str, limit: Limit) -> Gap:
    reason, how = "did not come in time", "give it more time (--timeout)"
    if limit.trouble == errno.ECANCELED:
        reason, how = "were not read: the run was interrupted", "run it again"
    return Gap(target=f"the sockets of {folder}", reason=reason, how=how)


def _gap(folder: str, refusals: list[str], instead: str) -> Gap:
    reason = "; ".join(refusals) + instead
    how = "run as root; in a container, as one that may enter other namespaces (CAP_SYS_ADMIN)"
    if "pyroute2" in reason:
        how = "install pyroute2 beside ldapdiag"
    return Gap(target=f"the sockets of {folder}", reason=reason, how=how)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__


def dump(
    namespace: str | None = None,
    *,
    tcp_info: bool = True,
    held: Mapping[int, Holder] | None = None,
    limit: Limit | None = None,
) -> bytes:
    """Return all TCP sockets of a network namespace as the content of a capture file; `held` is by inode.

    The namespace is ours, or one by its path (/run/netns/app1, /proc/1171/ns/net). Raises OSError when it cannot be
    entered, when the kernel refuses or breaks off the listing, or when the limit is reached: never does a failure look
    like an empty table.
    """
    from pyroute2.netlink.nlsocket import NetlinkSocket  # noqa: PLC0415  Linux has it alone, and it takes 0.2 s

    descriptor = inside(namespace, _opened)  # closed with the socket below
    kept: list[bytes] = []
    with NetlinkSocket(NETLINK_SOCK_DIAG, fileno=descriptor) as kernel:
        for family in (AF_INET, AF_INET6):
            _list(kernel, family, kept, limit or Limit(), tcp_info=tcp_info)
    owners = _owner_lines(kept, held) if held else ""
    return b"".join((FIRST_LINE, owners.encode(), b"\n", *kept))


def _opened() -> int:
    return socket(AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG).detach()


def _list(
    kernel: Any,  # noqa: ANN401  pyroute2 has no types
    family: int,
    kept: list[bytes],
    limit: Limit,
    *,
    tcp_info: bool,
) -> None:
    """Add the kernel's messages about all sockets of a family."""
    from pyroute2.netlink.diag import inet_diag_req  # noqa: PLC0415  Linux has it alone, and it takes 0.2 s

    kernel.set_marshal(Verbatim(kept))
    request = inet_diag_req()
    request["sdiag_family"] = family
    request["sdiag_protocol"] = TCP
    request["idiag_ext"] = WITH_TCP_INFO if tcp_info else 0
    request["idiag_states"] = STATES
    loop, queues = kernel.asyncore.event_loop, kernel.asyncore.msg_queue

    def watch() -> None:
        if number := limit.trouble:
            for tag in tuple(queues.queues):
                queues.put_nowait(tag, OUR_ANSWER(20, NLMSG_ERROR, 0, 0, 0, -number))
        elif not heard:
            loop.call_later(TICK_SECONDS, watch)

    heard = False
    loop.call_soon(watch)
    for _ in kernel.nlm_request(request, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP):
        pass
    heard = True


class Verbatim:
    """A marshal for pyroute2 that keeps each datagram as it is; it looks for the end, and for errors, only."""

    seq_map: dict[int, Any]
    """Parsers by request: pyroute2 asks for it."""

    def __init__(self, kept: list[bytes]) -> None:
        self.seq_map = {}
        self.kept = kept

    def parse(self, data: bytes, *_: object) -> Iterator[dict[str, Any]]:
        """Yield one message in place of all of a datagram's: the last one, or the first where that is an error.

        The end stands alone, or last: what only looks like it the reader finds out, who goes through all messages.
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
        self.kept.append(data)
        yield {"header": {"type": kind, "flags": NLM_F_MULTI, "error": error}}

    def is_enough(self, message: dict[str, Any]) -> bool:
        """Tell the last message: pyroute2 asks."""
        return message["header"]["type"] in {NLMSG_DONE, NLMSG_ERROR}


def _owner_lines(datagrams: list[bytes], held: Mapping[int, Holder]) -> str:
    """Return the lines that say who holds the sockets of these messages; others may be of other namespaces."""
    lines = []
    for datagram in datagrams:
        at = 0
        while at < len(datagram):
            length, kind, *_ = HEADER(datagram, at)
            if kind == SOCK_DIAG_BY_FAMILY:
                (inode,) = INODE(datagram, at)
                if holder := held.get(inode):
                    lines.append(f"owner {inode} {holder.pid} {holder.program}\n")
            at += (max(length, 16) + 3) & ~3
    return "".join(lines)


def _entrance(namespace: Namespace) -> str | None:
    return None if namespace.own else namespace.path


def _by_netlink(namespace: Namespace, held: Mapping[int, Holder] | None, limit: Limit) -> bytes:
    return dump(_entrance(namespace), held=held, limit=limit)


def _by_proc(namespace: Namespace, _: object, limit: Limit) -> bytes:
    """Return /proc/net/tcp and tcp6; those of a process can be read without entering its namespace."""
    if namespace.pid:
        return _proc_net(f"/proc/{namespace.pid}/net", limit)
    return inside(_entrance(namespace), lambda: _proc_net(f"/proc/self/task/{get_native_id()}/net", limit))


def _proc_net(folder: str, limit: Limit) -> bytes:
    content = bytearray()
    for path in (Path(folder, "tcp"), Path(folder, "tcp6")):
        if path.name == "tcp6" and not path.exists():  # a kernel without IPv6
            continue
        with path.open("rb", buffering=0) as table:
            while part := table.read(CHUNK):
                content += part
                limit.check()
    return bytes(content)


WAYS: dict[str, Callable[[Namespace, Mapping[int, Holder] | None, Limit], bytes]] = {
    "inet_diag": _by_netlink,
    "proc": _by_proc,
}
"""By what tells, the best first; a file's name ends with it. Both need no command: where neither tells anything of the
host itself, collectors.py has the script of sources/live/ssh/collect look, as on any other host, by ss or netstat."""
