"""A live view without servers: sources by a clock that a test moves, and what they say."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import facts
from facts import monitor, monitored
from joins import paired
from ldapdiag.analysis.log.search_counts import search_counts
from ldapdiag.analysis.log.workload import Workload
from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.evidence.monitor import MonitoredConnection
from ldapdiag.live_view.model import Model
from ldapdiag.live_view.server import ServerModel
from ldapdiag.live_view.socket_look import SocketLook
from ldapdiag.live_view.source import TimedSource
from ldapdiag.sources.live.ldap.watch import Look
from ldapdiag.sources.logs.log_watch import LogLook

if TYPE_CHECKING:
    from facts import Row

ENDPOINT = ("10.77.1.2", 389)
BRAND = "389-Directory/2.3.1"


def look(*, requests: int = 0, is_cut: bool = False, **counters: Any) -> Look:
    """Return an answer of a server."""
    return Look(monitor=monitor(**counters), seconds=0.001, requests=requests, brand=BRAND, is_cut=is_cut)


def logged(*searches: tuple[str, str, str], unindexed: int = 0, silent_seconds: float = 0) -> LogLook:
    """Return what a log has counted in a minute: 60 searches of 0.5 s of each (filter shape, client, account)."""
    segment = Segment()
    segment.last_time = time.time_ns() - int(silent_seconds * 1e9)
    segment.first_time = segment.last_time - 60 * SECOND
    segment.operations[SEARCH] = 60 * len(searches)
    for texts in searches:
        shape, client, account = (one.encode(errors="backslashreplace") for one in texts)
        row = segment.shape((shape, b"dc=x", 2))
        row.requests += 60
        row.answered += 60
        row.entries += 600
        row.etime += 30 * SECOND
        row.worst = SECOND, 0, -1, -1, shape
        if unindexed:
            row.noted[segment.noted.count(b"A", unindexed)] = unindexed + row.noted.get(b"A", 0)
        segment.attribute((SEARCH, shape, client, account, 0), [60, 30 * SECOND, unindexed])
    return look_of(segment)


def look_of(segment: Segment) -> LogLook:
    """Return a look that has counted this."""
    workload = Workload(segment, Family.DS389)
    return LogLook(workload=workload, searches=search_counts(segment), logs=(), seconds=0.01, beginning=1)


def direction(client: str = "10.77.2.2", **numbers: Any) -> dict[str, Any]:
    """Return a row of the directions of a report."""
    known = {
        "client_count": 2,
        "client_hosts": ["app1"],
        "endpoint": "10.77.1.2:389",
        "held": 2,
        "live": 2,
        "middleboxes": ["fw"],
    }
    wrong = {"ghosts": 0, "severed": 0, "stranded": 0}
    return known | wrong | {"client": client, "server": "ldap", "server_count": 2} | numbers


def report(*directions: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """Return a report with what a live view reads of it."""
    numbers = {"descriptors_used": 335, "descriptors_limit": 1000, "limits_connections": False}
    numbers |= {"connections": 310, "idle_timeout_seconds": 0, "accept_queue": 3, "accept_queue_limit": 128}
    lists = (
        "directions_beyond",
        "findings",
        "verdicts",
        "disabled",
        "gaps",
        "passed_over",
        "evidence",
        "hosts",
        "plans",
        "series",
    )
    tool = {"arguments": "", "config": None, "scanner": "python", "version": "0"}
    empty: dict[str, Any] = {name: [] for name in lists} | {
        "shortfall": None,
        "baseline": None,
        "cluster": None,
        "tool": tool,
    }
    servers = [{"name": "ldap", "numbers": numbers, "description": "389 Directory Server 2.3.1", "family": "389ds"}]
    return empty | {"directions": [*directions], "servers": servers, "taken_at": "2026-11-20T09:00:00Z"} | parts


class Stage:
    """A live view of one server, whose answers and time a test sets."""

    def __init__(self, sockets: SocketLook | Exception | None = None) -> None:
        """`sockets`: what the tables of the hosts show; None: no host is read between diagnoses."""
        self.now = 1000.0
        self.sockets = sockets
        self.counters: Look | Exception = look(current_connections=0, total_connections=0, operations=0)
        self.listing: Look | Exception = look(connections=(), current_connections=0)
        self.report: dict[str, Any] | Exception = report()
        self.log: LogLook | Exception = LdapdiagError("not followed, because its file was not named")
        clock = lambda: self.now  # noqa: E731  the time of all sources
        counters = TimedSource("counters", lambda: said(self.counters), lambda: 2.0, clock=clock)
        listing = TimedSource("list", lambda: said(self.listing), lambda: 10.0, clock=clock)
        diagnosis = TimedSource("diagnosis", lambda: said(self.report), lambda: 60.0, clock=clock)
        log = TimedSource("log", lambda: said(self.log), lambda: 2.0, clock=clock)
        self.server = ServerModel("ldap://ds1", counters, listing, log, lambda: ENDPOINT)
        tables = TimedSource("sockets", lambda: said(self.sockets), lambda: 5.0, clock=clock)
        self.model = Model([self.server], diagnosis, tables if sockets is not None else None)

    def pass_seconds(self, seconds: float, *, ask: bool = True) -> None:
        """Let time pass, and ask every source then."""
        self.now += seconds
        if ask:
            tables = [self.model.sockets] if self.model.sockets else []
            for source in (self.server.counters, self.server.listing, self.server.log, self.model.diagnosis, *tables):
                self.now += 0.001  # the answers come one by one
                source.ask_once()
        self.model.update()

    def holds(self, *connections: tuple[MonitoredConnection, ...], total: int = 0, **counters: Any) -> None:
        """Let the server hold these connections."""
        every = tuple(one for some in connections for one in some)
        shared = {"current_connections": len(every), "total_connections": total or len(every)} | counters
        self.counters, self.listing = look(**shared), look(connections=every, **shared)

    def cut(self, most: int) -> None:
        """Let the server cut the list."""
        assert isinstance(self.listing, Look)
        connections = (self.listing.monitor.connections or ())[:most]
        self.listing = replace(
            self.listing, is_cut=True, monitor=replace(self.listing.monitor, connections=connections)
        )


def tables(server: list[Row], client: list[Row] | None, *, name: str = "app1") -> SocketLook:
    """Return what tables show that were read between two diagnoses; None: the client's host is silent."""
    others = facts.row_of_another_service()
    clients = [] if client is None else [facts.host(name, facts.table([*others, *client], name, taken=1))]
    ldap = facts.host("ldap", facts.table([facts.listening(), *server], taken=0))
    gaps = [] if clients else [Gap(target=f"ssh://{name}", reason="no answer in 10 s")]
    return SocketLook([paired(ldap, *clients)], [ldap, *clients], 1, gaps, 0.01)


def said(answer: Any) -> Any:
    """Return an answer, or raise it."""
    if isinstance(answer, Exception):
        raise answer
    return answer


__all__ = ["Stage", "direction", "logged", "look", "look_of", "monitored", "report", "tables"]
