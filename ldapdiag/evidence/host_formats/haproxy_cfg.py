"""The idle timeouts of HAProxy, from its configuration.

    defaults
      timeout client 1h
      timeout server 90m                       (clitimeout and srvtimeout before 1.4)
    frontend ldap_in
      bind 10.77.2.1:389
      default_backend ldap_out
    backend ldap_out
      server ds1 10.77.1.2:389 check
    listen ldaps
      bind :636
      server ds1 10.77.1.2:636

A time is a number with us, ms, s, m, h or d; without a unit it is in milliseconds. A section inherits from the last
`defaults` before it. With both legs established, `timeout tunnel` replaces the two others; else the shorter one of
client and server applies to both legs, and HAProxy sends a FIN to both ends. Where the server's is shorter, the server
gets it when the client has closed, too, or after timeout client-fin, else timeout client (measured with 2.6.12).
0: no timeout. Only servers, ports, backend names and timeouts are read; nothing else of the file is kept, because it
may contain passwords.
Source: HAProxy configuration manual, 2.5 (time format), 4.2 (bind; timeout client, server, tunnel).
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import normalise_address, port_number
from ldapdiag.evidence.flows import BoxTimeouts, Relay, ServiceTimeout
from ldapdiag.evidence.format import Format, Head
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.evidence.document import Document

SECTION = pattern(r"(global|defaults|frontend|backend|listen)(?:\s+(\S{1,200}))?(?:\s.*)?")
OTHER_SECTION = pattern(r"(?:cache|fcgi-app|http-errors|log-forward|mailers|peers|resolvers|ring|userlist)\b")
TIMEOUT = pattern(r"\s*(?:timeout\s+(client|server|tunnel)|(cli|srv)timeout)\s+(\d{1,15})(us|ms|s|m|h|d)?(?:\s.*)?")
INDENTED_TIMEOUT = pattern(r"\s+(?:timeout\s+(?:client|server|connect|tunnel|check|queue)|(?:cli|srv|con)timeout)\s+\d")
SERVER = pattern(r"\s*server\s+\S{1,200}\s+(\S{1,300})(?:\s.*)?")
BIND = pattern(r"\s*bind\s+(\S{1,1000})(?:\s.*)?")
PORTS = pattern(r"[^/]*:(\d{1,5})(?:-(\d{1,5}))?")
USE = pattern(r"\s*(?:default_backend|use_backend)\s+(\S{1,200})(?:\s.*)?")
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400}
OLD = {"cli": "client", "srv": "server"}
MOST_SECTIONS = 10_000


@dataclass(slots=True)
class ProxySection:
    """One section of the configuration while it is read; timeouts in seconds."""

    kind: str
    name: str
    timeouts: dict[str, float]
    uses: list[str] = field(default_factory=list)
    servers: list[tuple[str, int]] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)


def recognises(head: Head) -> bool:
    """Recognise the configuration by a section and an indented timeout."""
    sections = any(SECTION.fullmatch(line) for line in head.lines)
    return sections and any(INDENTED_TIMEOUT.match(line) for line in head.lines)


def read(document: Document) -> Iterator[BoxTimeouts]:
    """Read for each service the timeout that expires first."""
    sections = _sections(document)
    backends = {section.name: section for section in sections if section.kind in {"backend", "listen"}}
    services = [
        service
        for section in sections
        if section.kind in {"frontend", "listen"}
        for service in _services(section, backends)
    ]
    ports = frozenset(port for section in sections for port in section.ports)
    yield BoxTimeouts(origin=document.origin(), services=tuple(services), relay=Relay.PROXY, ports=ports)


def _sections(document: Document) -> list[ProxySection]:
    defaults: dict[str, float] = {}
    sections: list[ProxySection] = []
    current: ProxySection | None = None
    for line in document.lines:
        if found := SECTION.fullmatch(line):
            kind = found[1]
            timeouts = {} if kind == "defaults" else dict(defaults)
            current = ProxySection(kind, found[2] or "", timeouts)
            if kind == "defaults":
                defaults = timeouts
            elif len(sections) < MOST_SECTIONS:
                sections.append(current)
        elif OTHER_SECTION.match(line):
            current = None
        elif current is not None:
            _directive(line, current)
    return sections


def _directive(line: str, section: ProxySection) -> None:
    if found := TIMEOUT.fullmatch(line):
        section.timeouts[found[1] or OLD[found[2]]] = int(found[3]) * UNITS[found[4] or "ms"]
    elif found := USE.fullmatch(line):
        section.uses.append(found[1])
    elif found := SERVER.fullmatch(line):
        address, _, port = found[1].rpartition(":")
        section.servers.append((normalise_address(address), port_number(port)))
    elif found := BIND.fullmatch(line):
        section.ports += [port for address in found[1].split(",") for port in _ports(address)]


def _ports(address: str) -> Iterable[int]:
    """Return the ports of `address:port` or `address:first-last`; none of a Unix socket or a variable."""
    found = PORTS.fullmatch(address)
    return range(int(found[1]), min(int(found[2] or found[1]), 0xFFFF) + 1) if found else ()


def _services(front: ProxySection, backends: dict[str, ProxySection]) -> Iterator[ServiceTimeout]:
    """Yield the first timeout to expire for each backend of a frontend, with the backend's servers."""
    behind = [front] if front.servers else []
    behind += [backends[name] for name in dict.fromkeys(front.uses) if name in backends]
    for back in behind or [front]:
        tunnel = back.timeouts.get("tunnel") or front.timeouts.get("tunnel")
        timeouts = {
            f"timeout client of {front.name}": front.timeouts.get("client"),
            f"timeout server of {back.name}": back.timeouts.get("server"),
        }
        if tunnel:
            timeouts = {f"timeout tunnel of {back.name if back.timeouts.get('tunnel') else front.name}": tunnel}
        limits = {name: seconds for name, seconds in timeouts.items() if seconds}
        if limits:
            name = min(limits, key=lambda one: limits[one])
            yield ServiceTimeout(name=name, seconds=limits[name], servers=frozenset(back.servers))


FORMAT = Format(name="haproxy.cfg", title="a configuration of HAProxy", recognises=recognises, read=read)
