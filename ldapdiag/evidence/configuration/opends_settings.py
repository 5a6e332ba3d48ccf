"""Settings that OpenDS and all that grew out of it have in common, by property name, from LDIF or from dsconfig."""

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
"""The limit on connections has a name of its own in each family."""
PING_NAMES = frozenset({"maximum-concurrent-connections", "maximum-concurrent-connections-per-ip-address", POLICY_IDLE})
KEEPALIVE = "use-tcp-keep-alive"
PORT = "listen-port"
BACKLOG = "accept-backlog"
THREADS = "num-worker-threads"
ENABLED = "enabled"
VIRTUAL, VALUE = "attribute-type", "value"
"""Of a virtual attribute: every entry that has no value of its own has this one."""
PERSONAL_LIMIT = "ds-rlim-idle-time-limit"
WANTED = frozenset(
    {IDLE, KEEPALIVE, PORT, BACKLOG, THREADS, ENABLED, VIRTUAL, VALUE, "java-class", *MOST_CONNECTIONS, *PING_NAMES}
)
"""Nothing else is kept: other properties hold passwords and pins."""
MOST_PORTS = 1000


@dataclass(slots=True)
class OpendsSettings:
    """What is known so far of one server."""

    family: Family = Family.OPENDJ
    values: dict[str, int] = field(default_factory=dict)
    ports: dict[int, None] = field(default_factory=dict)
    keepalives: set[bool] = field(default_factory=set)
    complete: bool = False

    @property
    def say_something(self) -> bool:
        """Tell whether anything here helps a diagnosis of connections."""
        return bool(self.values or self.ports)

    def take_global(self, told: Mapping[str, str]) -> None:
        """Keep the idle limit and the limit on connections."""
        if PING_NAMES & told.keys():
            self.family = Family.PING
        self._keep(IDLE, seconds(told.get(IDLE, "")))
        for name in MOST_CONNECTIONS:
            self._keep("max-connections", whole_number(told.get(name, "")))

    def take_handler(self, told: Mapping[str, str]) -> None:
        """Keep what an enabled handler of LDAP listens at."""
        if told.get(ENABLED, "true").lower() == "false":
            return
        port = whole_number(told.get(PORT, ""))
        if port and len(self.ports) < MOST_PORTS:
            self.ports[port] = None
        self._keep(BACKLOG, whole_number(told.get(BACKLOG, "")))
        if KEEPALIVE in told:
            self.keepalives.add(told[KEEPALIVE].lower() != "false")

    def take_virtual_attribute(self, told: Mapping[str, str]) -> None:
        """Keep the idle limit that an enabled virtual attribute gives to every account."""
        if told.get(VIRTUAL, "").lower() == PERSONAL_LIMIT and told.get(ENABLED, "true").lower() != "false":
            self._keep(PERSONAL_LIMIT, whole_number(told.get(VALUE, "")))

    def take_work_queue(self, told: Mapping[str, str]) -> None:
        """Keep the number of worker threads; without one the server chooses."""
        self._keep(THREADS, whole_number(told.get(THREADS, "")))

    def configuration(self, origin: Origin, exemptions: Mapping[str, int]) -> Configuration:
        """Return the fact."""
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
