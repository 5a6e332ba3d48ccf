"""Which kind of evidence a file is: told by its content, never by its name (but for files of bare numbers).

A grammar is imported when its turn comes: the first ones are the most frequent.
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

GRAMMARS = (
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
    "socket_formats.haproxy",
    "socket_formats.f5",
    "socket_formats.ignored",
    "slapd_conf_format",
    "schema.slapd_schema",
    "host_formats.haproxy_cfg",
    "host_formats.f5_profiles",
    "configuration.active_directory",
    "configuration.dsconf",
    "configuration.dsconfig",
    "indexes.dsconf_list",
    "indexes.dsconfig_list",
    "indexes.index_status",
    "server_log_formats.ds389_errors",
    "server_log_formats.slapd",
    "server_log_formats.access",
    "host_formats.sysctl",
    "host_formats.nstat",
    "host_formats.proc_netstat",
    "host_formats.host_description",
    "host_formats.proc_limits",
    "host_formats.descriptors",
    "host_formats.capture_times",
)
"""The modules of every grammar we read. A new one costs its module and one line here."""


def formats() -> Iterator[Format]:
    """Yield every format."""
    for module in GRAMMARS:
        yield from _told_in(module)


@cache
def _told_in(name: str) -> tuple[Format, ...]:
    """Return the formats of a module: its own, or those that it lists."""
    module = import_module(f"{__package__}.{name}")
    return getattr(module, "FORMATS", None) or (module.FORMAT,)


def head_of(name: str, start: bytes, *, whole: bool) -> Head:
    """Return the beginning of a file as lines; `whole` says that the file ends there."""
    lines = list(lines_of([start]))
    if not whole and len(lines) > 1:
        lines.pop()
    return Head(name=name, lines=tuple(lines))


def recognise(head: Head, candidates: Iterable[Format] | None = None) -> Format | None:
    """Return the format that recognises this head, or None; of these candidates, or of all there are."""
    among = formats() if candidates is None else candidates
    return next((candidate for candidate in among if candidate.recognises(head)), None)
