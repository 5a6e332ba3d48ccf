"""ReadLog: what was read of access logs, and what it says; all that both reports need."""

from __future__ import annotations

from dataclasses import dataclass

from ldapdiag.analysis.log.workload import Workload
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.dialect import Scanner


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What was not read, or not used, and why."""

    target: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRead:
    """One server's log, in order."""

    name: str
    dialect: str
    family: Family
    files: tuple[str, ...]
    server_lives: int
    peak: int
    """The most connections at once."""
    left_out: tuple[LeftOut, ...]
    """Files that tell the same as these."""
    scanner: Scanner = Scanner.PYTHON
    """Who read them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLog:
    """All streams, added up."""

    workload: Workload
    streams: tuple[StreamRead, ...]
    not_logs: tuple[LeftOut, ...]
    gaps: tuple[Gap, ...]
    """What was named, or found, and could not be read."""
    remarks: tuple[str, ...]
    """What of the logs was not read as it was written, a sentence each."""
    since: int | None = None
    until: int | None = None
    """The period asked for: nanoseconds since 1970."""
    stopped: bool = False
    """The reading was interrupted: there is more."""

    @property
    def scanner(self) -> Scanner:
        """Return who read them: the native scanner, if it read any."""
        return Scanner.of(one.scanner for one in self.streams)
