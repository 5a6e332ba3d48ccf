"""Defaults of OpenLDAP's slapd: what holds when nothing is configured. Unknown is None, never a guess.

Most have been the same in every version, so they hold for an unknown one, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version

RESERVED_DESCRIPTORS: int = 0
"""slapd keeps no descriptors back: it accepts until the process limit."""
TIMES_RESERVED: int = 0

EXEMPTION: str = "Only connections with an operation under way (a syncrepl consumer's persistent search) are spared."
"""connections_timeout_idle() in connection.c asks nobody's name; measured with 2.5.13: the rootdn is closed too."""


def idle_timeout_seconds(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return the default of olcIdleTimeout."""
    # slapd-config(5) and slapd.conf(5), every version: "The default is 0."
    return 0


def sets_keepalive_time(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Tell whether slapd itself sets the keepalive time of its sockets: it never does."""
    return False


def keepalive_seconds(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: the kernel's time holds in every version."""
    # Measured with 2.5.13: timer:(keepalive,119min,0).
    return None


def sends_keepalives(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Tell whether accepted sockets have SO_KEEPALIVE: they do (daemon.c, slap_listener())."""
    return True


def max_descriptors(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: slapd has no limit of its own; that of its process holds (sysconf(_SC_OPEN_MAX))."""
    return None


def descriptor_cap(version: Version) -> int | None:  # noqa: ARG001  the same question for every product
    """Return None: no ceiling is built in."""
    return None


def listen_backlog(version: Version) -> int | None:
    """Return SLAPD_LISTEN_BACKLOG, which is compiled in."""
    # daemon.c: 1024 in 2.4; 2048 in the sources of 2022 and, measured, in 2.5.13. When 2.5 changed it is not known.
    if version[:2] == (2, 4):
        return 1024
    return 2048 if version >= (2, 5, 13) else None


def enforces_idle_only_under_activity(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Tell whether an idle connection is closed only when something happens on another one."""
    # slapd_daemon_task() bounds its wait by the idle timeout. Measured with 2.5.13: closed in time, nobody else there.
    return False


def idle_timeout_reaches_open_connections(version: Version) -> bool | None:  # noqa: ARG001  the same question for every product
    """Tell whether a changed idle timeout holds for the connections that are already open."""
    # connections_timeout_idle() reads global_idletimeout at each look. Measured with 2.5.13: from 0 to 2 s closed one
    # at once.
    return True
