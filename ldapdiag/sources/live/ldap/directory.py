"""One read-only session with a directory server; its answers become LDIF. The only module that imports ldap3.

One connection, one time limit, searches with attribute lists. No query is sent twice, no referral is followed, and the
session ends with an unbind. A query that the server refuses, hides or leaves unanswered becomes a gap with advice.
Which private parts of ldap3 this uses: docs/decisions.md, 2026-11-22.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.addresses import normalise_address
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.ldif import ASKED_BY, entries
from ldapdiag.evidence.origin import Span
from ldapdiag.sources.budget import RUN_BYTES, Budget
from ldapdiag.sources.collection_options import Mechanism, StartTls
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.ldap import queries
from ldapdiag.sources.live.ldap.connecting import QueryFailed, TimeLimit, TlsTrust, connect, receive, secure
from ldapdiag.sources.live.ldap.entries import ENTRY, REFERENCE, EntryBuffer, MalformedMessage, operation_of, size_of
from ldapdiag.sources.live.ldap.result_codes import NOT_SHOWN, SUCCESS, bind_refused, list_cut, search_refused

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # ldap3 2.9.1 uses names that pyasn1 has renamed
    import ldap3
    from ldap3.core.exceptions import LDAPException, LDAPPackageUnavailableError, LDAPSessionTerminatedByServerError
    from ldap3.strategy.sync import SyncStrategy

if TYPE_CHECKING:
    import socket
    import threading

    from ldapdiag.evidence.family import Family
    from ldapdiag.sources.collection_options import BindOptions
    from ldapdiag.sources.live.ldap.queries import Query
    from ldapdiag.sources.targets import LdapAddress

START_TLS = "1.3.6.1.4.1.1466.20037"
WHO_AM_I = "1.3.6.1.4.1.4203.1.11.3"
MAX_BYTES = 1 << 27
"""Of all answers of one server; 20,000 connections of a slapd take 36 MB."""
MAX_OTHER_BYTES = 1 << 16
"""Of a message that is not an entry."""
TLS_PORTS = frozenset({636, 3269})
TLS_ALERT = b"\x15\x03"
"""First bytes of the answer on a port that accepts TLS only."""
READ_SOCKETS = "ssh://HOST reads the server's sockets without a query"


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryAnswers:
    """The answers of one directory server, and a gap for each query without one."""

    pieces: tuple[Input, ...] = ()
    gaps: tuple[Gap, ...] = ()
    peer: str | None = None
    """The server's address of the connection; None for a local socket, and without a connection."""


def query_directory(
    address: LdapAddress,
    label: str,
    bind: BindOptions,
    *,
    folder: str,
    timeout_seconds: int,
    stop: threading.Event,
    budget: Budget | None = None,
) -> DirectoryAnswers:
    """Send a directory server all queries for its product; `stop` ends the session early.

    `label` names the server in messages. The size of the answers counts against `budget`, which may be shared.
    Never raises for a fault of the server: each failure is a gap, and the answers before it are kept.
    """
    session = _Session(address, label, bind, TimeLimit(timeout_seconds, stop), budget or Budget(RUN_BYTES))
    try:
        session.run()
    except QueryFailed as failure:
        session.add_gap(failure.reason, failure.how)
    except MalformedMessage:
        session.add_gap("the server sent data that is not LDAP", "check host and port")
    except Exception as error:  # noqa: BLE001  ldap3 may raise anything on hostile bytes; the run must continue
        session.add_gap(
            f"cannot decode the server's answers ({type(error).__name__})",
            "report it, with the server's product and version",
        )
    finally:
        session.close()
    return session.answers(folder)


class _Strategy(SyncStrategy):
    """Send and wait as ldap3 does, but on an open socket, and with the entries of a search taken out."""

    def __init__(
        self, connection: ldap3.Connection, sock: socket.socket, time_limit: TimeLimit, budget: Budget
    ) -> None:
        super().__init__(connection)
        self.sock = sock
        self.time_limit = time_limit
        self.budget = budget
        self.unparsed = bytearray()
        self.received = 0
        self.entries = EntryBuffer()
        self.wanted: frozenset[str] = frozenset()

    def open(self, *_: object, **__: object) -> None:
        """Use the socket that is already open."""
        self._outstanding: dict[int, Any] = {}
        self.connection.socket = self.sock
        self.connection.closed = False
        self.connection.listening = True

    def receiving(self) -> list[bytes]:  # type: ignore[override]  # the stubs say None; ldap3 returns a list
        """Return the next message that is not an entry; store entries, skip referrals."""
        while True:
            message = self._message()
            operation, at = operation_of(message)
            if operation == ENTRY:
                self.entries.add(message, at, self.wanted)
            elif operation != REFERENCE:
                if len(message) > MAX_OTHER_BYTES:
                    raise MalformedMessage
                return [message]

    def _message(self) -> bytes:
        while (size := size_of(self.unparsed)) is None or len(self.unparsed) < size[1]:
            if self.received > MAX_BYTES or (size and size[1] > MAX_BYTES):
                raise QueryFailed(f"its answer exceeds {MAX_BYTES >> 20} MiB", READ_SOCKETS)
            chunk = receive(self.connection.socket, self.time_limit)
            if not chunk:
                raise QueryFailed("the server closed the connection before its answer was complete", READ_SOCKETS)
            self.received += len(chunk)
            if not self.budget.take(len(chunk)):
                raise QueryFailed(
                    f"the answers of all targets exceed {RUN_BYTES >> 30} GiB", "name fewer targets in one run"
                )
            self.unparsed += chunk
            if self.unparsed.startswith(TLS_ALERT):
                raise QueryFailed("this port requires TLS", "use ldaps:// with this port")
        message = bytes(self.unparsed[: size[1]])
        del self.unparsed[: size[1]]
        return message


class _Session:
    """One connection, its queries and their results."""

    def __init__(
        self, address: LdapAddress, label: str, bind: BindOptions, time_limit: TimeLimit, budget: Budget
    ) -> None:
        self.address = address
        self.label = label
        self.bind = bind
        self.time_limit = time_limit
        self.budget = budget
        self.files: dict[str, EntryBuffer] = {}
        self.taken: dict[str, Span] = {}
        self.gaps: list[Gap] = []
        self.peer: str | None = None
        self.client: tuple[str, int] | None = None
        """The client endpoint of this session, which is no client of the incident."""
        self.account = bind.dn
        self.sock: socket.socket | None = None
        self.connection: ldap3.Connection | None = None

    def add_gap(self, reason: str, how: str | None = None) -> None:
        self.gaps.append(Gap(target=self.label, reason=reason, how=how))

    def run(self) -> None:
        """Connect, bind, and send the queries. Raises QueryFailed when the session cannot continue."""
        address = self.address
        self.sock = connect(address, self.time_limit)
        self._note_endpoints()
        if address.scheme == "ldaps":
            self.sock = secure(self.sock, address, self._trust, self.time_limit)
        connection, strategy = self._connection(address)
        self.connection = connection
        connection.open(read_server_info=False)
        try:
            if address.scheme == "ldap" and self.bind.start_tls is not StartTls.NO:
                self._start_tls(connection, strategy, address)
            self._bind(connection)
        except QueryFailed as failure:
            if address.scheme == "ldap" and address.port in TLS_PORTS and not strategy.received:
                raise QueryFailed(failure.reason, f"port {address.port} uses TLS: use ldaps://") from None
            raise
        root = self._root_dse(connection, strategy)
        if WHO_AM_I in root.get("supportedextension", ()):
            self._learn_account(connection)
        for query in queries.QUERIES[self._product(root)]:
            base = queries.base_of(query, root)
            if base is not None:
                self._search(connection, strategy, query, base)

    def close(self) -> None:
        """Unbind and close, in any state of the session."""
        if self.connection is not None and not self.connection.closed:
            with suppress(Exception):  # the socket may be broken in any way
                self.connection.unbind()
        if self.sock is not None:
            self.sock.close()

    def answers(self, folder: str) -> DirectoryAnswers:
        pieces = tuple(self._piece(file, folder) for file, buffer in self.files.items() if buffer.entries)
        return DirectoryAnswers(pieces=pieces, gaps=tuple(self.gaps), peer=self.peer)

    @property
    def _trust(self) -> TlsTrust:
        return TlsTrust(ca_file=self.bind.ca_file, insecure=self.bind.insecure)

    @property
    def _account_label(self) -> str:
        return f"{self.account!r}" if self.account else "an anonymous bind"

    def _note_endpoints(self) -> None:
        assert self.sock is not None  # noqa: S101  for mypy: just connected
        with suppress(OSError):
            client, server = self.sock.getsockname(), self.sock.getpeername()
            if isinstance(server, tuple):
                self.peer = normalise_address(server[0])
                self.client = normalise_address(client[0]), client[1]

    def _connection(self, address: LdapAddress) -> tuple[ldap3.Connection, _Strategy]:
        """Return an ldap3 connection on the open socket; nothing is sent yet."""
        connection = ldap3.Connection(
            ldap3.Server(address.host or "localhost", get_info=ldap3.NONE),
            auto_bind="NONE",
            auto_referrals=False,
            auto_range=False,
            check_names=False,
            return_empty_attributes=False,
            read_only=True,
            **self._credentials(address),
        )
        assert self.sock is not None  # noqa: S101  for mypy: just connected
        strategy = _Strategy(connection, self.sock, self.time_limit, self.budget)
        connection.strategy = strategy
        connection.open, connection.send = strategy.open, strategy.send
        connection.get_response, connection.post_send_search = strategy.get_response, strategy.post_send_search
        connection.post_send_single_response = strategy.post_send_single_response
        return connection, strategy

    def _credentials(self, address: LdapAddress) -> dict[str, Any]:
        """Return the bind as arguments of ldap3.Connection."""
        if self.bind.mechanism is Mechanism.EXTERNAL:
            return {"authentication": ldap3.SASL, "sasl_mechanism": ldap3.EXTERNAL, "sasl_credentials": ""}
        if self.bind.mechanism is Mechanism.GSSAPI:
            return {"authentication": ldap3.SASL, "sasl_mechanism": ldap3.KERBEROS, "sasl_credentials": (address.host,)}
        if self.bind.dn:
            if not self.bind.password:
                raise QueryFailed(f"cannot bind as {self.bind.dn!r}: no password given", "use -W or -y FILE")
            return {"authentication": ldap3.SIMPLE, "user": self.bind.dn, "password": self.bind.password}
        return {"authentication": ldap3.ANONYMOUS}

    def _start_tls(self, connection: ldap3.Connection, strategy: _Strategy, address: LdapAddress) -> None:
        """Start TLS on the connection. With -Z continue without it if the server has none, but send no password."""
        connection.extended(START_TLS)
        if connection.result["result"] != SUCCESS:
            if self.bind.start_tls is StartTls.MUST or self.bind.password:
                raise QueryFailed(
                    f"StartTLS failed ({connection.result['description']}); no password was sent",
                    "use ldaps://, or omit -Z to send the password in clear text",
                )
            return
        if strategy.unparsed:
            raise QueryFailed("data arrived before the TLS handshake", "do not trust the path to this server")
        self.sock = secure(connection.socket, address, self._trust, self.time_limit)
        connection.socket = self.sock

    def _bind(self, connection: ldap3.Connection) -> None:
        try:
            connection.bind(read_server_info=False)
        except LDAPPackageUnavailableError as error:
            raise QueryFailed(
                f"GSSAPI needs a Python package ({error})", "pip install 'ldapdiag[gssapi]', or bind with -D and -W"
            ) from None
        except LDAPSessionTerminatedByServerError:
            raise QueryFailed("the server ended the session at the bind", READ_SOCKETS) from None
        except (QueryFailed, MalformedMessage):
            raise
        except LDAPException as error:
            raise QueryFailed(f"cannot bind ({type(error).__name__})", "check -D, -W and -Y") from None
        except Exception as error:
            if self.bind.mechanism is not Mechanism.GSSAPI:
                raise
            raise QueryFailed(f"no Kerberos ticket: {str(error)[:200]}", "run kinit; klist lists tickets") from error
        if connection.result["result"] != SUCCESS:
            raise bind_refused(connection.result, self._account_label)

    def _root_dse(self, connection: ldap3.Connection, strategy: _Strategy) -> queries.RootDse:
        self._search(connection, strategy, queries.ROOT_DSE_QUERY, "")
        text = self.files[queries.ROOT_DSE].ldif()
        read = entries(Document(path=queries.ROOT_DSE, source=lines_of([text])))
        return next((entry.attributes for entry in read), {})

    def _product(self, root: queries.RootDse) -> Family:
        identity = queries.product_of(root)
        if identity is None:
            raise QueryFailed(
                "unknown product in its root DSE, so no further query was sent",
                "let this account read the root DSE (vendorVersion), or name files with the contents of cn=monitor",
            )
        return identity.family

    def _learn_account(self, connection: ldap3.Connection) -> None:
        """Ask for the DN of this session (Who am I?, RFC 4532): the server's connection list contains it."""
        with suppress(LDAPException):
            identity = connection.extend.standard.who_am_i()
            if isinstance(identity, str):
                self.account = identity.removeprefix("dn:").strip()

    def _search(self, connection: ldap3.Connection, strategy: _Strategy, query: Query, base: str) -> None:
        """Send one query, and keep the answer if it is complete."""
        buffer = strategy.entries = self.files.setdefault(query.file, EntryBuffer())
        if query.lists_connections and not buffer.entries:
            return  # the counters are hidden, too, and that gap exists already
        strategy.wanted = frozenset(name.lower() for name in query.attributes)
        start = datetime.now(UTC)
        try:
            connection.search(
                base,
                query.filter,
                search_scope=query.scope.value,
                dereference_aliases=ldap3.DEREF_NEVER,
                attributes=list(dict.fromkeys(query.attributes)),
            )
        except LDAPSessionTerminatedByServerError:
            raise QueryFailed(f"the server ended the session at the search of {base}", READ_SOCKETS) from None
        except QueryFailed as failure:
            buffer.discard()
            subject = f"the connections of {base}" if query.lists_connections else (base or "the root DSE")
            raise QueryFailed(f"{subject}: {failure.reason}", failure.how) from None
        self._keep(connection.result, query, base, buffer)
        before = self.taken.get(query.file)
        self.taken[query.file] = Span(start=before.start if before else start, end=datetime.now(UTC))

    def _keep(self, result: dict[str, Any], query: Query, base: str, buffer: EntryBuffer) -> None:
        """Keep the entries of a search, or add a gap when they are missing or incomplete."""
        code = result["result"]
        if code == SUCCESS and buffer.commit():
            return
        cut = list_cut(result, base, len(buffer.pending))
        buffer.discard()
        if not query.required or query.file == queries.ROOT_DSE:
            return
        subject = "the connections in " if query.lists_connections else ""
        if code == SUCCESS or code in NOT_SHOWN:
            self.add_gap(f"{subject}{base}: not visible to {self._account_label}", query.how)
        else:
            refusal = cut or search_refused(result, f"{subject}{base}")
            self.add_gap(refusal.reason, refusal.how or query.how)

    def _piece(self, file: str, folder: str) -> Input:
        comment = ""
        if file == queries.MONITOR:
            client = "ldapi" if self.client is None else f"{_bracketed(self.client[0])}:{self.client[1]}"
            comment = f"{ASKED_BY.removeprefix('# ')}{client} as {self.account}"
        text = self.files[file].ldif(comment)
        return Input(
            path=f"{folder.rpartition('/')[2]}/{file}",
            folder=folder,
            label=f"{self.label} ({file})",
            source=partial(BytesIO, text),
            taken=self.taken.get(file),
            asked=f"LDAP searches for {file.removesuffix('.ldif')} at {self.label}",
        )


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
