"""Main evidence: what a diagnosis judges, and what the operator learns first where it is missing or was passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.flows import BoxTimeouts
from ldapdiag.evidence.history import History
from ldapdiag.evidence.host_facts import (
    CaptureTimes,
    DescriptorCount,
    HostDescription,
    KernelSettings,
    ProcessLimits,
    TcpCounters,
)
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.indexes.explanations import IndexExplanations
from ldapdiag.evidence.indexes.index_status import IndexStatus
from ldapdiag.evidence.processes import BootTime, ProcessTable
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.evidence.schema import Schema
from ldapdiag.evidence.storage import (
    STORAGE_OF_HOST,
    EffectiveOptions,
    FileExtents,
    KernelErrors,
    MountTable,
    Superblock,
)
from ldapdiag.evidence.storage.probe import StorageProbe
from ldapdiag.evidence.storage.settings import StorageSettings
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.bundle import Bundle, PassedOver

SUPPORTING = (
    *(BoxTimeouts, CaptureTimes, DescriptorCount, HostDescription, KernelSettings, ProcessLimits, TcpCounters),
    *(BootTime, History, ProcessTable, Schema),
    *(StorageProbe, *STORAGE_OF_HOST),
)
"""Facts that describe a host, a device or a time: without a socket table, a log, a monitor or a configuration, they
give no reason to call anything healthy."""

PLACES_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class MainEvidence:
    """What a report needs."""

    facts: tuple[type[Any], ...] = ()
    """Any of them suffices; none: every fact that is not supporting."""
    names: str
    """As in `no connection, log or configuration was read`."""
    how: str


MAIN = {
    ReportKind.ALL: MainEvidence(names="connection, log or configuration", how="the folder of the evidence"),
    ReportKind.INDEXES: MainEvidence(
        facts=(AccessLog, IndexConfiguration, IndexStatus, IndexExplanations),
        names="access log and no index configuration",
        how="the access logs of a server, and its index configuration",
    ),
    ReportKind.STORAGE: MainEvidence(
        facts=(MountTable, EffectiveOptions, Superblock, FileExtents, KernelErrors, StorageSettings, StorageProbe),
        names="mount table and no storage setting of a server",
        how="/proc/PID/mountinfo of the directory server, lsblk -O -J and its configuration; or run ldapdiag storage "
        "on the server, as root",
    ),
}


def shortfall(bundle: Bundle, *, has_findings: bool, kind: ReportKind = ReportKind.ALL) -> Gap | None:
    """Return what to report first if the main evidence is missing, or if less of it was read than was not.

    Supporting facts suffice for a finding (a connection-tracking table that is full), never for a report without one.
    """
    main = MAIN[kind]
    read = sum(_files_read(bundle, main.facts))
    has_main = any(isinstance(fact, main.facts) for fact in bundle.facts) if main.facts else read > 0
    every: tuple[PassedOver | Gap, ...] = (*bundle.passed_over, *bundle.gaps)
    unread = [one for one in every if one.files]
    files = sum(one.files for one in unread)
    if (has_main or has_findings) and files <= read:
        return None
    places = ", ".join(one.target for one in unread[:PLACES_SHOWN]) + (", …" if len(unread) > PLACES_SHOWN else "")
    not_read = f"{counted(files, 'file')} of evidence passed over in {places}" if unread else ""
    if has_main:
        reason = f"most of the evidence was not read: {counted(read, 'file')} read, {not_read}"
    else:
        kinds = ", ".join(sorted({fact.kind for fact in bundle.facts}))
        has_only = f" ({kinds} only)" if kinds else ""
        reason = f"no {main.names} was read{has_only}{f'; {not_read}' if not_read else ''}"
    how = "name or unpack what was passed over; -v and the gaps list it" if unread else f"name {main.how}"
    return Gap(target="evidence", reason=reason, how=how)


def _files_read(bundle: Bundle, main: tuple[type[Any], ...]) -> Iterator[int]:
    """Yield the number of files of each input with main evidence; an access log has many."""
    counts = [fact for fact in bundle.facts if isinstance(fact, main) or not isinstance(fact, SUPPORTING)]
    yield len({(fact.origin.folder, fact.origin.path) for fact in counts})
    for fact in bundle.facts:
        if isinstance(fact, AccessLog):
            yield max(0, sum(len(stream.files) for stream in fact.streams) - 1)
