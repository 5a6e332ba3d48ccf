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
    "ldif_facts",
    "socket_text.inet_diag",
    "socket_text.ss",
    "socket_text.netstat",
    "socket_text.netstat_bsd",
    "socket_text.netstat_solaris",
    "socket_text.netstat_windows",
    "socket_text.powershell",
    "socket_text.proc_net",
    "socket_text.lsof",
    "socket_text.lsof_fields",
    "socket_text.conntrack",
    "socket_text.conntrack_xml",
    "socket_text.haproxy",
    "socket_text.f5",
    "socket_text.unused",
    "configuration.slapd_conf",
    "schema.slapd_schema",
    "host_text.haproxy_cfg",
    "host_text.f5_profiles",
    "configuration.active_directory",
    "configuration.dsconf",
    "configuration.dsconfig",
    "indexes.dsconf_list",
    "indexes.dsconfig_list",
    "indexes.index_status",
    "server_log_text.ds389_errors",
    "server_log_text.slapd",
    "server_log_text.access",
    "host_text.sysctl",
    "host_text.nstat",
    "host_text.proc_netstat",
    "host_text.host",
    "host_text.proc_limits",
    "host_text.descriptors",
    "host_text.capture_times",
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
