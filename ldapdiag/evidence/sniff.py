"""Which kind of evidence a file is: told by its content, never by its name (but for files of bare numbers)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence import ldif_facts
from ldapdiag.evidence.configuration import active_directory, dsconf, dsconfig, slapd_conf
from ldapdiag.evidence.document import lines_of
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.host_text import (
    capture_times,
    descriptors,
    f5_profiles,
    haproxy_cfg,
    host,
    nstat,
    proc_limits,
    proc_netstat,
    sysctl,
)
from ldapdiag.evidence.indexes import dsconf_list, dsconfig_list, index_status
from ldapdiag.evidence.schema import slapd_schema
from ldapdiag.evidence.server_log_text import access, ds389_errors, slapd
from ldapdiag.evidence.socket_text import (
    conntrack,
    conntrack_xml,
    f5,
    haproxy,
    inet_diag,
    lsof,
    lsof_fields,
    netstat,
    netstat_bsd,
    netstat_solaris,
    netstat_windows,
    powershell,
    proc_net,
    ss,
    unused,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAD_BYTES = 1 << 16

FORMATS: tuple[Format, ...] = (
    inet_diag.FORMAT,
    ss.FORMAT,
    netstat.FORMAT,
    netstat_bsd.FORMAT,
    netstat_solaris.FORMAT,
    netstat_windows.FORMAT,
    powershell.FORMAT,
    proc_net.FORMAT,
    lsof.FORMAT,
    lsof_fields.FORMAT,
    conntrack.FORMAT,
    conntrack_xml.FORMAT,
    haproxy.FORMAT,
    f5.FORMAT,
    *unused.FORMATS,
    ldif_facts.FORMAT,
    slapd_conf.FORMAT,
    slapd_schema.FORMAT,
    haproxy_cfg.FORMAT,
    f5_profiles.FORMAT,
    active_directory.FORMAT,
    dsconf.FORMAT,
    dsconfig.FORMAT,
    dsconf_list.FORMAT,
    dsconfig_list.FORMAT,
    index_status.FORMAT,
    index_status.LIST,
    ds389_errors.FORMAT,
    slapd.FORMAT,
    *access.FORMATS,
    sysctl.FORMAT,
    nstat.FORMAT,
    proc_netstat.FORMAT,
    host.FORMAT,
    proc_limits.FORMAT,
    descriptors.FORMAT,
    capture_times.FORMAT,
)
"""Every grammar we read. A new one costs its module and one line here."""


def head_of(name: str, start: bytes, *, whole: bool) -> Head:
    """Return the beginning of a file as lines; `whole` says that the file ends there."""
    lines = list(lines_of([start]))
    if not whole and len(lines) > 1:
        lines.pop()
    return Head(name=name, lines=tuple(lines))


def recognise(head: Head, formats: Sequence[Format] = FORMATS) -> Format | None:
    """Return the format that recognises this head, or None."""
    return next((candidate for candidate in formats if candidate.recognises(head)), None)
