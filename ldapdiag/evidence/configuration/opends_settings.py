"""The settings common to OpenDS and its forks, by property name, from LDIF or dsconfig.

cn=config of OpenDJ, its relatives and PingDirectory, from a search or from config.ldif, entry by entry.

    dn: cn=config
    objectClass: ds-cfg-root-config
    ds-cfg-idle-time-limit: 0 seconds
    ds-cfg-max-allowed-client-connections: 0

    dn: cn=LDAP Connection Handler,cn=Connection Handlers,cn=config
    objectClass: ds-cfg-ldap-connection-handler
    ds-cfg-listen-port: 389
    ds-cfg-use-tcp-keep-alive: true

An account's own idle timeout is in its entry: ds-rlim-idle-time-limit, in seconds, 0 for none (measured with 4.10.1).
Source: the template opendj-server-legacy/resource/config/config.ldif; Oracle 820-6170, 821-0507; Ping's reference.

Durations as OpenDS and its forks write them: `0 seconds`, `300000 ms`, `5 m`, `1 h 30 m`.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import CONFIG, MOST_ACCOUNTS, WHOLE_ENTRY, Configuration
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.ldif import whole_number
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry
    from ldapdiag.evidence.origin import Origin

IDLE = "idle-time-limit"
POLICY_IDLE = "maximum-idle-connection-duration"
MOST_CONNECTIONS = {"max-allowed-client-connections": Family.OPENDJ, "maximum-concurrent-connections": Family.PING}
"""The property of the connection limit, which differs by product."""
PING_NAMES = frozenset({"maximum-concurrent-connections", "maximum-concurrent-connections-per-ip-address", POLICY_IDLE})
KEEPALIVE = "use-tcp-keep-alive"
PORT = "listen-port"
BACKLOG = "accept-backlog"
THREADS = "num-worker-threads"
ENABLED = "enabled"
VIRTUAL, VALUE = "attribute-type", "value"
"""Properties of a virtual attribute, the value of entries without a value of their own."""
PERSONAL_LIMIT = "ds-rlim-idle-time-limit"
WANTED = frozenset(
    {IDLE, KEEPALIVE, PORT, BACKLOG, THREADS, ENABLED, VIRTUAL, VALUE, "java-class", *MOST_CONNECTIONS, *PING_NAMES}
)
"""All properties that are kept; others may be passwords and PINs."""
MOST_PORTS = 1000


@dataclass(slots=True)
class OpendsSettings:
    """The settings of one server read so far."""

    family: Family = Family.OPENDJ
    values: dict[str, int] = field(default_factory=dict)
    ports: dict[int, None] = field(default_factory=dict)
    keepalives: set[bool] = field(default_factory=set)
    complete: bool = False

    @property
    def relevant(self) -> bool:
        """Return whether there is any setting for a diagnosis of connections."""
        return bool(self.values or self.ports)

    def take_global(self, properties: Mapping[str, str]) -> None:
        """Read the idle timeout and the connection limit."""
        if PING_NAMES & properties.keys():
            self.family = Family.PING
        self._keep(IDLE, seconds(properties.get(IDLE, "")))
        for name in MOST_CONNECTIONS:
            self._keep("max-connections", whole_number(properties.get(name, "")))

    def take_handler(self, properties: Mapping[str, str]) -> None:
        """Read the port, backlog and keepalive setting of an enabled LDAP connection handler."""
        if properties.get(ENABLED, "true").lower() == "false":
            return
        port = whole_number(properties.get(PORT, ""))
        if port and len(self.ports) < MOST_PORTS:
            self.ports[port] = None
        self._keep(BACKLOG, whole_number(properties.get(BACKLOG, "")))
        if KEEPALIVE in properties:
            self.keepalives.add(properties[KEEPALIVE].lower() != "false")

    def take_virtual_attribute(self, properties: Mapping[str, str]) -> None:
        """Read the idle timeout that an enabled virtual attribute gives to every account."""
        enabled = properties.get(ENABLED, "true").lower() != "false"
        if enabled and properties.get(VIRTUAL, "").lower() == PERSONAL_LIMIT:
            self._keep(PERSONAL_LIMIT, whole_number(properties.get(VALUE, "")))

    def take_work_queue(self, properties: Mapping[str, str]) -> None:
        """Read the number of worker threads; without one the server chooses it."""
        self._keep(THREADS, whole_number(properties.get(THREADS, "")))

    def configuration(self, origin: Origin, exemptions: Mapping[str, int]) -> Configuration:
        """Return the settings as a fact; `exemptions`: accounts' own idle timeouts in seconds, by DN."""
        known = Configuration(origin=origin, identity=ServerIdentity(family=self.family), complete=self.complete)
        return replace(
            known,
            idle_timeout_seconds=self.values.get(IDLE),
            account_idle_timeout_seconds=self.values.get(PERSONAL_LIMIT),
            max_connections=self.values.get("max-connections"),
            keepalive=next(iter(self.keepalives)) if len(self.keepalives) == 1 else None,
            threads=self.values.get(THREADS),
            listen_backlog=self.values.get(BACKLOG),
            ports=tuple(self.ports),
            idle_exemptions=tuple(exemptions.items()),
        )

    def _keep(self, name: str, value: int | None) -> None:
        if value is not None and value >= 0:
            self.values[name] = value


BELOW = ",cn=config"
OWN_NAMES = "ds-cfg-"
LDAP_HANDLER = "ds-cfg-ldap-connection-handler"
ATTRIBUTES = (*WHOLE_ENTRY, *sorted(f"{OWN_NAMES}{name}" for name in WANTED))
"""The attributes read of the configuration, with their prefix in LDIF."""


class OpendjConfiguration:
    """Makes one Configuration from the entries of cn=config and of accounts."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.settings = OpendsSettings()
        self.exemptions: dict[str, int] = {}

    def take(self, entry: Entry) -> None:
        """Read cn=config, handlers, the work queue, and the idle timeout of any other entry."""
        limit = entry.number(PERSONAL_LIMIT)
        if limit is not None:
            self._exempt(entry.dn, limit)
        if entry.key != CONFIG and not entry.key.endswith(BELOW):
            return
        properties = _properties(entry)
        if properties is None:
            return
        classes = {name.lower() for name in entry.values("objectClass")}
        if entry.key == CONFIG:
            self.settings.take_global(properties)
            self.settings.complete = entry.closed and all(name in entry for name in WHOLE_ENTRY)
        elif LDAP_HANDLER in classes:
            self.settings.take_handler(properties)
        elif VIRTUAL in properties:
            self.settings.take_virtual_attribute(properties)
        elif entry.key == f"cn=work queue{BELOW}":
            self.settings.take_work_queue(properties)
        elif period := seconds(properties.get(POLICY_IDLE, "")):
            self.settings.take_global(dict.fromkeys([POLICY_IDLE], ""))
            self.document.note(
                f"A client connection policy closes connections idle for {period} s, whatever the global limit."
            )

    def facts(self) -> Iterator[Configuration]:
        """Return the configuration, if any entry contributed to it."""
        if self.settings.relevant or self.settings.complete or self.exemptions:
            yield self.settings.configuration(self.document.origin(), self.exemptions)

    def _exempt(self, dn: str, limit: int) -> None:
        if len(self.exemptions) >= MOST_ACCOUNTS:
            self.document.note(f"Only the first {MOST_ACCOUNTS:,} accounts with their own idle timeout were kept.")
        else:
            self.exemptions[dn] = limit if limit > 0 else -1


def _properties(entry: Entry) -> dict[str, str] | None:
    """Return the properties in WANTED, without their prefix in LDIF; None for the entry of another product."""
    own = [name for name in entry.attributes if name.startswith(OWN_NAMES)]
    bare = {name.removeprefix(OWN_NAMES): name for name in own}
    return {name: entry.first(bare[name]) for name in WANTED & bare.keys()} if own else None


LONGEST = 200
PART = pattern(
    r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*(ms|milliseconds?|s|seconds?|m|minutes?|h|hours?|d|days?|w|weeks?)\b",
    re.ASCII | re.IGNORECASE,
)
SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def seconds(text: str) -> int | None:
    """Return a duration in whole seconds, at least 1 unless it is 0 (which means off); None if it is not a duration."""
    if len(text) > LONGEST:
        return None
    total, end = 0.0, 0
    while found := PART.match(text, end):
        unit = found[2].lower()
        total += float(found[1]) * SECONDS["ms" if unit.startswith(("ms", "mil")) else unit[0]]
        end = found.end()
    if not end or text[end:].strip():
        return None
    return max(1, int(total)) if total else 0
