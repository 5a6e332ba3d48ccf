"""GhostLifetime: how long a ghost connection keeps its descriptor with the current settings."""

from __future__ import annotations

from math import ceil
from typing import ClassVar

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.providers import provides
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.flows import BoxTimeouts, Relay
from ldapdiag.evidence.sockets import Timer
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.hosts.kernel import (
    KEEPALIVE_INTERVAL,
    KEEPALIVE_PROBES,
    KEEPALIVE_TIME,
    KERNEL_KEEPALIVE_INTERVAL,
    KERNEL_KEEPALIVE_PROBES,
    KERNEL_KEEPALIVE_TIME,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GhostLifetime:
    """What closes a ghost at the server: the idle timeout, and unanswered keepalive probes."""

    kind: ClassVar[str] = "ghost-lifetime"
    how: ClassVar[str] = Configuration.how

    server: str
    """The server, by the name of its instance."""
    host: str
    idle_timeout_seconds: int | None
    """0: off. None: unknown."""
    idle_timeout_source: str
    keepalive: bool | None
    """Whether the server's sockets carry SO_KEEPALIVE."""
    keepalive_seconds: int | None
    """Idle seconds before the first probe; None when off or unknown."""
    keepalive_source: str
    probing_seconds: int
    """From the first probe to the end: interval times probes."""
    proxy: bool = False
    """The server is a proxy."""

    @property
    def seconds(self) -> int | None:
        """Return how long a ghost lasts; None if nothing closes it, or if that is unknown."""
        limits = [self.idle_timeout_seconds] if self.idle_timeout_seconds else []
        if self.keepalive_seconds is not None:
            limits.append(self.keepalive_seconds + self.probing_seconds)
        return min(limits, default=None)

    @property
    def summary(self) -> str:
        """Return how long a ghost lasts with the current settings, as a clause."""
        if self.seconds is None:
            if self.idle_timeout_seconds == 0 and self.keepalive is False:
                return "a ghost connection lasts until the server restarts (no idle timeout, no keepalive)"
            return f"how long a ghost connection lasts is unknown ({self.idle_timeout_source})"
        limits = [f"idle timeout {self.idle_timeout_seconds} s"] if self.idle_timeout_seconds else []
        if self.keepalive_seconds is not None:
            limits.append(f"keepalive after {self.keepalive_seconds} s, then {self.probing_seconds} s of probes")
        # An unknown idle timeout may close it sooner.
        most = "at most " if self.idle_timeout_seconds is None else ""
        return f"a ghost connection currently lasts {most}{self.seconds} s ({', '.join(limits)})"


@provides(GhostLifetime)
def measure_lifetime(server: Instance, host: Host, timeouts: BoxTimeouts | None = None) -> GhostLifetime:
    """Measure how long ghosts last at this server, by its configuration, the timers of its sockets and its kernel."""
    proxy = timeouts if server.proxy and timeouts and timeouts.relay is Relay.PROXY else None
    idle, idle_source = _proxy_timeout(proxy) if proxy else _idle_timeout(server)
    on, seconds, source = _probes(server, host)
    if on is None and seconds is None:
        source = "neither the server's configuration nor the timers of its sockets were collected"
    kernel = server.kernel
    interval = (kernel and kernel.number(KEEPALIVE_INTERVAL)) or KERNEL_KEEPALIVE_INTERVAL
    probes = (kernel and kernel.number(KEEPALIVE_PROBES)) or KERNEL_KEEPALIVE_PROBES
    return GhostLifetime(
        server=server.name,
        host=server.host,
        idle_timeout_seconds=idle,
        idle_timeout_source=idle_source,
        keepalive=on if on is not None else (True if seconds is not None else None),
        keepalive_seconds=seconds,
        keepalive_source=source,
        probing_seconds=interval * probes,
        proxy=bool(server.proxy),
    )


def _probes(server: Instance, host: Host) -> tuple[bool | None, int | None, str]:
    """Return whether keepalive is enabled, the idle seconds before the first probe, and the source of both."""
    on, configuration, product = keepalive_shown(host, server.ports), server.configuration, server.product
    if on is False:
        return on, None, "its sockets run no keepalive timer"
    if on is None and configuration is not None and configuration.keepalive is False:
        return False, None, f"{configuration.origin.path} disables keepalive"
    set_so = configuration is not None and (configuration.keepalive or configuration.keepalive_seconds is not None)
    sends = product.defaults.sends_keepalives.at(server.version) if product is not None else True
    if on is None and sends is False:
        return False, None, f"{server.identity} sends no keepalive probes"
    if not (on or set_so) and not sends:
        return None, None, f"it is unknown whether {server.identity} enables keepalive"
    return on, *_keepalive(server)


def keepalive_shown(host: Host, ports: frozenset[int]) -> bool | None:
    """Return whether a server's established sockets run a keepalive timer; None where no table shows their timers.

    A retransmission timer replaces the keepalive timer in the table, so a socket that runs one shows neither.
    """
    if host.latest is None or (timers := host.latest.sockets.timer) is None:
        return None
    shown = {timers[row] for row in host.latest.sockets.established_at(ports)} & {Timer.OFF, Timer.KEEPALIVE}
    return Timer.KEEPALIVE in shown if shown else None


def _proxy_timeout(timeouts: BoxTimeouts) -> tuple[int | None, str]:
    """Return the longest timeout of a proxy's services, for it is unknown which service a connection belongs to."""
    longest = max(timeouts.services, key=lambda service: (service.seconds, service.name), default=None)
    if longest is None:
        return None, f"{timeouts.origin.path} sets none"
    return ceil(longest.seconds), f"{longest.name}, in {timeouts.origin.path}"


def _idle_timeout(server: Instance) -> tuple[int | None, str]:
    configuration, product = server.configuration, server.product
    own = configuration is not None and configuration.account_idle_timeout_seconds
    if not own and product is not None and (reason := product.idle_enforcement.at(server.version).ignored):
        return 0, reason
    return configured_idle_timeout(server)


def configured_idle_timeout(server: Instance) -> tuple[int | None, str]:
    """Return the idle timeout as configured, whether the server heeds it or not, and its source; 0: off."""
    configuration, product = server.configuration, server.product
    if configuration is not None and configuration.account_idle_timeout_seconds:
        own, general = configuration.account_idle_timeout_seconds, configuration.idle_timeout_seconds
        return min(own, general or own), f"{configuration.origin.path}, for every account"
    if configuration is None or product is None:
        return None, f"the {'proxy' if server.proxy else 'server'}'s configuration was not collected"
    if configuration.idle_timeout_seconds is not None:
        return configuration.idle_timeout_seconds, configuration.origin.path
    default = product.defaults.idle_timeout_seconds.at(server.version) if configuration.complete else None
    if default is None:
        return None, f"{configuration.origin.path} does not set it"
    return default, f"the default of {server.identity}"


def _keepalive(server: Instance) -> tuple[int | None, str]:
    """Return the idle seconds before the first probe, and their source."""
    configuration, product = server.configuration, server.product
    if configuration is not None and configuration.keepalive_seconds is not None:
        return configuration.keepalive_seconds, configuration.origin.path
    if product is None:
        return None, f"the defaults of {server.identity or 'a server of unknown family'} are not known"
    own = product.defaults.keepalive_seconds.at(server.version)
    if own is not None:
        return own, f"the default of {server.identity}"
    if server.kernel and (time := server.kernel.number(KEEPALIVE_TIME)):
        return time, f"{KEEPALIVE_TIME} of its host"
    return KERNEL_KEEPALIVE_TIME, "the kernel's default"
