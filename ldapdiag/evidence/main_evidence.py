"""Main evidence: what a diagnosis judges, and what the operator learns first where it is missing or was passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.flows import BoxTimeouts
from ldapdiag.evidence.host_facts import (
    CaptureTimes,
    DescriptorCount,
    HostDescription,
    KernelSettings,
    ProcessLimits,
    TcpCounters,
)
from ldapdiag.evidence.processes import BootTime, ProcessTable
from ldapdiag.evidence.schema import Schema
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from ldapdiag.evidence.bundle import Bundle

SUPPORTING = (
    *(BoxTimeouts, CaptureTimes, DescriptorCount, HostDescription, KernelSettings, ProcessLimits, TcpCounters),
    *(BootTime, ProcessTable, Schema),
)
"""Facts that describe a host, a device or a time: without a socket table, a log, a monitor or a configuration, they
give no reason to call anything healthy."""

PLACES_SHOWN = 3


def shortfall(bundle: Bundle, *, has_findings: bool) -> Gap | None:
    """Return what to report first if the main evidence is missing, or if more of it was passed over than read.

    Supporting facts suffice for a finding (a connection-tracking table that is full), never for a report without one.
    """
    read = {fact.origin.path for fact in bundle.facts if not isinstance(fact, SUPPORTING)}
    closed = [one for one in bundle.passed_over if one.files]
    files = sum(one.files for one in closed)
    if (read or has_findings) and files <= len(read):
        return None
    places = ", ".join(one.target for one in closed[:PLACES_SHOWN]) + (", …" if len(closed) > PLACES_SHOWN else "")
    passed = f"{counted(files, 'file')} of evidence passed over in {places}" if closed else ""
    if read:
        reason = f"most of the evidence was not read: {counted(len(read), 'file')} read, {passed}"
        return Gap(target="evidence", reason=reason, how=f"name what was passed over: {places}")
    others = sorted({fact.kind for fact in bundle.facts})
    has_only = f" ({', '.join(others)} only)" if others else ""
    reason = f"no connection, log or configuration was read{has_only}{f'; {passed}' if passed else ''}"
    how = (
        f"name what was passed over: {places}" if closed else "name the folder that contains the socket tables or logs"
    )
    return Gap(target="evidence", reason=reason, how=how)
