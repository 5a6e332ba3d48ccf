"""Defaults of Active Directory's LDAP server: what its default query policy says. Unknown is None, never a guess.

The policies have had these values since Windows 2000 (KB 315071, learn.microsoft.com: View and set LDAP policy in
Active Directory by using Ntdsutil.exe), so they hold for an unknown version, too.
"""

from __future__ import annotations

Version = tuple[int, ...]

PORTS: tuple[int, ...] = (389, 636, 3268, 3269)
RESERVED_DESCRIPTORS: int = 0
"""Windows has no descriptors; MaxConnections is the only limit."""
TIMES_RESERVED: int = 0

MAX_CONNECTIONS = 5000
"""MaxConnections. "If a connection comes in after the domain controller reaches this limit, the domain controller drops
another connection" (KB 315071): nobody is refused, somebody else is cut off."""
POOL_THREADS = 4
"""MaxPoolThreads, for each processor."""


EXEMPTION: str = "MaxConnIdleTime is no account's own: it holds for every connection to the domain controller."


def idle_timeout_seconds(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return the default of MaxConnIdleTime."""
    return 900


def sets_keepalive_time(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Tell whether the server sets the keepalive time of its sockets: no policy does; Windows' holds (7200 s)."""
    return False


def keepalive_seconds(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: where keepalives are on, the time of Windows holds (KeepAliveTime, 7200 s)."""
    return None


def sends_keepalives(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Return None: Microsoft's documents do not say."""
    return None


def max_descriptors(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: there are no descriptors."""
    return None


def descriptor_cap(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: MaxConnections is a setting, and a full server takes the next connection all the same."""
    return None


def threads(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: it follows the number of processors (MaxPoolThreads is four for each)."""
    return None


def enforces_idle_only_under_activity(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Return None: it is not documented."""
    return None


def idle_timeout_reaches_open_connections(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Return None: it is not documented."""
    return None
