"""The settings common to OpenDS and its forks, by property name, from LDIF or dsconfig."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.configuration.duration import seconds
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.ldif import whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping

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
