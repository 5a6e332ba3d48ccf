"""A watch of one directory server: a connection that is kept, and narrow searches over it, again and again.

A connection that fails is closed, and the next look opens another: the server may restart, hang, refuse, or show
another certificate. One search is sent at a time, for all that ask.
"""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from threading import Event, Lock
from typing import TYPE_CHECKING

from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.ldif import entries
from ldapdiag.evidence.ldif_format import MONITOR_READERS
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.monitor.snmp import SnmpMonitor
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers import queries
from ldapdiag.sources.budget import RUN_BYTES, Budget
from ldapdiag.sources.live.ldap.connecting import QueryFailed, TimeLimit
from ldapdiag.sources.live.ldap.directory import DirectorySession
from ldapdiag.sources.live.ldap.entries import EntryBuffer, MalformedMessage
from ldapdiag.sources.live.ldap.messages import LIMITS, NOT_SHOWN, SUCCESS, referred_elsewhere, search_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ldapdiag.servers.queries import LiveQueries, Query, RootDse
    from ldapdiag.sources.collection_options import BindOptions
    from ldapdiag.sources.live.ldap.ldap3_connection import LdapConnection
    from ldapdiag.sources.targets import LdapAddress

REQUESTS_TO_OPEN = 3
"""Bind, root DSE and who am I: they are in the server's counters, too."""


class NoAnswerError(LdapdiagError):
    """A look without an answer; the text is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One answer of a server."""

    monitor: Monitor
    """Without the connection of the watch."""
    seconds: float
    """How long the server took to answer, without a new connection."""
    requests: int
    """That the watch has sent in all, this look's included: the server counts them as operations."""
    brand: str
    """The product, as its root DSE names it."""
    is_cut: bool = False
    """The server ended the list at its size limit."""


class Watch:
    """Looks at one server."""

    def __init__(self, address: LdapAddress, label: str, bind: BindOptions, timeout_seconds: int, stop: Event) -> None:
        self.label = label
        self.peer: str | None = None
        """The server's address, as sockets show it; None for a local socket."""
        self.port = address.port
        self._limit = TimeLimit(timeout_seconds, stop)
        self._new_session = partial(DirectorySession, address, label, bind, self._limit, show_probe=None)
        self._lock = Lock()
        self._session: DirectorySession | None = None
        self._opened: tuple[LdapConnection, RootDse, LiveQueries] | None = None
        self._brand = ""
        self._requests = 0

    def counters(self) -> Look:
        """Return the counters. Raises NoAnswerError."""
        return self._look(lambda live: live.each)

    def listing(self) -> Look:
        """Return the connections, as far as this account may list them. Raises NoAnswerError."""
        return self._look(lambda live: live.listing)

    def list_interval(self, connections: int) -> float | None:
        """Return how often the list may be asked for with so many connections; None: not by itself."""
        if self._opened is None:
            return 10.0
        live = self._opened[2]
        return 10.0 if connections <= live.often else 60.0 if connections <= live.rarely else None

    def close(self) -> None:
        """Unbind and close, unless a look is under way: it ends with the process."""
        if self._lock.acquire(blocking=False):
            self._forget()
            self._lock.release()

    def _look(self, choose: Callable[[LiveQueries], Sequence[Query]]) -> Look:
        with self._lock:
            self._limit.restart()
            try:
                connection, root, live = self._opened or self._open()
                return self._ask(connection, root, choose(live))
            except NoAnswerError:
                raise
            except QueryFailed as failure:
                self._forget()
                raise NoAnswerError(failure.reason) from failure
            except MalformedMessage as error:
                self._forget()
                raise NoAnswerError("the server sent data that is not LDAP") from error
            except Exception as error:
                self._forget()  # ldap3 may raise anything on hostile bytes; the next look begins anew
                raise NoAnswerError(f"cannot decode the server's answer ({type(error).__name__})") from error

    def _open(self) -> tuple[LdapConnection, RootDse, LiveQueries]:
        self._forget()
        self._session = session = self._new_session(budget=Budget(RUN_BYTES))
        connection, root, family = session.open()
        self._requests += REQUESTS_TO_OPEN
        self.peer = session.peer
        self._brand = next(iter(root.get("vendorversion") or root.get("vendorname") or ()), str(family))
        live = queries.live_queries_of(family)
        if live is None:
            self._forget()
            raise NoAnswerError(
                f"{self._brand}: no narrow requests are known for this product; only the diagnosis reads it"
            )
        self._opened = connection, root, live
        return self._opened

    def _ask(self, connection: LdapConnection, root: RootDse, asked: Sequence[Query]) -> Look:
        connection.begin_anew(Budget(RUN_BYTES))
        buffer, began, is_cut, refusals = EntryBuffer(), time.monotonic(), False, []
        for query in asked:
            base = queries.base_of(query, root) or query.base
            result = connection.search(query, base, buffer)
            self._requests += 1
            if elsewhere := referred_elsewhere(result, base):
                refusals.append(elsewhere.reason)
            elif result["result"] in LIMITS:
                is_cut = True
            elif result["result"] not in {SUCCESS, *NOT_SHOWN}:
                refusals.append(search_refused(result, base).reason)
            buffer.commit()
        seconds = time.monotonic() - began
        monitor = self._read(buffer)
        if monitor is None:
            account = "this account" if self._session and self._session.account else "an anonymous bind"
            raise NoAnswerError(next(iter(refusals), f"{asked[0].base.partition(',{')[0]}: not visible to {account}"))
        return Look(monitor=monitor, seconds=seconds, requests=self._requests, brand=self._brand, is_cut=is_cut)

    def _read(self, buffer: EntryBuffer) -> Monitor | None:
        document = Document(path=self.label, source=lines_of([buffer.ldif()]))
        document.asked_by = self._session.asked_by if self._session else ""
        readers = [reader(document) for reader in (SnmpMonitor, *MONITOR_READERS)]
        for entry in entries(document):
            for reader in readers:
                reader.take(entry)
        return next((fact for reader in readers for fact in reader.facts() if isinstance(fact, Monitor)), None)

    def _forget(self) -> None:
        if self._session is not None:
            with suppress(OSError):
                self._session.close()
        self._session = self._opened = None
