"""LocalPorts: the ports that a host may choose for its outgoing connections to one server (ip-sysctl.rst)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import is_loopback
from ldapdiag.servers.kernel import (
    KERNEL_PORT_RANGE,
    KERNEL_REUSE_TIME_WAIT,
    PORT_RANGE,
    RESERVED_PORTS,
    REUSE_TIME_WAIT,
    TIMESTAMPS,
)

if TYPE_CHECKING:
    from ldapdiag.evidence.host_facts import KernelSettings

RANGE = re.compile(r"(\d{1,5})\s+(\d{1,5})", re.ASCII)
RESERVED = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
FIRST_OF_BSD, LAST_OF_BSD = "net.inet.ip.portrange.first", "net.inet.ip.portrange.last"
LAST_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPorts:
    """The ports from which a kernel chooses one for each connection to the same address and port."""

    first: int
    last: int
    reserved: frozenset[int] = frozenset()
    """Ports of the range that it never chooses."""
    source: str
    is_known: bool
    """The host's own setting; False: the default of Linux."""
    reuse: int = KERNEL_REUSE_TIME_WAIT
    """tcp_tw_reuse, where time stamps are on."""

    @property
    def count(self) -> int:
        """Return how many there are."""
        return self.last - self.first + 1 - len(self.reserved)

    @property
    def text(self) -> str:
        """Return the range as ip_local_port_range has it, with a hyphen."""
        return f"{self.first}-{self.last}"

    def contains(self, port: int) -> bool:
        """Return whether the kernel may choose a port."""
        return self.first <= port <= self.last and port not in self.reserved

    def reuses_time_wait(self, destination: str) -> bool:
        """Return whether a port in TIME-WAIT may be chosen again, after a second."""
        return self.reuse == 1 or (self.reuse == 2 and is_loopback(destination))


DEFAULT = LocalPorts(
    first=KERNEL_PORT_RANGE[0], last=KERNEL_PORT_RANGE[1], source="the default of Linux", is_known=False
)


def local_ports(kernel: KernelSettings | None) -> LocalPorts:
    """Return the ports of a host by its kernel's settings; by the defaults of Linux where they were not collected."""
    ends = None if kernel is None else _range(kernel)
    if kernel is None or ends is None:
        return DEFAULT
    first, last = ends
    return LocalPorts(
        first=first,
        last=last,
        reserved=frozenset(_reserved(kernel.values.get(RESERVED_PORTS, ""), first, last)),
        source=f"{PORT_RANGE if PORT_RANGE in kernel.values else FIRST_OF_BSD} in {kernel.origin.path}",
        is_known=True,
        reuse=0 if kernel.number(TIMESTAMPS) == 0 else _number(kernel, REUSE_TIME_WAIT, KERNEL_REUSE_TIME_WAIT),
    )


def _number(kernel: KernelSettings, name: str, default: int) -> int:
    value = kernel.number(name)
    return default if value is None else value


def _range(kernel: KernelSettings) -> tuple[int, int] | None:
    """Return the first and the last port; None where they are not in the settings, or are no range."""
    if found := RANGE.fullmatch(kernel.values.get(PORT_RANGE, "")):
        first, last = int(found[1]), int(found[2])
    else:
        one, other = kernel.number(FIRST_OF_BSD), kernel.number(LAST_OF_BSD)
        if one is None or other is None:
            return None
        first, last = sorted((one, other))
    return (first, last) if 0 < first <= last <= LAST_PORT else None


def _reserved(text: str, first: int, last: int) -> set[int]:
    """Return the reserved ports within the range; `text` as in `8080,9148-9150`."""
    ports: set[int] = set()
    for part in text.split(","):
        if found := RESERVED.fullmatch(part.strip()):
            low, high = int(found[1]), int(found[2] or found[1])
            ports.update(range(max(low, first), min(high, last) + 1))
    return ports
