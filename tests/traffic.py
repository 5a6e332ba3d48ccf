"""Access logs for tests of what stands on them, told to a Scan as a dialect would; the story begins at facts.START."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import facts
from incidents import diagnosed, judged
from ldapdiag.analysis.log.traffic import Traffic, combine_logs
from ldapdiag.evidence.access_log import AccessLog, LogStream
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.connection import SIMPLE, OperationResult
from ldapdiag.evidence.log.operation_kinds import BIND, SEARCH
from ldapdiag.evidence.log.scan import Scan
from ldapdiag.evidence.log.sorting import Sorting

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.finding import Verdict

SECOND = 10**9
FOO = b"uid=foo,ou=services,dc=example"
PEOPLE = b"ou=people,dc=example"
DISPLAY_NAME = b"(displayName=*joe*)"
UID = b"(uid=joe)"


def at(seconds: float) -> int:
    """Return so many seconds after the start of the story, as nanoseconds since 1970."""
    return int(facts.START.timestamp()) * SECOND + round(seconds * SECOND)


@dataclass(slots=True)
class Log:
    """A server's log while it is written; each call continues at the end of the last one, unless it gives a time."""

    scan: Scan = field(default_factory=Scan)
    number: int = 0
    now: float = 0.0

    def opens(self, client: str = facts.APP1, *, when: float | None = None) -> int:
        """Open a connection, and return its number."""
        self.now = self.now if when is None else when
        self.number += 1
        self.scan.opened(self.number, at(self.now), client.encode())
        return self.number

    def binds(
        self,
        number: int,
        dn: bytes = FOO,
        err: int = 0,
        op: int = 0,
        wait: float | None = None,
        *,
        took: float = 0.001,
        mechanism: bytes = SIMPLE,
    ) -> None:
        """Bind, and have the result."""
        self.scan.bind(number, op, at(self.now), dn, mechanism)
        waited = None if wait is None else round(wait * SECOND)
        self.scan.result(number, OperationResult(op, at(self.now), BIND, err, round(took * SECOND), waited))

    def searches(
        self,
        number: int,
        op: int,
        filter_: bytes = UID,
        *,
        took: float = 0.001,
        notes: bytes = b"",
        base: bytes = PEOPLE,
        scope: int = 2,
        wait: float | None = None,
        entries: int = 1,
        err: int = 0,
        sorting: Sorting | None = None,
    ) -> None:
        """Search, and have the result; `sorting`: the SORT and VLV lines between."""
        self.scan.search(number, op, at(self.now), base, scope, filter_)
        if sorting is not None:
            self.scan.sorting(number, op, at(self.now), sorting)
        self.now += took
        waited = None if wait is None else round(wait * SECOND)
        self.scan.result(
            number, OperationResult(op, at(self.now), SEARCH, err, round(took * SECOND), waited, None, entries, notes)
        )

    def operates(
        self,
        number: int,
        op: int,
        kind: int,
        target: bytes,
        *,
        took: float = 0.001,
        err: int = 0,
        wait: float | None = None,
        apart: float | None = None,
    ) -> None:
        """Send an operation that is neither a search nor a BIND, and have the result; the next begins `apart` later."""
        begun = self.now
        self.scan.request(number, op, at(begun), kind, target)
        waited = None if wait is None else round(wait * SECOND)
        self.scan.result(number, OperationResult(op, at(begun + took), kind, err, round(took * SECOND), waited))
        self.now = begun + (took if apart is None else apart)

    def closes(self, number: int, code: bytes = b"U1") -> None:
        """Close a connection."""
        self.scan.closed(number, at(self.now), code)

    def visits(
        self,
        count: int,
        client: str = facts.APP1,
        *,
        every: float = 1.0,
        code: bytes = b"U1",
        asks: bool = True,
        lives: float = 0.0,
        searches: int = 1,
    ) -> None:
        """Open connections one after the other, ask a little on each, and close it."""
        begun = self.now
        for visit in range(count):
            number = self.opens(client, when=begun + visit * every)
            if asks:
                self.binds(number)
                for op in range(1, searches + 1):
                    self.searches(number, op)
            self.now += lives
            self.closes(number, code)
        self.now = begun + count * every

    def refuses(
        self, count: int, dn: bytes = FOO, client: str = facts.APP1, err: int = 49, *, every: float = 1
    ) -> None:
        """Refuse BINDs, all of one connection."""
        number = self.opens(client)
        for op in range(count):
            self.binds(number, dn, err, op)
            self.now += every
        self.closes(number)

    def passes(self, seconds: float) -> None:
        """Let time pass, and write something at its end."""
        self.now += seconds
        number = self.opens("192.0.2.99")
        self.binds(number)
        self.searches(number, 1)
        self.closes(number)

    def segment(self) -> Segment:
        """Return what it all adds up to."""
        return self.scan.finish()

    def fact(self, host: str = "ldap", family: Family = Family.DS389) -> AccessLog:
        """Return the fact that gathering would read; the log must not be written any more."""
        origin = facts.origin(host, "access")
        streams = (LogStream(name=origin.path, dialect="389-text", family=family, files=(origin.path,)),)
        return AccessLog(origin=origin, family=family, segment=self.segment(), streams=streams)

    def traffic(self, family: Family = Family.DS389) -> Traffic:
        """Return the joined fact."""
        told = combine_logs(facts.server(access_logs=(self.fact(family=family),)))
        assert isinstance(told, Traffic)
        return told


def verdicts_on(path: Path, check: str) -> list[Verdict]:
    """Return the verdicts of a check on a captured log, read as diagnose reads it."""
    return list(judged(diagnosed(path), check).values())
