"""History: the summaries of earlier runs, one per run, in the order of their evidence.

A summary contains numbers, names of servers, mount points of their volumes and ids of checks. What a client sent or is
(addresses, DNs, filters) is not in it: a finding is known by its check and the SHA-256 of its id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import ClassVar, Literal, get_args

from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass

SeverityName = Literal["info", "low", "medium", "high", "critical"]
SEVERITIES: tuple[SeverityName, ...] = get_args(SeverityName)
"""In ascending order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFinding:
    """A finding of an earlier run."""

    check: str
    digest: str
    """The first 16 hexadecimal digits of the SHA-256 of its id (docs/contract.md)."""
    severity: SeverityName


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedVolume:
    """The space of a volume of a server in an earlier run."""

    mount_point: str
    taken: datetime
    """When it was listed."""
    total_bytes: int
    free_bytes: int
    """For accounts without privileges."""


def by_severity(finding: RecordedFinding) -> tuple[int, str, str]:
    """Return the sort key of a finding: the most severe first."""
    return -SEVERITIES.index(finding.severity), finding.check, finding.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSummary:
    """The numbers of one server in one run. None: the evidence of that run does not contain it."""

    name: str
    product: str
    """Product and version; empty: unknown."""
    taken: datetime
    """When the evidence about it was taken."""
    connections: int | None = None
    connections_source: str = ""
    joined: int | None = None
    """Those of them that were looked up at the other end: only these can be counted as ghosts."""
    descriptors_used: int | None = None
    used_source: str = ""
    descriptor_limit: int | None = None
    limit_source: str = ""
    exhausted: int | None = None
    """How many messages and measurements in this evidence show that it ran out; None also in files of version 1."""
    ghosts: int | None = None
    stranded: int | None = None
    severed: int | None = None
    growth_per_hour: float | None = None
    growth_source: str = ""
    log_seconds: float | None = None
    """The time that its access logs cover; the next four are about that time."""
    opened: int | None = None
    binds: int | None = None
    searches: int | None = None
    search_seconds: float | None = None
    volumes: tuple[RecordedVolume, ...] = ()
    findings: tuple[RecordedFinding, ...] = ()

    @property
    def opens_per_second(self) -> float | None:
        """Return how many connections were opened in a second of its access logs."""
        return self._per_second(self.opened)

    @property
    def binds_per_second(self) -> float | None:
        """Return how many BIND requests came in a second of its access logs."""
        return self._per_second(self.binds)

    def _per_second(self, count: int | None) -> float | None:
        return None if count is None or not self.log_seconds else count / self.log_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """The summary of one run."""

    taken: datetime
    """When the latest of its evidence was taken."""
    recorded: datetime
    version: str
    """The version of ldapdiag."""
    exit_code: int
    crashed: int = 0
    """Checks that crashed, whose findings are missing."""
    counts: Mapping[SeverityName, int] = field(default_factory=dict)
    """Findings by severity, all of them."""
    servers: tuple[ServerSummary, ...] = ()
    findings: tuple[RecordedFinding, ...] = ()
    """Those that are about no single server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLoad:
    """The connections and descriptors of one server at one time. None: not known then."""

    taken: datetime
    connections: int | None
    connections_source: str
    used: int | None
    used_source: str
    limit: int | None
    limit_source: str
    origin: str
    """The file of the history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The summaries of earlier runs, from a file of `ldapdiag diagnose --record`."""

    kind: ClassVar[str] = "history"
    how: ClassVar[str] = "ldapdiag diagnose … --record FILE at regular times, as examples/ldapdiag-record.timer does"

    origin: Origin
    """Its lines are the records of the file; those that are malformed are not understood."""
    runs: tuple[RecordedRun, ...] = ()

    @property
    def servers(self) -> tuple[str, ...]:
        """Return the names of all servers."""
        return tuple(sorted({server.name for run in self.runs for server in run.servers}))


def readings(history: History, server: str) -> tuple[RecordedLoad, ...]:
    """Return the connections and descriptors of a server over time, one reading per time, the latest last."""
    by_time: dict[datetime, RecordedLoad] = {}
    for run in history.runs:
        for one in run.servers:
            if one.name == server and (one.connections is not None or one.descriptors_used is not None):
                by_time[one.taken] = RecordedLoad(
                    taken=one.taken,
                    connections=one.connections,
                    connections_source=one.connections_source,
                    used=one.descriptors_used,
                    used_source=one.used_source,
                    limit=one.descriptor_limit,
                    limit_source=one.limit_source,
                    origin=history.origin.path,
                )
    return tuple(by_time[at] for at in sorted(by_time))
