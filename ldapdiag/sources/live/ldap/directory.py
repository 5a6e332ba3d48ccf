"""One read-only session with a directory server; its answers become LDIF.

One connection, one time limit, searches with attribute lists. No query is sent twice, no referral is followed, and the
session ends with an unbind. A query that the server refuses, hides or leaves unanswered becomes a gap with advice.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence import ldif_format
from ldapdiag.evidence.addresses import normalise_address
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.host_formats import failed_probe
from ldapdiag.evidence.indexes import IndexConfiguration, probed_answers
from ldapdiag.evidence.ldap_probe import ProbeOutcome
from ldapdiag.evidence.ldif import ASKED_BY, entries
from ldapdiag.evidence.origin import Span
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers import queries
from ldapdiag.sources.budget import RUN_BYTES, Budget
from ldapdiag.sources.collection_options import StartTls
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.ldap.answer_probe import AnswerProbe
from ldapdiag.sources.live.ldap.connecting import QueryFailed, TimeLimit, TlsTrust, connect, secure
from ldapdiag.sources.live.ldap.entries import EntryBuffer, MalformedMessage
from ldapdiag.sources.live.ldap.ldap3_connection import LdapConnection
from ldapdiag.sources.live.ldap.messages import (
    NAME_THE_SERVER,
    NOT_SHOWN,
    SUCCESS,
    list_cut,
    referred_elsewhere,
    search_refused,
)
from ldapdiag.sources.targets import LOCAL_SOCKET
from ldapdiag.wording import counted

if TYPE_CHECKING:
    import socket
    import threading
    from collections.abc import Callable, Mapping

    from ldapdiag.evidence.family import Family
    from ldapdiag.servers.queries import Query
    from ldapdiag.sources.collection_options import BindOptions
    from ldapdiag.sources.targets import LdapAddress

WHO_AM_I = "1.3.6.1.4.1.4203.1.11.3"
TLS_PORTS = frozenset({636, 3269})
FAILED_PROBE, ANSWERS = "ldap-probe.txt", "index-answers.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryAnswers:
    """The answers of one directory server, and a gap for each query without one."""

    pieces: tuple[Input, ...] = ()
    gaps: tuple[Gap, ...] = ()
    peer: str | None = None
    """The server's address, also of a connection that failed; None for a local socket, and without an address."""


def query_directory(  # noqa: PLR0913  what is queried, as whom, and the limits
    address: LdapAddress,
    label: str,
    bind: BindOptions,
    *,
    folder: str,
    timeout_seconds: int,
    stop: threading.Event,
    budget: Budget | None = None,
    show_probe: Callable[[str], None] | None = None,
) -> DirectoryAnswers:
    """Send a directory server all queries for its product; `stop` ends the session early.

    `show_probe`: compare the answers of its indexes with entries, too, and show how far that is; None: do not.
    `label` names the server in messages.
    The size of the answers counts against `budget`, which may be shared.
    Never raises for a fault of the server: each failure is a gap, and the answers before it are kept.
    """
    limit, budget = TimeLimit(timeout_seconds, stop), budget or Budget(RUN_BYTES)
    session = DirectorySession(address, label, bind, limit, budget, show_probe)
    try:
        session.run()
    except QueryFailed as failure:
        session.add_gap(failure.reason, failure.how)
        session.note_outcome(failure)
    except MalformedMessage:
        session.add_gap("the server sent data that is not LDAP", f"check host and port; {NAME_THE_SERVER}")
    except Exception as error:  # noqa: BLE001  ldap3 may raise anything on hostile bytes; the run must continue
        session.add_gap(
            f"cannot decode the server's answers ({type(error).__name__})",
            NAME_THE_SERVER,
        )
    finally:
        session.close()
    return session.answers(folder)


class DirectorySession:
    """One connection, its queries and their results."""

    def __init__(
        self,
        address: LdapAddress,
        label: str,
        bind: BindOptions,
        time_limit: TimeLimit,
        budget: Budget,
        show_probe: Callable[[str], None] | None,
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
        self.outcome: ProbeOutcome | None = None
        """How the session failed before any answer; None: it did not."""
        self.started = self.ended = datetime.now(UTC)
        self.account = bind.dn
        self.sock: socket.socket | None = None
        self.connection: LdapConnection | None = None
        self.show_probe = show_probe
        self.probed: tuple[str, Span] | None = None
        """Text and time of the probe of the indexes."""

    def add_gap(self, reason: str, how: str | None = None) -> None:
        """Add what could not be asked, and why."""
        self.gaps.append(Gap(target=self.label, reason=reason, how=how))

    def note_outcome(self, failure: QueryFailed) -> None:
        """Remember how the server failed to answer, unless it has answered before."""
        tried = self.sock is not None or failure.peer is not None or self.address.scheme == LOCAL_SOCKET
        tried = tried or failure.outcome is ProbeOutcome.UNRESOLVED
        answered = self.connection is not None and self.connection.has_answered
        if failure.outcome is not None and tried and not answered:
            self.peer = self.peer or failure.peer
            self.outcome = failure.outcome
            self.ended = datetime.now(UTC)

    def open(self) -> tuple[LdapConnection, queries.RootDse, Family]:
        """Connect and bind; return the connection, the root DSE and its product. Raises QueryFailed."""
        connection = self._connect()
        root = self._root_dse(connection)
        if WHO_AM_I in root.get("supportedextension", ()):
            identity = connection.who_am_i()
            self.account = self.account if identity is None else identity
        return connection, root, self._product(root)

    def run(self) -> None:
        """Connect, bind, and send the queries. Raises QueryFailed when the session cannot continue."""
        connection, root, family = self.open()
        asked = queries.queries_of(family)
        for query in asked:
            base = queries.base_of(query, root)
            if base is not None:
                self._search(connection, query, base)
        if self.show_probe is not None:
            hints = (one.how for one in asked if one.file == queries.CONFIG and one.how)
            self._probe_answers(connection, self.show_probe, next(hints, ""))

    def _probe_answers(self, connection: LdapConnection, show: Callable[[str], None], how: str) -> None:
        """Compare the answers of the indexes with the entries; `--timeout` limits each search.

        `how`: advice where the account does not see the configuration.
        """
        text = b"".join(self.files[one].ldif() for one in (queries.CONFIG, queries.INDEXES) if one in self.files)
        read = ldif_format.read(Document(path=queries.INDEXES, source=lines_of([text])))
        probe, start = AnswerProbe(connection, self.time_limit, show), datetime.now(UTC)
        try:
            for fact in read:
                if isinstance(fact, IndexConfiguration):
                    probe.run(fact)
        except QueryFailed as failure:
            done = f"{len(probe.indexes):,} of {counted(probe.wanted, 'index', 'indexes')} were compared"
            self.add_gap(f"the probe of the answers of its indexes: {failure.reason}; {done}", failure.how)
        if probe.indexes:
            span = Span(start=start, end=datetime.now(UTC))
            self.probed = probed_answers.as_text(probe.indexes), span
        else:
            self.add_gap("no index could be probed: its index configuration is not visible", how)

    def close(self) -> None:
        """Unbind and close, in any state of the session."""
        if self.connection is not None:
            self.connection.close()
        elif self.sock is not None:
            self.sock.close()

    def answers(self, folder: str) -> DirectoryAnswers:
        """Return what was answered so far."""
        pieces = [self._piece(file, folder) for file, buffer in self.files.items() if buffer.entries]
        if self.outcome is not None:
            pieces.append(self._failed_probe(self.outcome, folder))
        if self.probed is not None:
            text, taken = self.probed
            pieces.append(self._own_piece(ANSWERS, text, taken, f"a probe of the indexes of {self.label}", folder))
        return DirectoryAnswers(pieces=tuple(pieces), gaps=tuple(self.gaps), peer=self.peer)

    @property
    def asked_by(self) -> str:
        """Return the client's endpoint of this session and its account, as evidence records them."""
        client = "ldapi" if self.client is None else f"{_bracketed(self.client[0])}:{self.client[1]}"
        return f"{client} as {self.account}"

    @property
    def _account_label(self) -> str:
        return f"{self.account!r}" if self.account else "an anonymous bind"

    def _connect(self) -> LdapConnection:
        address = self.address
        self.sock = connect(address, self.time_limit)
        self._note_endpoints()
        if address.scheme == "ldaps":
            trust = TlsTrust(ca_file=self.bind.ca_file, insecure=self.bind.insecure)
            self.sock = secure(self.sock, address, trust, self.time_limit)
        self.connection = LdapConnection(self.sock, address, self.bind, self.time_limit, self.budget)
        try:
            if address.scheme == "ldap" and self.bind.start_tls is not StartTls.NO:
                self.connection.start_tls()
            self.connection.bind(self._account_label)
        except QueryFailed as failure:
            if address.scheme == "ldap" and address.port in TLS_PORTS and not self.connection.has_answered:
                raise QueryFailed(failure.reason, f"port {address.port} uses TLS: use ldaps://") from None
            raise
        return self.connection

    def _note_endpoints(self) -> None:
        assert self.sock is not None  # noqa: S101  for mypy: just connected
        with suppress(OSError):
            client, server = self.sock.getsockname(), self.sock.getpeername()
            if isinstance(server, tuple):
                self.peer = normalise_address(server[0])
                self.client = normalise_address(client[0]), client[1]

    def _root_dse(self, connection: LdapConnection) -> queries.RootDse:
        self._search(connection, queries.ROOT_DSE_QUERY, "")
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

    def _search(self, connection: LdapConnection, query: Query, base: str) -> None:
        """Send one query, and keep the answer if it is complete."""
        buffer = self.files.setdefault(query.file, EntryBuffer())
        if query.lists_connections and not buffer.entries:
            return  # the counters are hidden, too, and that gap exists already
        start = datetime.now(UTC)
        try:
            result = connection.search(query, base, buffer)
        except QueryFailed as failure:
            buffer.discard()
            subject = f"the connections of {base}" if query.lists_connections else (base or "the root DSE")
            raise QueryFailed(f"{subject}: {failure.reason}", failure.how) from None
        self._keep(result, query, base, buffer)
        before = self.taken.get(query.file)
        self.taken[query.file] = Span(start=before.start if before else start, end=datetime.now(UTC))

    def _keep(self, result: Mapping[str, Any], query: Query, base: str, buffer: EntryBuffer) -> None:
        """Keep the entries of a search, or add a gap when they are missing or incomplete."""
        code = result["result"]
        elsewhere = referred_elsewhere(result, base or "the root DSE") if query.required else None
        if elsewhere is not None:
            self.add_gap(elsewhere.reason, elsewhere.how)
        if code == SUCCESS and (buffer.commit() or elsewhere is not None):
            return
        cut = list_cut(result, base, len(buffer.pending))
        buffer.discard()
        if query.file == queries.ROOT_DSE and code not in {SUCCESS, *NOT_SHOWN}:
            raise search_refused(result, "the root DSE")
        if not query.required or query.file == queries.ROOT_DSE:
            return
        subject = "the connections in " if query.lists_connections else ""
        if code == SUCCESS or code in NOT_SHOWN:
            self.add_gap(f"{subject}{base}: not visible to {self._account_label}", query.how)
        else:
            refusal = cut or search_refused(result, f"{subject}{base}")
            self.add_gap(refusal.reason, refusal.how or query.how)

    def _failed_probe(self, outcome: ProbeOutcome, folder: str) -> Input:
        seconds = (self.ended - self.started).total_seconds()
        text = failed_probe.as_text(self.label, self.peer or "", self.address.port or 0, outcome, max(0.0, seconds))
        taken = Span(start=self.started, end=self.ended)
        return self._own_piece(FAILED_PROBE, text, taken, f"an LDAP connection to {self.label}", folder)

    def _own_piece(self, file: str, text: str, taken: Span, asked: str, folder: str) -> Input:
        """Return a file that is no answer of the server, but a result of this session."""
        return Input(
            path=f"{folder.rpartition('/')[2]}/{file}",
            folder=folder,
            label=f"{self.label} ({file})",
            source=partial(BytesIO, text.encode()),
            taken=taken,
            asked=asked,
        )

    def _piece(self, file: str, folder: str) -> Input:
        comment = f"{ASKED_BY.removeprefix('# ')}{self.asked_by}" if file == queries.MONITOR else ""
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
