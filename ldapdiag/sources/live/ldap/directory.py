"""One read-only session with a directory server: what it says of itself, as LDIF (the only door to ldap3).

One connection, one deadline, searches with attribute lists. Nothing is asked twice, no referral is followed, and a
connection ends with an unbind. What a server refuses, hides or leaves unanswered is a gap with a way to close it.
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
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.ldap import questions
from ldapdiag.sources.live.ldap.binding import Mechanism, StartTls
from ldapdiag.sources.live.ldap.connecting import Patience, Trust, Unanswered, connect, receive, secure
from ldapdiag.sources.live.ldap.entries import ENTRY, REFERENCE, Damaged, Sheet, operation_of, size_of
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
    from ldapdiag.sources.live.ldap.binding import Binding
    from ldapdiag.sources.live.ldap.place import Place
    from ldapdiag.sources.live.ldap.questions import Question

START_TLS = "1.3.6.1.4.1.1466.20037"
WHO_AM_I = "1.3.6.1.4.1.4203.1.11.3"
MOST_BYTES = 1 << 27
"""Of all answers of one server; 20,000 connections of a slapd are 36 MB."""
MOST_OTHER = 1 << 16
"""Of a message that is no entry."""
TLS_PORTS = frozenset({636, 3269})
TLS_ALERT = b"\x15\x03"
"""How a port begins that speaks TLS alone."""


SEE_ITS_SOCKETS = "ssh://HOST reads its sockets without asking it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What one directory said, and what it did not."""

    pieces: tuple[Input, ...] = ()
    gaps: tuple[Gap, ...] = ()
    peer: str | None = None
    """The address we connected to; None for a local socket, or when there was no connection."""


def ask(
    place: Place,
    told: str,
    binding: Binding,
    *,
    folder: str,
    seconds: int,
    stop: threading.Event,
    budget: Budget | None = None,
) -> Answers:
    """Ask a directory all that its product is asked, for at most `seconds`; `stop` ends it sooner.

    `told` is what to call it; what it says is taken out of a budget that others may share.
    Never raises for what a server does: each trouble is a gap, and what was answered before it stays.
    """
    session = _Session(place, told, binding, Patience(seconds, stop), budget or Budget(RUN_BYTES))
    try:
        session.converse()
    except Unanswered as trouble:
        session.gap(trouble.reason, trouble.how)
    except Damaged:
        session.gap("what answers there does not speak LDAP", "check host and port")
    except Exception as error:  # noqa: BLE001  whatever ldap3 makes of hostile bytes must not end the run
        session.gap(
            f"its answers make no sense here ({type(error).__name__})",
            "please report it, with the server's product and version",
        )
    finally:
        session.end()
    return session.answers(folder)


class _Strategy(SyncStrategy):
    """ldap3's own way to send and to wait, on a socket of ours, with the entries of a search taken out."""

    def __init__(self, connection: ldap3.Connection, sock: socket.socket, patience: Patience, budget: Budget) -> None:
        super().__init__(connection)
        self.sock = sock
        self.patience = patience
        self.budget = budget
        self.buffer = bytearray()
        self.received = 0
        self.sheet = Sheet()
        self.wanted: frozenset[str] = frozenset()

    def open(self, *_: object, **__: object) -> None:
        """Take the socket that is open already."""
        self._outstanding: dict[int, Any] = {}
        self.connection.socket = self.sock
        self.connection.closed = False
        self.connection.listening = True

    def receiving(self) -> list[bytes]:  # type: ignore[override]  # the stubs say None; ldap3 returns a list
        """Return the next message that is no entry; entries are written down, referrals are not followed."""
        while True:
            message = self._message()
            operation, at = operation_of(message)
            if operation == ENTRY:
                self.sheet.take(message, at, self.wanted)
            elif operation != REFERENCE:
                if len(message) > MOST_OTHER:
                    raise Damaged
                return [message]

    def _message(self) -> bytes:
        while (size := size_of(self.buffer)) is None or len(self.buffer) < size[1]:
            if self.received > MOST_BYTES or (size and size[1] > MOST_BYTES):
                raise Unanswered(f"its answer is larger than {MOST_BYTES >> 20} MiB", SEE_ITS_SOCKETS)
            chunk = receive(self.connection.socket, self.patience)
            if not chunk:
                raise Unanswered("the server closed the connection before it had answered", SEE_ITS_SOCKETS)
            self.received += len(chunk)
            if not self.budget.take(len(chunk)):
                raise Unanswered(f"all that is asked says more than {RUN_BYTES >> 30} GiB", "ask fewer at once")
            self.buffer += chunk
            if self.buffer.startswith(TLS_ALERT):
                raise Unanswered("this port speaks TLS", "write ldaps:// and its port")
        message = bytes(self.buffer[: size[1]])
        del self.buffer[: size[1]]
        return message


class _Session:
    """One connection, what is asked over it, and what came of that."""

    def __init__(self, place: Place, told: str, binding: Binding, patience: Patience, budget: Budget) -> None:
        self.place = place
        self.told = told
        self.binding = binding
        self.patience = patience
        self.budget = budget
        self.sheets: dict[str, Sheet] = {}
        self.taken: dict[str, Span] = {}
        self.gaps: list[Gap] = []
        self.peer: str | None = None
        self.ours: tuple[str, int] | None = None
        """Our own end of the connection: no client of the incident."""
        self.account = binding.dn
        self.sock: socket.socket | None = None
        self.connection: ldap3.Connection | None = None

    def gap(self, reason: str, how: str | None = None) -> None:
        self.gaps.append(Gap(target=self.told, reason=reason, how=how))

    def converse(self) -> None:
        """Connect, bind, and ask; Unanswered ends it."""
        place = self.place
        self.sock = connect(place, self.patience)
        self._note_ends()
        if place.scheme == "ldaps":
            self.sock = secure(self.sock, place, self._trust, self.patience)
        connection, strategy = self._connection(place)
        self.connection = connection
        connection.open(read_server_info=False)
        try:
            if place.scheme == "ldap" and self.binding.start_tls is not StartTls.NO:
                self._start_tls(connection, strategy, place)
            self._bind(connection)
        except Unanswered as trouble:
            if place.scheme == "ldap" and place.port in TLS_PORTS and not strategy.received:
                raise Unanswered(trouble.reason, f"{place.port} is a port of TLS: write ldaps://") from None
            raise
        root = self._root_dse(connection, strategy)
        if WHO_AM_I in root.get("supportedextension", ()):
            self._learn_account(connection)
        for question in questions.QUESTIONS[self._product(root)]:
            base = questions.base_of(question, root)
            if base is not None:
                self._ask(connection, strategy, question, base)

    def end(self) -> None:
        """Unbind and close, whatever happened."""
        if self.connection is not None and not self.connection.closed:
            with suppress(Exception):  # a socket may be broken in any way by now
                self.connection.unbind()
        if self.sock is not None:
            self.sock.close()

    def answers(self, folder: str) -> Answers:
        pieces = tuple(self._piece(file, folder) for file, sheet in self.sheets.items() if sheet.entries)
        return Answers(pieces=pieces, gaps=tuple(self.gaps), peer=self.peer)

    @property
    def _trust(self) -> Trust:
        return Trust(ca_file=self.binding.ca_file, insecure=self.binding.insecure)

    @property
    def _who(self) -> str:
        return f"{self.account!r}" if self.account else "an anonymous bind"

    def _note_ends(self) -> None:
        assert self.sock is not None  # noqa: S101  for mypy: just connected
        with suppress(OSError):
            here, there = self.sock.getsockname(), self.sock.getpeername()
            if isinstance(there, tuple):
                self.peer = normalise_address(there[0])
                self.ours = normalise_address(here[0]), here[1]

    def _connection(self, place: Place) -> tuple[ldap3.Connection, _Strategy]:
        """Return ldap3's connection on our socket; nothing is sent yet."""
        binding = self.binding
        how: dict[str, Any] = {"authentication": ldap3.ANONYMOUS}
        if binding.mechanism is Mechanism.EXTERNAL:
            how = {"authentication": ldap3.SASL, "sasl_mechanism": ldap3.EXTERNAL, "sasl_credentials": ""}
        elif binding.mechanism is Mechanism.GSSAPI:
            how = {"authentication": ldap3.SASL, "sasl_mechanism": ldap3.KERBEROS, "sasl_credentials": (place.host,)}
        elif binding.dn:
            if not binding.password:
                raise Unanswered("there is no password to bind with", "-W asks for it, -y FILE reads it")
            how = {"authentication": ldap3.SIMPLE, "user": binding.dn, "password": binding.password}
        connection = ldap3.Connection(
            ldap3.Server(place.host or "localhost", get_info=ldap3.NONE),
            auto_bind="NONE",
            auto_referrals=False,
            auto_range=False,
            check_names=False,
            return_empty_attributes=False,
            read_only=True,
            **how,
        )
        assert self.sock is not None  # noqa: S101  for mypy: just connected
        strategy = _Strategy(connection, self.sock, self.patience, self.budget)
        connection.strategy = strategy
        connection.open, connection.send = strategy.open, strategy.send
        connection.get_response, connection.post_send_search = strategy.get_response, strategy.post_send_search
        connection.post_send_single_response = strategy.post_send_single_response
        return connection, strategy

    def _start_tls(self, connection: ldap3.Connection, strategy: _Strategy, place: Place) -> None:
        """Put TLS on the connection; with -Z go on without it when the server has none, but never with a password."""
        connection.extended(START_TLS)
        if connection.result["result"] != SUCCESS:
            if self.binding.start_tls is StartTls.MUST or self.binding.password:
                raise Unanswered(
                    f"it does not start TLS ({connection.result['description']}), and no password goes out without it",
                    "write ldaps://, or leave -Z out to send the password in the clear",
                )
            return
        if strategy.buffer:
            raise Unanswered("somebody sent data before TLS began", "do not trust the way to this server")
        self.sock = secure(connection.socket, place, self._trust, self.patience)
        connection.socket = self.sock

    def _bind(self, connection: ldap3.Connection) -> None:
        try:
            connection.bind(read_server_info=False)
        except LDAPPackageUnavailableError as error:
            raise Unanswered(
                f"GSSAPI lacks a Python package ({error})", "pip install 'ldapdiag[gssapi]', or bind with -D and -W"
            ) from None
        except LDAPSessionTerminatedByServerError:
            raise Unanswered("the server ended the session at the bind", SEE_ITS_SOCKETS) from None
        except (Unanswered, Damaged):
            raise
        except LDAPException as error:
            raise Unanswered(f"cannot bind ({type(error).__name__})", "check -D, -W and -Y") from None
        except Exception as error:
            if self.binding.mechanism is not Mechanism.GSSAPI:
                raise
            raise Unanswered(f"Kerberos gives no ticket: {str(error)[:200]}", "kinit first; klist tells") from error
        if connection.result["result"] != SUCCESS:
            raise bind_refused(connection.result, self._who)

    def _root_dse(self, connection: ldap3.Connection, strategy: _Strategy) -> questions.RootDse:
        self._ask(connection, strategy, questions.THE_ROOT_DSE, "")
        text = self.sheets[questions.ROOT_DSE].ldif()
        read = entries(Document(path=questions.ROOT_DSE, source=lines_of([text])))
        return next((entry.attributes for entry in read), {})

    def _product(self, root: questions.RootDse) -> Family:
        identity = questions.product_of(root)
        if identity is None:
            raise Unanswered(
                "its root DSE names no product we know, so there is nothing to ask it",
                "let this account read the root DSE (vendorVersion), or name files with what its cn=monitor shows",
            )
        return identity.family

    def _learn_account(self, connection: ldap3.Connection) -> None:
        """Ask who we are: the DN a mechanism gave us, which the server lists among its connections."""
        with suppress(LDAPException):
            told = connection.extend.standard.who_am_i()
            if isinstance(told, str):
                self.account = told.removeprefix("dn:").strip()

    def _ask(self, connection: ldap3.Connection, strategy: _Strategy, question: Question, base: str) -> None:
        """Ask one question, and keep the answer if it is whole."""
        sheet = strategy.sheet = self.sheets.setdefault(question.file, Sheet())
        if question.lists and not sheet.entries:
            return  # not even the counters are shown, and that is told already
        strategy.wanted = frozenset(name.lower() for name in question.attributes)
        start = datetime.now(UTC)
        try:
            connection.search(
                base,
                question.filter,
                search_scope=question.scope.value,
                dereference_aliases=ldap3.DEREF_NEVER,
                attributes=list(dict.fromkeys(question.attributes)),
            )
        except LDAPSessionTerminatedByServerError:
            raise Unanswered(f"the server ended the session when asked for {base}", SEE_ITS_SOCKETS) from None
        except Unanswered as trouble:
            sheet.forget()
            what = f"the connections of {base}" if question.lists else (base or "the root DSE")
            raise Unanswered(f"{what}: {trouble.reason}", trouble.how) from None
        self._judge(connection.result, question, base, sheet)
        before = self.taken.get(question.file)
        self.taken[question.file] = Span(start=before.start if before else start, end=datetime.now(UTC))

    def _judge(self, result: dict[str, Any], question: Question, base: str, sheet: Sheet) -> None:
        """Keep what a search gave, or say why it gave nothing, or not all."""
        code = result["result"]
        if code == SUCCESS and sheet.settle():
            return
        cut = list_cut(result, base, len(sheet.pending))
        sheet.forget()
        if not question.needed or question.file == questions.ROOT_DSE:
            return
        what = "the connections in " if question.lists else ""
        if code == SUCCESS or code in NOT_SHOWN:
            self.gap(f"{what}{base}: not shown to {self._who}", question.how)
        else:
            refusal = cut or search_refused(result, f"{what}{base}")
            self.gap(refusal.reason, refusal.how or question.how)

    def _piece(self, file: str, folder: str) -> Input:
        comment = ""
        if file == questions.MONITOR:
            end = "ldapi" if self.ours is None else f"{_bracketed(self.ours[0])}:{self.ours[1]}"
            comment = f"{ASKED_BY.removeprefix('# ')}{end} as {self.account}"
        text = self.sheets[file].ldif(comment)
        return Input(
            path=f"{folder.rpartition('/')[2]}/{file}",
            folder=folder,
            label=f"{self.told} ({file})",
            source=partial(BytesIO, text),
            taken=self.taken.get(file),
            asked=f"LDAP searches for {file.removesuffix('.ldif')} at {self.told}",
        )


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
