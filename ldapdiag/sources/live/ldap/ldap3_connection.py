"""An LDAP connection of ldap3 on a socket that ldapdiag opened. The only module that imports ldap3.

ldap3 encodes the requests, decodes results other than entries, and does SASL; the socket, its time limit, TLS and the
entries of a search are handled here, by private parts of ldap3 2.9.1. What else there is: docs/decisions.md.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.ldap_probe import ProbeOutcome
from ldapdiag.extras import install_command
from ldapdiag.sources.budget import RUN_BYTES
from ldapdiag.sources.collection_options import Mechanism, StartTls
from ldapdiag.sources.live.ldap.connecting import QueryFailed, TlsTrust, receive, secure
from ldapdiag.sources.live.ldap.entries import ENTRY, REFERENCE, EntryBuffer, MalformedMessage, size_of
from ldapdiag.sources.live.ldap.messages import (
    BIND,
    INTERMEDIATE,
    SUCCESS,
    bind_refused,
    check_envelope,
    check_result,
    referred,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # ldap3 2.9.1 uses names that pyasn1 has renamed
    import ldap3
    from ldap3.core.exceptions import LDAPException, LDAPPackageUnavailableError, LDAPSessionTerminatedByServerError
    from ldap3.core.results import RESULT_CODES
    from ldap3.strategy.sync import SyncStrategy

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

    from ldapdiag.servers.queries import Query
    from ldapdiag.sources.budget import Budget
    from ldapdiag.sources.collection_options import BindOptions
    from ldapdiag.sources.live.ldap.connecting import TimeLimit
    from ldapdiag.sources.targets import LdapAddress

START_TLS = "1.3.6.1.4.1.1466.20037"
PAGED_RESULTS = "1.2.840.113556.1.4.319"
MAX_BYTES = 1 << 27
"""Of all answers of one server; 20,000 connections of a slapd take 36 MB."""
MAX_ENTRIES = 400_000
"""Of all answers of one server: a short entry takes ten times as much memory as in its message."""
MAX_OTHER_BYTES = 1 << 16
"""Of a message that is not an entry."""
MAX_REFERENCES = 3
"""URLs of search references that are kept for a message."""
TLS_ALERT = b"\x15\x03"
"""First bytes of the answer on a port that accepts TLS only."""
READ_SOCKETS = "ssh://HOST reads the server's sockets without a query"


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
        self.entry_count = 0
        self.entries = EntryBuffer()
        self.wanted: frozenset[str] = frozenset()
        self.references: list[str] = []
        """URLs of search references; none is followed."""

    def open(self, *_: object, **__: object) -> None:
        """Use the socket that is already open."""
        self._outstanding: dict[int, Any] = {}
        self.connection.socket = self.sock
        self.connection.closed = False
        self.connection.listening = True

    def receiving(self) -> list[bytes]:  # type: ignore[override]  # the stubs say None; ldap3 returns a list
        """Return the result of the request that was sent; store entries and the URLs of references."""
        (number, request), *_ = self._outstanding.items()
        while True:
            message = self._message()
            kind, at = check_envelope(message, number, request["type"])
            if kind == ENTRY:
                self.entry_count += 1
                if self.entry_count > MAX_ENTRIES:
                    raise QueryFailed(f"its answer exceeds {MAX_ENTRIES:,} entries", READ_SOCKETS)
                self.entries.add(message, at, self.wanted)
            elif len(message) > MAX_OTHER_BYTES:
                raise MalformedMessage
            elif kind == REFERENCE:
                self.references += referred(message, at)[: MAX_REFERENCES - len(self.references)]
            elif kind != INTERMEDIATE:
                answer = check_result(message, at, RESULT_CODES)
                if kind == BIND and answer.referrals:
                    raise BindReferred({"result": answer.code, "message": answer.text, "referrals": answer.referrals})
                return [message]

    def _message(self) -> bytes:
        while (size := size_of(self.unparsed)) is None or len(self.unparsed) < size[1]:
            if self.received > MAX_BYTES or (size and size[1] > MAX_BYTES):
                raise QueryFailed(f"its answer exceeds {MAX_BYTES >> 20} MiB", READ_SOCKETS)
            chunk = receive(self.connection.socket, self.time_limit)
            if not chunk:
                reason = "the server closed the connection before its answer was complete"
                raise QueryFailed(reason, READ_SOCKETS, ProbeOutcome.CLOSED)
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


class BindReferred(Exception):  # noqa: N818  an answer, not an error
    """A bind was answered with URLs of other servers, which ldap3 2.9.1 cannot decode (KeyError)."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        super().__init__()
        self.result = {"description": RESULT_CODES[result["result"]], **result}


class LdapConnection:
    """A connection to one server. Its methods raise QueryFailed and MalformedMessage; nothing is sent at first."""

    def __init__(
        self, sock: socket.socket, address: LdapAddress, bind: BindOptions, time_limit: TimeLimit, budget: Budget
    ) -> None:
        self._address = address
        self._bind = bind
        self._time_limit = time_limit
        server = ldap3.Server(address.host or "localhost", get_info=ldap3.NONE)
        # ldap3 counts the messages of all connections of the process, so that a reason could not be reproduced.
        server.next_message_id = count(1).__next__  # type: ignore[method-assign]  # an attribute of this server alone
        self._connection = ldap3.Connection(
            server,
            auto_bind="NONE",
            auto_referrals=False,
            auto_range=False,
            check_names=False,
            return_empty_attributes=False,
            read_only=True,
            **_credentials(bind, address),
        )
        self._strategy = strategy = _Strategy(self._connection, sock, time_limit, budget)
        connection = self._connection
        connection.strategy = strategy
        connection.open, connection.send = strategy.open, strategy.send
        connection.get_response, connection.post_send_search = strategy.get_response, strategy.post_send_search
        connection.post_send_single_response = strategy.post_send_single_response
        connection.open(read_server_info=False)

    @property
    def has_answered(self) -> bool:
        """Return whether the server has sent any data."""
        return self._strategy.received > 0

    def begin_anew(self, budget: Budget) -> None:
        """Count the bytes and entries of answers from here on: a connection that is kept asks again and again."""
        self._strategy.received = self._strategy.entry_count = 0
        self._strategy.budget = budget

    def start_tls(self) -> None:
        """Start TLS. With -Z continue without it if the server has none, but send no password."""
        self._connection.extended(START_TLS)
        if self._connection.result["result"] != SUCCESS:
            if self._bind.start_tls is StartTls.MUST or self._bind.password:
                raise QueryFailed(
                    f"StartTLS failed ({self._connection.result['description']}); no password was sent",
                    "use ldaps://, or omit -Z to send the password in clear text",
                )
            return
        if self._strategy.unparsed:
            raise QueryFailed("data arrived before the TLS handshake", "do not trust the path to this server")
        trust = TlsTrust(ca_file=self._bind.ca_file, insecure=self._bind.insecure)
        self._connection.socket = secure(self._connection.socket, self._address, trust, self._time_limit)

    def bind(self, account: str) -> None:
        """Bind; `account` names it in messages."""
        try:
            self._connection.bind(read_server_info=False)
        except LDAPPackageUnavailableError as error:
            raise QueryFailed(
                f"GSSAPI needs a Python package ({error})", f"{install_command('gssapi')}; or bind with -D and -W"
            ) from None
        except LDAPSessionTerminatedByServerError:
            raise QueryFailed("the server ended the session at the bind", READ_SOCKETS) from None
        except BindReferred as referred_to:
            raise bind_refused(referred_to.result, account) from None
        except (QueryFailed, MalformedMessage):
            raise
        except LDAPException as error:
            raise QueryFailed(f"cannot bind ({type(error).__name__})", "check -D, -W and -Y") from None
        except Exception as error:
            if self._bind.mechanism is not Mechanism.GSSAPI:
                raise
            reason = str(error).rpartition("): ")[2][:200]  # behind the codes, and the advice to read what follows
            how = f"run kinit; klist lists tickets. The server's are those of the principal ldap/{self._address.host}"
            raise QueryFailed(f"no Kerberos ticket: {reason}", how) from error
        if self._connection.result["result"] != SUCCESS:
            raise bind_refused(self._connection.result, account)

    def who_am_i(self) -> str | None:
        """Return the DN of this session (Who am I?, RFC 4532); None without an answer."""
        with suppress(LDAPException):
            identity = self._connection.extend.standard.who_am_i()
            if isinstance(identity, str):
                return identity.removeprefix("dn:").strip()
        return None

    def search(self, query: Query, base: str, entries: EntryBuffer) -> Mapping[str, Any]:
        """Search, add the entries to a buffer, and return the result, with the `references` to other servers."""
        self._strategy.entries = entries
        self._strategy.wanted = frozenset(name.lower() for name in query.attributes)
        self._strategy.references = []
        cookie = None
        while True:
            try:
                self._connection.search(
                    base,
                    query.filter,
                    search_scope=query.scope.value,
                    dereference_aliases=ldap3.DEREF_NEVER,
                    attributes=list(dict.fromkeys(query.attributes)),
                    size_limit=query.size_limit,
                    time_limit=query.time_limit,
                    paged_size=query.page_entries or None,
                    paged_cookie=cookie,
                )
            except LDAPSessionTerminatedByServerError:
                raise QueryFailed("the server ended the session at this search", READ_SOCKETS) from None
            result: Mapping[str, Any] = self._connection.result
            page = result.get("controls", {}).get(PAGED_RESULTS) or {"value": {}}
            cookie = page["value"].get("cookie") if query.page_entries else None
            if not cookie or result["result"] != SUCCESS:
                return {**result, "references": tuple(self._strategy.references)}

    def close(self) -> None:
        """Unbind and close, in any state of the connection."""
        sock = self._connection.socket
        if not self._connection.closed:
            with suppress(Exception):  # the socket may be broken in any way
                self._connection.unbind()
        if sock is not None:
            sock.close()


def _credentials(bind: BindOptions, address: LdapAddress) -> dict[str, Any]:
    """Return the bind as arguments of ldap3.Connection."""
    if bind.mechanism is Mechanism.EXTERNAL:
        return {"authentication": ldap3.SASL, "sasl_mechanism": ldap3.EXTERNAL, "sasl_credentials": ""}
    if bind.mechanism is Mechanism.GSSAPI:
        return {"authentication": ldap3.SASL, "sasl_mechanism": ldap3.KERBEROS, "sasl_credentials": (address.host,)}
    if bind.dn:
        if not bind.password:
            raise QueryFailed(f"cannot bind as {bind.dn!r}: no password given", "use -W or -y FILE")
        return {"authentication": ldap3.SIMPLE, "user": bind.dn, "password": bind.password}
    return {"authentication": ldap3.ANONYMOUS}
