"""Defaults of OpenDJ and its relatives: what holds when nothing is configured. Unknown is None, never a guess.

OpenDS, Oracle Unified Directory, ForgeRock DS and PingDS share the properties and their defaults; what was measured was
measured with OpenDJ 4.10.1 on Java 17 and Linux, and speaks for 4 alone where another could differ.
"""

from __future__ import annotations

Version = tuple[int, ...]

RESERVED_DESCRIPTORS: int = 0
TIMES_RESERVED: int = 0

EXEMPT_IDENTITIES: tuple[str, ...] = ("cn=Directory Manager", "cn=Directory Manager,cn=Root DNs,cn=config")
"""Its entry has ds-rlim-idle-time-limit: 0 in the config.ldif that setup writes; measured: never closed."""

EXEMPTION: str = "Connections bound as Directory Manager are never closed for being idle."

IGNORES_IDLE_TIMEOUT = "this version ignores idle-time-limit (OpenDJ issue 697)"
LAST_KNOWN_TO_IGNORE: Version = (4, 10, 1)


def idle_timeout_seconds(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return the default of idle-time-limit."""
    # Oracle 820-6170 (OpenDS), E27801 (OUD), the config.ldif of OpenDJ, PingDS 8 configuration reference: 0 seconds.
    return 0


def ignores_idle_timeout(version: Version) -> str:
    """Return why a limit that is set has no effect; empty where it has, or where that is not known."""
    # OpenDJ issue 697 (July 2026): nobody passes the setting on. Measured with 4.10.1: no connection is closed under
    # 3 s, one of an account with ds-rlim-idle-time-limit: 3 after 3.1 s. Which release of 5 has the fix is not known.
    return IGNORES_IDLE_TIMEOUT if (4,) <= version <= LAST_KNOWN_TO_IGNORE else ""


def sets_keepalive_time(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Tell whether the server itself sets the keepalive time of its sockets: there is no such property."""
    return False


def keepalive_seconds(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: the kernel's time holds."""
    # Measured with 4.10.1: timer:(keepalive,119min,0).
    return None


def sends_keepalives(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Tell whether accepted sockets have SO_KEEPALIVE: use-tcp-keep-alive of a connection handler is true."""
    return True


def max_descriptors(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: the limit of its process holds."""
    return None


def descriptor_cap(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: max-allowed-client-connections is 0 unless it is set."""
    return None


def threads(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: num-worker-threads follows the number of processors."""
    return None


def enforces_idle_only_under_activity(version: Version) -> bool | None:
    """Tell whether an idle connection is closed only when something happens on another one."""
    # IdleTimeLimitThread looks by itself. Measured with 4.10.1: closed after 3.1 s, nobody else there.
    return False if version[:1] == (4,) else None


def idle_timeout_reaches_open_connections(version: Version) -> bool | None:
    """Tell whether a changed idle timeout holds for the connections that are already open."""
    # A connection takes its limit when it is opened and when it binds (issue 697). Measured with 4.10.1: an account's
    # new limit leaves its open connections alone.
    return False if version[:1] == (4,) else None
