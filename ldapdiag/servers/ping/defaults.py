"""Defaults of PingDirectory: what holds when nothing is configured. Unknown is None, never a guess.

From Ping's documentation, 8.0 to 11.1, and, where that says so, from OpenDS', of which it grew; they hold for any
version. None was measured: no copy is free.
"""

from __future__ import annotations

Version = tuple[int, ...]

RESERVED_DESCRIPTORS: int = 0
TIMES_RESERVED: int = 0

EXEMPT_IDENTITIES: tuple[str, ...] = ()
EXEMPTION: str = (
    "A client connection policy with a lower limit holds for everybody it is for, root accounts among them."
)


def idle_timeout_seconds(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return the default of idle-time-limit."""
    # OpenDS (Oracle 820-6170): 0 seconds. Ping's reference has the property; the page with its default was not read.
    return 0


def sets_keepalive_time(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Tell whether the server itself sets the keepalive time of its sockets: there is no such property."""
    return False


def keepalive_seconds(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: the kernel's time holds."""
    return None


def sends_keepalives(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Tell whether accepted sockets have SO_KEEPALIVE: use-tcp-keep-alive of a connection handler is true."""
    # OpenDS (Oracle 821-0507): true. Ping's reference has the property; the page with its default was not read.
    return True


def max_descriptors(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return what its start scripts ask for where neither config/num-file-descriptors nor the environment does."""
    # "Configuring the file descriptor limits", 8.0 to 10.3: 65535.
    return 65_535


def descriptor_cap(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: maximum-concurrent-connections is 0 unless it is set."""
    return None


def threads(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: num-worker-threads follows the number of processors."""
    return None


def enforces_idle_only_under_activity(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Return None: documented nowhere."""
    return None


def idle_timeout_reaches_open_connections(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Return None: a client connection policy's limit is known to leave open connections alone; the global one may."""
    return None
