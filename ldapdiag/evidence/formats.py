"""All formats of evidence, and which of them a file has.

Files are recognised by their content; only files of bare numbers or times also need their name. A format's module is
imported when the format is first tried, so the most frequent formats come first.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from ldapdiag.evidence.document import lines_of
from ldapdiag.evidence.format import Format, Head

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HEAD_BYTES = 1 << 16

MODULES = (
    "ldif_format",
    "socket_formats.inet_diag",
    "socket_formats.ss",
    "socket_formats.netstat",
    "socket_formats.netstat_bsd",
    "socket_formats.netstat_solaris",
    "socket_formats.netstat_windows",
    "socket_formats.powershell",
    "socket_formats.proc_net",
    "socket_formats.lsof",
    "socket_formats.lsof_fields",
    "socket_formats.conntrack",
    "socket_formats.conntrack_xml",
    "socket_formats.conntrack_statistics",
    "socket_formats.haproxy",
    "socket_formats.f5",
    "socket_formats.ignored",
    "slapd_conf_format",
    "schema.slapd_schema",
    "host_formats.haproxy_cfg",
    "host_formats.f5_profiles",
    "configuration.active_directory",
    "indexes.active_directory",
    "dsconf_format",
    "dsconfig_format",
    "indexes.dsconf_list",
    "indexes.dsconfig_list",
    "indexes.index_status",
    "indexes.probed_answers",
    "server_log_formats.ds389_errors",
    "server_log_formats.slapd",
    "server_log_formats.access",
    "host_formats.sysctl",
    "host_formats.nstat",
    "host_formats.proc_netstat",
    "host_formats.host_description",
    "host_formats.ip_route",
    "host_formats.nft_ruleset",
    "host_formats.iptables_save",
    "host_formats.failed_probe",
    "host_formats.windows_registry",
    "host_formats.proc_threads",
    "host_formats.proc_limits",
    "host_formats.processes",
    "host_formats.ps",
    "host_formats.proc_stat",
    "host_formats.boot_time",
    "host_formats.descriptors",
    "host_formats.capture_times",
    "storage.probe_file",
    "storage.mountinfo",
    "storage.sysfs",
    "storage.proc_mounts",
    "storage.mount",
    "storage.findmnt",
    "storage.lsblk",
    "storage.df",
    "storage.stat_f",
    "storage.ext4_options",
    "storage.superblock",
    "storage.xfs_info",
    "storage.zfs_get",
    "storage.filefrag",
    "storage.file_extents",
    "storage.directory_sizes",
    "storage.kernel_log",
)
"""The modules of all formats. A new format is one module and one line here."""


def formats() -> Iterator[Format]:
    """Yield every format."""
    for module in MODULES:
        yield from _formats_of(module)


@cache
def _formats_of(name: str) -> tuple[Format, ...]:
    """Return the formats of a module: its FORMATS, or its one FORMAT."""
    module = import_module(f"{__package__}.{name}")
    return getattr(module, "FORMATS", None) or (module.FORMAT,)


def head_of(name: str, start: bytes, *, whole: bool) -> Head:
    """Return the head of a file; `whole`: the file ends there, so its last line is complete."""
    lines = list(lines_of([start]))
    if not whole and len(lines) > 1:
        lines.pop()
    return Head(name=name, lines=tuple(lines))


def recognise(head: Head, candidates: Iterable[Format] | None = None) -> Format | None:
    """Return the format that recognises this head, among `candidates` or else all formats; None if there is none."""
    among = formats() if candidates is None else candidates
    return next((candidate for candidate in among if candidate.recognises(head)), None)
