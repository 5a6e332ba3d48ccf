"""Defaults of Directory Server Enterprise Edition: what holds when nothing is set. Unknown is None, never a guess.

They have been the same from 5.2 to 11g, so they hold for an unknown version, too. None was measured: no copy is free.
"""

from __future__ import annotations

Version = tuple[int, ...]

RESERVED_DESCRIPTORS: int = 64
"""nsslapd-reservedescriptors, as in 389-ds, which has it from the same forerunner."""
TIMES_RESERVED: int = 0

EXEMPT_IDENTITIES: tuple[str, ...] = ("cn=Directory Manager",)
"""Sun 820-2488, table 6-1: "The limits do not apply to the Directory Manager user"."""

EXEMPTION: str = "Connections bound as Directory Manager are never closed for being idle."


def idle_timeout_seconds(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return the default of nsslapd-idletimeout (dsconf: idle-timeout, where it reads `none`)."""
    # Sun ONE Tuning Guide 2003, table 9-1: "By default, no time limit is set"; Oracle E28967: 0.
    return 0


def sets_keepalive_time(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Tell whether the server itself sets the keepalive time of its sockets: no version documents a setting."""
    return False


def keepalive_seconds(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: the kernel's time holds, two hours on Solaris as on Linux."""
    return None


def sends_keepalives(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Return None: whether accepted sockets have SO_KEEPALIVE is documented nowhere; their timers tell."""
    return None


def max_descriptors(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return the default of nsslapd-maxdescriptors (dsconf: file-descriptor-count)."""
    # Sun 820-0377 (6.1), 820-4806 (7.0), Oracle E28967 (11.1.1.7): 1024.
    return 1024


def descriptor_cap(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: no ceiling is documented."""
    return None


def threads(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return the default of nsslapd-threadnumber (dsconf: max-thread-count)."""
    # Oracle E28967: 30; so in 5.2.
    return 30


def listen_backlog(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return the default of nsslapd-listenBacklog."""
    # Sun 819-0986 (6.0), Oracle E28967 (11.1.1.7): 128.
    return 128


def enforces_idle_only_under_activity(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Return None: the forerunner's heirs did (Red Hat 8.1 says so), and what Sun made of it is documented nowhere."""
    return None


def idle_timeout_reaches_open_connections(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Return None: documented nowhere."""
    return None
