"""The way to a directory: a TCP or local socket, with TLS where asked, that keeps its time and can be stopped.

ldap3 has one of its own, whose waits nobody can end, whose time holds for each step, and whose Tls checks the name in
a certificate by itself; here OpenSSL does.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
import ssl
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import normalise_address

if TYPE_CHECKING:
    from ldapdiag.sources.live.ldap.place import Place

TICK = 0.1
"""Seconds between two looks at the clock and at Ctrl-C."""
CHUNK = 1 << 16
PENDING = frozenset({errno.EINPROGRESS, errno.EWOULDBLOCK})
BUSY = "try again, or give it more time; the tables of its sockets can be read without it: ssh://HOST"
CANNOT_CONNECT = {
    errno.ECONNREFUSED: "check host and port, and that the directory runs; one that is out of descriptors may refuse, "
    "too: ssh://HOST reads its sockets without it",
    errno.EHOSTUNREACH: "check the address, and the route and firewall between here and there",
    errno.ENETUNREACH: "check the address, and the route and firewall between here and there",
    errno.ENOENT: "check the path of the socket (ss -xl shows where a server listens)",
    errno.EACCES: "run as a user who may use this socket",
}


class Unanswered(Exception):  # noqa: N818  no error of ours: it ends as a gap
    """A directory did not answer what it was asked: why not, and what to do next."""

    def __init__(self, reason: str, how: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.how = how


@dataclass(slots=True)
class Patience:
    """How long all that is asked of one directory may take; `stop` ends it at once."""

    seconds: int
    stop: threading.Event
    until: float = field(init=False)

    def __post_init__(self) -> None:
        self.until = time.monotonic() + self.seconds

    def tick(self) -> float:
        """Return how long to wait before asking again; raise Unanswered when it is over."""
        if self.stop.is_set():
            raise Unanswered("stopped before it had answered everything")
        left = self.until - time.monotonic()
        if left <= 0:
            raise Unanswered(f"did not answer within {self.seconds} s", BUSY)
        return min(left, TICK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Whose certificates are believed."""

    ca_file: str | None = None
    """None: those the system believes."""
    insecure: bool = False
    """Any certificate will do."""


def connect(place: Place, patience: Patience) -> socket.socket:
    """Return a connected socket to the first address that answers; raise Unanswered with the reason of the last."""
    if place.scheme == "ldapi":
        return _connect_local(place.path, patience)
    addresses = _resolve(place, patience)
    trouble = Unanswered("has no address")
    for left, (family, address) in zip(range(len(addresses), 0, -1), addresses, strict=True):
        share = time.monotonic() + (patience.until - time.monotonic()) / left
        try:
            return _connect_one(family, address, share, patience)
        except OSError as error:
            trouble = Unanswered(
                f"cannot connect to {normalise_address(address[0])} port {place.port}: {_told(error)}",
                CANNOT_CONNECT.get(error.errno or 0, BUSY),
            )
    raise trouble


def secure(sock: socket.socket, place: Place, trust: Trust, patience: Patience) -> ssl.SSLSocket:
    """Return the socket with TLS on it, the certificate checked; raise Unanswered when it is not believed."""
    context = _context(trust)
    try:
        secured = context.wrap_socket(sock, server_hostname=place.host, do_handshake_on_connect=False)
        _shake_hands(secured, patience)
    except ssl.SSLCertVerificationError as error:
        raise Unanswered(
            f"its certificate is not accepted: {error.verify_message.rstrip('.')}",
            "name the CA that signed it with --ca-file, and the host as the certificate does; "
            "--insecure goes on without checking",
        ) from None
    except (OSError, ValueError) as error:
        raise Unanswered(
            f"TLS fails: {_told(error)}",
            f"check that port {place.port} speaks TLS (openssl s_client -connect {place.host}:{place.port})",
        ) from None
    return secured


def _shake_hands(sock: ssl.SSLSocket, patience: Patience) -> None:
    try:
        while True:
            sock.settimeout(patience.tick())
            with suppress(TimeoutError):  # a handshake goes on where it was
                return sock.do_handshake()
    except BaseException:
        sock.close()
        raise


def receive(sock: socket.socket, patience: Patience) -> bytes:
    """Return the next bytes, empty when the other end has closed."""
    while True:
        sock.settimeout(patience.tick())
        try:
            return sock.recv(CHUNK)
        except TimeoutError:
            continue
        except OSError as error:
            raise Unanswered(f"the connection broke: {_told(error)}", BUSY) from None


def _context(trust: Trust) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=trust.ca_file)
    except (OSError, ValueError) as error:
        raise Unanswered(
            f"cannot read certificates in {trust.ca_file}: {_told(error)}", "--ca-file takes a file in PEM"
        ) from None
    # From Python 3.13 on strict by default: it refuses CAs that 389-ds itself makes, and that ldapsearch accepts.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if trust.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _resolve(place: Place, patience: Patience) -> list[tuple[int, tuple[str, int]]]:
    """Return the addresses of a host. In a thread, for the resolver's waits cannot be ended; a late answer is lost."""
    found: list[tuple[int, tuple[str, int]]] = []
    failed: list[str] = []
    done = threading.Event()

    def ask() -> None:
        try:
            for family, _, _, _, address in socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM):
                found.append((family, address))  # type: ignore[arg-type]  # IPv6 has two fields more
        except (OSError, UnicodeError) as error:
            failed.append(_told(error))
        done.set()

    threading.Thread(target=ask, daemon=True).start()
    while not done.wait(patience.tick()):
        pass
    if failed:
        raise Unanswered(
            f"cannot find the address of {place.host[:255]!r}: {failed[0]}", "check the name, or give the address"
        )
    return found


def _connect_one(family: int, address: tuple[str, int], until: float, patience: Patience) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setblocking(False)
        _await_connection(sock, sock.connect_ex(address), until, patience)
    except BaseException:
        sock.close()
        raise
    return sock


def _await_connection(sock: socket.socket, problem: int, until: float, patience: Patience) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_WRITE)
        while problem in PENDING:
            if time.monotonic() >= until:
                raise TimeoutError(errno.ETIMEDOUT, "no answer")
            if selector.select(patience.tick()):
                problem = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if problem:
        raise OSError(problem, os.strerror(problem))


def _connect_local(path: str, patience: Patience) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        while True:
            sock.settimeout(patience.tick())
            try:
                sock.connect(path)
            except (BlockingIOError, TimeoutError):  # its queue is full
                patience.stop.wait(patience.tick())
            else:
                return sock
    except OSError as error:
        sock.close()
        raise Unanswered(
            f"cannot connect to the socket {path}: {_told(error)}", CANNOT_CONNECT.get(error.errno or 0, BUSY)
        ) from None
    except Unanswered:
        sock.close()
        raise


def _told(error: Exception) -> str:
    """Return what an error of the system or of OpenSSL says, without its numbers."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).lower().replace("_", " ")
    return (getattr(error, "strerror", None) or str(error)).lower()
