"""Defaults of 389 Directory Server by version: what holds when nothing is configured. Unknown is None, never a guess.

Distributions carry fixes back without changing these numbers, so a version speaks for upstream's release of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version

RESERVED_DESCRIPTORS: int = 64
"""nsslapd-reservedescriptors (slap.h, SLAPD_DEFAULT_RESERVE_FDS); read from 2.3.1 too."""

TIMES_RESERVED: int = 2
"""How often they are taken off the limit: once for the size of the connection table, and once more before each accept
(daemon.c, `ct->size - current > reserved`). Measured with 2.3.1: limits of 150, 200 and 250 serve 22, 72 and 122."""

EXEMPT_IDENTITIES: tuple[str, ...] = ("cn=Directory Manager",)
"""Binds as the root DN take no limit at all: issue #6004, comment of 2023-12-06; measured with 2.3.1."""

EXEMPTION: str = "Connections bound as Directory Manager are never closed for being idle."

DESCRIPTOR_CAP = 64_000
"""FDS_PROCESS_MAX in daemon.c, get_connection_table_size(): a larger table is cut to this number."""

LAST_BEFORE_FIX: dict[Version, Version] = {
    (2, 0): (2, 0, 15),
    (2, 1): (2, 1, 1),
    (2, 2): (2, 2, 9),
    (2, 3): (2, 3, 7),
    (2, 4): (2, 4, 4),
}
"""The last release of each branch known to be older than the fix of #6004 (release notes on port389.org)."""


def idle_timeout_seconds(version: Version) -> int | None:
    """Return the default of nsslapd-idletimeout; an instance upgraded from an older version keeps its old value."""
    # Ticket 50329, April 2019: 3600 from branch 1.4.1 on; SLAPD_DEFAULT_IDLE_TIMEOUT was 0 before.
    if not version:
        return None
    return 3600 if version >= (1, 4, 1) else 0


def sets_keepalive_time(version: Version) -> bool | None:
    """Tell whether the server itself sets the keepalive time of its sockets (nsslapd-tcp-keepalive-time)."""
    # Issue #5048 is in the release notes of 2.0.15 and 2.1.1 (March 2022), and never came to 1.4.3 or 1.4.4.
    if not version:
        return None
    if version[:2] == (2, 0):
        return version >= (2, 0, 15)
    return version >= (2, 1, 1)


def keepalive_seconds(version: Version) -> int | None:
    """Return the default of nsslapd-tcp-keepalive-time; None where the kernel's time holds or nothing is known."""
    # configure_pr_socket() in daemon.c: TCP_KEEPIDLE. Measured with 2.3.1: timer:(keepalive,4min59sec,0).
    return 300 if sets_keepalive_time(version) else None


def sends_keepalives(version: Version) -> bool | None:
    """Tell whether accepted sockets have SO_KEEPALIVE at all."""
    # Ticket 191 (2012), in 1.2.11.
    return version >= (1, 2, 11) if version else None


def max_descriptors(version: Version) -> int | None:
    """Return the default of nsslapd-maxdescriptors; the process takes the smaller of it and its own hard limit."""
    # 1024 up to 1.3.6, 8192 in 1.3.11 and 1.4.0, 1048576 from 1.4.1 (SLAPD_DEFAULT_MAXDESCRIPTORS of each branch);
    # when it changed between 1.3.7 and 1.3.10 is not known.
    if not version or (1, 3, 7) <= version < (1, 3, 11):
        return None
    if version >= (1, 4, 1):
        return 1_048_576
    return 8192 if version >= (1, 3, 11) else 1024


def descriptor_cap(version: Version) -> int | None:
    """Return how many connections the server takes whatever its descriptor limit; None where that is not known."""
    # In the sources of 2.3 and 2.4, reported for 2.7 (issue #7377).
    return DESCRIPTOR_CAP if version >= (2, 3) else None


def enforces_idle_only_under_activity(version: Version) -> bool | None:
    """Tell whether an idle connection is closed only when something happens on another one (issue #6004)."""
    # handle_pr_read_ready() looked at the clock only after poll() returned something. Pull request #6005 (December
    # 2023) walks all connections every second: in the changelog of 3.0.1, not in those of 2.4.5 and 2.4.6; carried
    # back to 1.4.3 (#6569, February 2025), asked for in RHEL 9.4's 2.4 (RHEL-17511), without a version that tells.
    # Between 1.3.4 and 1.4 nunc-stans, where switched on, had timers of its own. Measured with 2.3.1: still open after
    # 15 s under a limit of 3 s, closed by the first search of somebody else.
    if not version:
        return None
    if version >= (3, 0, 1):
        return False
    if version < (1, 3, 4):
        return True
    last = LAST_BEFORE_FIX.get(version[:2])
    return True if last and version <= last else None


def idle_timeout_reaches_open_connections(version: Version) -> bool | None:
    """Tell whether a changed idle timeout holds for the connections that are already open."""
    # daemon.c, handle_new_connection(): a connection takes c_idletimeout when it is accepted, and again when it binds;
    # so in the sources of 1.3.4 (2015) and 2.3/2.4 (2023). Measured with 2.3.1: connections opened under 0 and under
    # 3600 outlive a limit lowered to 3 s. Neither older nor newer sources were read.
    if (1, 3, 4) <= version < (2, 5):
        return False
    return None
