"""Connections to a directory server: a TCP or local socket, with TLS on request, a time limit and a stop event.

ldap3 can open sockets itself, but its waits cannot be interrupted, its timeout holds for each step and not for the
whole, and its Tls class checks the name in a certificate itself; here OpenSSL does.
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
from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import normalise_address
from ldapdiag.evidence.ldap_probe import ProbeOutcome
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ldapdiag.sources.targets import LdapAddress

TICK_SECONDS = 0.1
"""Time between two checks of the time limit and of the stop event."""
CHUNK_BYTES = 1 << 16
PENDING = frozenset({errno.EINPROGRESS, errno.EWOULDBLOCK})
RETRY = "try again or raise --timeout; ssh://HOST reads the server's sockets without a query"
CONNECT_ADVICE = {
    errno.ECONNREFUSED: "check the host, the port and that the server runs; a server without free descriptors may "
    "refuse, too: ssh://HOST reads its sockets without a query",
    errno.EHOSTUNREACH: "check the address, the route and the firewalls to it",
    errno.ENETUNREACH: "check the address, the route and the firewalls to it",
    errno.ENOENT: "check the path of the socket ('ss -xl' lists the sockets that servers listen on)",
    errno.EACCES: "run as a user with access to this socket",
}
OUTCOMES = {
    errno.ECONNREFUSED: ProbeOutcome.REFUSED,
    errno.EHOSTUNREACH: ProbeOutcome.UNREACHABLE,
    errno.ENETUNREACH: ProbeOutcome.UNREACHABLE,
    errno.ETIMEDOUT: ProbeOutcome.TIMED_OUT,
}
"""What a failed connection shows of the server; other errors show only a fault of this host or of the command."""


class QueryFailed(Exception):  # noqa: N818  not an error of the program: it ends as a gap
    """A query to a directory server failed: the reason, what to do next, and what it shows of the server."""

    def __init__(self, reason: str, how: str | None = None, outcome: ProbeOutcome | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.how = how
        self.outcome = outcome
        self.peer: str | None = None
        """The address that was tried, if the connection failed."""


@dataclass(slots=True)
class TimeLimit:
    """Time limit of all queries to one directory server; `stop` ends them at once."""

    seconds: int
    stop: threading.Event
    deadline: float = field(init=False)
    """By time.monotonic()."""

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.seconds

    def restart(self) -> None:
        """Begin another step, with a limit of its own."""
        self.deadline = time.monotonic() + self.seconds

    def tick(self) -> float:
        """Return how many seconds to wait until the next check. Raises QueryFailed at the limit or when stopped."""
        if self.stop.is_set():
            raise QueryFailed("interrupted before the last answer")
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise QueryFailed(f"no answer in {self.seconds} s", RETRY, ProbeOutcome.NO_ANSWER)
        return min(remaining, TICK_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsTrust:
    """The certificates to accept."""

    ca_file: str | None = None
    """PEM file of certificate authorities; None for those of the system."""
    insecure: bool = False
    """Accept any certificate."""


def connect(address: LdapAddress, time_limit: TimeLimit) -> socket.socket:
    """Return a socket connected to the first address that answers. Raises QueryFailed with the reason of the last."""
    if address.scheme == "ldapi":
        return _connect_local(address.path, time_limit)
    resolved = _resolve(address, time_limit)
    failure = QueryFailed(f"cannot connect to {address.host}: it has no address", None, ProbeOutcome.UNRESOLVED)
    for left, (family, endpoint) in zip(range(len(resolved), 0, -1), resolved, strict=True):
        share = time.monotonic() + (time_limit.deadline - time.monotonic()) / left
        tried = normalise_address(endpoint[0])
        try:
            return _connect_one(family, endpoint, share, time_limit)
        except OSError as error:
            failure = _connect_failure(f"{tried} port {address.port}", error)
        except QueryFailed as over:
            over.outcome, over.peer = over.outcome and ProbeOutcome.TIMED_OUT, tried
            raise
        failure.peer = tried
    raise failure


def _connect_failure(where: str, error: OSError) -> QueryFailed:
    number = error.errno or 0
    reason = f"cannot connect to {where}: {_message(error)}"
    return QueryFailed(reason, CONNECT_ADVICE.get(number, RETRY), OUTCOMES.get(number))


def secure(sock: socket.socket, address: LdapAddress, trust: TlsTrust, time_limit: TimeLimit) -> ssl.SSLSocket:
    """Return the socket with TLS. Raises QueryFailed when TLS or the check of the certificate fails."""
    context = _context(trust)
    try:
        secured = context.wrap_socket(sock, server_hostname=address.host, do_handshake_on_connect=False)
        _handshake(secured, time_limit)
    except ssl.SSLCertVerificationError as error:
        raise QueryFailed(
            f"certificate verification failed: {error.verify_message.rstrip('.')}",
            "name the CA that signed it with --ca-file, and the host as in the certificate; "
            "--insecure skips the verification",
        ) from None
    except (OSError, ValueError) as error:
        raise QueryFailed(
            f"TLS failed: {_message(error)}",
            f"check that port {address.port} uses TLS (openssl s_client -connect {address.host}:{address.port})",
        ) from None
    return secured


def _handshake(sock: ssl.SSLSocket, time_limit: TimeLimit) -> None:
    try:
        while True:
            sock.settimeout(time_limit.tick())
            with suppress(TimeoutError):  # the next call continues the handshake
                return sock.do_handshake()
    except BaseException:
        sock.close()
        raise


def receive(sock: socket.socket, time_limit: TimeLimit) -> bytes:
    """Return the next bytes, empty when the server has closed the connection."""
    while True:
        sock.settimeout(time_limit.tick())
        try:
            return sock.recv(CHUNK_BYTES)
        except TimeoutError:
            continue
        except OSError as error:
            raise QueryFailed(f"the connection failed: {_message(error)}", RETRY, ProbeOutcome.CLOSED) from None


def _context(trust: TlsTrust) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=trust.ca_file)
    except (OSError, ValueError) as error:
        raise QueryFailed(
            f"cannot read certificates from {trust.ca_file}: {_message(error)}", "give --ca-file a file in PEM format"
        ) from None
    # Strict by default from Python 3.13 on: that refuses CAs that 389-ds itself makes and ldapsearch accepts.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if trust.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _resolve(address: LdapAddress, time_limit: TimeLimit) -> list[tuple[int, tuple[str, int]]]:
    """Return the addresses of a host. A thread asks, because the resolver cannot be interrupted."""
    found: list[tuple[int, tuple[str, int]]] = []
    failed: list[str] = []
    done = threading.Event()

    def resolve() -> None:
        try:
            for family, _, _, _, endpoint in socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM):
                found.append((family, endpoint))  # type: ignore[arg-type]  # IPv6 has two more fields
        except (OSError, UnicodeError) as error:
            failed.append(_message(error))
        done.set()

    threading.Thread(target=resolve, daemon=True).start()
    try:
        while not done.wait(time_limit.tick()):
            pass
    except QueryFailed as over:
        over.outcome = over.outcome and ProbeOutcome.UNRESOLVED
        raise
    if failed:
        reason = f"cannot resolve host name {address.host[:255]!r}: {failed[0]}"
        raise QueryFailed(reason, "check the name, or use the address", ProbeOutcome.UNRESOLVED)
    return found


def _connect_one(family: int, endpoint: tuple[str, int], deadline: float, time_limit: TimeLimit) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setblocking(False)
        _await_connection(sock, sock.connect_ex(endpoint), deadline, time_limit)
    except BaseException:
        sock.close()
        raise
    return sock


def _await_connection(sock: socket.socket, code: int, deadline: float, time_limit: TimeLimit) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_WRITE)
        while code in PENDING:
            if time.monotonic() >= deadline:
                raise TimeoutError(errno.ETIMEDOUT, "no answer")
            if selector.select(time_limit.tick()):
                code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise OSError(code, os.strerror(code))


def _connect_local(path: str, time_limit: TimeLimit) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        while True:
            sock.settimeout(time_limit.tick())
            try:
                sock.connect(path)
            except (BlockingIOError, TimeoutError):  # its accept queue is full
                time_limit.stop.wait(time_limit.tick())
            else:
                return sock
    except OSError as error:
        sock.close()
        raise _connect_failure(f"the socket {path}", error) from None
    except QueryFailed:
        sock.close()
        raise


def _message(error: Exception) -> str:
    """Return the message of a system or OpenSSL error, without its numbers."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).lower().replace("_", " ")
    return (getattr(error, "strerror", None) or str(error)).lower()
