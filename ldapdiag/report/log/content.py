"""LogContent: the content of a report on access logs, for text and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.dialect import Scanner

if TYPE_CHECKING:
    from ldapdiag.analysis.fleet.comparison import Comparison
    from ldapdiag.analysis.log.selections import Wanted
    from ldapdiag.analysis.log.workload import Workload
    from ldapdiag.evidence.bundle import Gap
    from ldapdiag.evidence.cluster_work import ClusterWork
    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.log.selection import ShownOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file that was not read or not used, with the reason."""

    target: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamContent:
    """One server's log, in order."""

    name: str
    dialect: str
    family: Family
    files: tuple[str, ...]
    server_processes: int
    peak: int
    """The most connections at once."""
    left_out: tuple[LeftOut, ...]
    """Files with the same records as these."""
    scanner: Scanner = Scanner.PYTHON
    """The scanner that read them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogContent:
    """All streams, combined."""

    workload: Workload
    streams: tuple[StreamContent, ...]
    not_logs: tuple[LeftOut, ...]
    gaps: tuple[Gap, ...]
    """Files, given or found, that could not be read."""
    remarks: tuple[str, ...]
    """Deviations in reading the logs, a sentence each."""
    since: int | None = None
    until: int | None = None
    """The period selected: nanoseconds since 1970."""
    log_times: tuple[int, int] | None = None
    """When the whole log begins and ends, where no record or operation of it is selected."""
    wanted: Wanted | None = None
    """The operations that were asked for; None: all."""
    not_found: tuple[str, ...] = ()
    """A sentence for each client or account asked for that is not in the logs."""
    shown: tuple[ShownOperation, ...] = ()
    """The slowest operations with their lines, the slowest first."""
    fleet: Comparison | None = None
    """The servers side by side, where that is asked for."""
    cluster: ClusterWork | None = None
    """The work of the cluster that read them; None: they were read here."""
    stopped: bool = False
    """Reading was interrupted before the end."""

    @property
    def is_selection(self) -> bool:
        """Return whether some operations are not counted."""
        return self.wanted is not None and self.wanted.restricts

    @property
    def scanner(self) -> Scanner:
        """Return the scanner of the whole: the native one, if it read any stream."""
        return Scanner.of(one.scanner for one in self.streams)
