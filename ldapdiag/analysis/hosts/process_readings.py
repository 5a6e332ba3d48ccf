"""The readings of one server's process among those of all processes: of its threads, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldapdiag.analysis.hosts.instances import Instance
    from ldapdiag.evidence.threads import ProcessThreads


def readings_of(server: Instance, threads: tuple[ProcessThreads, ...]) -> list[ProcessThreads]:
    """Return the readings of a server's process: of several by its sockets, the one that was read last."""
    on_host = [thread for thread in threads if thread.origin.host == server.host]
    own = [one for one in on_host if one.pid in server.pids]
    if not own and not server.pids and server.is_only and len({one.pid for one in on_host}) == 1:
        own = on_host
    latest = max(own, key=lambda one: (one.uptime_seconds or 0.0, one.pid), default=None)
    return [one for one in own if latest is not None and one.pid == latest.pid]
