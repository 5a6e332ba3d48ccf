"""The description of a host, written by ldapdiag's collection script (sources/live/ssh/collect).

    ldapdiag-host 1
    name: app1
    system: Linux 6.1.0-18-amd64 x86_64
    clock: 2026-11-20T13:00:01.123456789Z                              (or without a fraction)
    booted: 1795160000                                                 (Linux, Solaris)
    booted: { sec = 1795160000, usec = 512 } Tue Nov 17 …              (kern.boottime; the output of who -b is not read)
    machine: 0f9c8e0a-…
    namespace: net:[4026531840]
    namespaces-read: 3
    namespaces-unread: 0                                               (unknown, where listing them needs root)
    address: 10.77.2.2
    route: default via 10.77.2.1 dev eth0                              (a line of ip -o route)

There is one line for each address and each route; unknown keys are ignored. `system` of Windows is its edition.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import normalise_address
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.host_facts import HostDescription, RouteTable
from ldapdiag.evidence.host_formats.ip_route import Routes
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

FIRST = "ldapdiag-host 1"
LINE = pattern(r"([a-z][a-z-]{0,30}): ?(.{0,300})", re.ASCII)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BOOTED = pattern(r"(?:\{ sec = )?(\d{1,11})(?:,.*)?", re.ASCII)
CLOCK = pattern(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,6})?\d*Z", re.ASCII)
ADDRESS = pattern(r"[0-9A-Fa-f:.]{2,45}", re.ASCII)
MOST_ADDRESSES = 10_000


def recognises(head: Head) -> bool:
    """Recognise the description by its first line."""
    return head.lines[:1] == (FIRST,)


def read(document: Document) -> Iterator[HostDescription | RouteTable]:
    """Read the description; of a repeated key the first line counts."""
    values: dict[str, str] = {}
    addresses: set[str] = set()
    routes = Routes()
    for line in document.lines:
        found = LINE.fullmatch(line)
        key, value = found.groups() if found else ("", line.removeprefix(FIRST))
        if key == "address" and ADDRESS.fullmatch(value):
            if len(addresses) < MOST_ADDRESSES:
                addresses.add(normalise_address(value))
        elif key in {"", "address", "route"}:
            if value.strip() and not (key == "route" and routes.take(value)):
                document.misread(line)
        else:
            values.setdefault(key, value.strip())
    if values or addresses:
        yield HostDescription(
            origin=document.origin(),
            name=values.get("name", ""),
            system=values.get("system", ""),
            clock=_clock(values.get("clock", "")),
            booted=_booted(values.get("booted", "")),
            machine=values.get("machine", ""),
            namespace=values.get("namespace", ""),
            namespaces_read=_number(values.get("namespaces-read", "")),
            namespaces_unread=_number(values.get("namespaces-unread", "")),
            addresses=frozenset(addresses),
        )
    table = routes.table(document.origin())
    if table is not None:
        yield table


def _clock(text: str) -> datetime | None:
    found = CLOCK.fullmatch(text)
    try:
        return datetime.fromisoformat(f"{found[1]}{found[2] or ''}+00:00") if found else None
    except ValueError:
        return None


def _booted(text: str) -> datetime | None:
    found = BOOTED.fullmatch(text)
    return EPOCH + timedelta(seconds=int(found[1])) if found else None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


FORMAT = Format(name="host", title="a host's description of itself", recognises=recognises, read=read)
