"""Which access log is whose in a live view: by its server's name, its host, or its process; never by a guess."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from ldapdiag.errors import LdapdiagError, UsageError
from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.sources.logs.log_watch import LocalFiles, LogWatch
from ldapdiag.sources.targets import LdapTarget, LocalTarget, NamespaceTarget, SshTarget, parse_target

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

    from ldapdiag.sources.collection_options import CollectionOptions
    from ldapdiag.sources.live.ldap.watch import Watch
    from ldapdiag.sources.logs.log_watch import LogFiles

    Process = tuple[int, LocalTarget | NamespaceTarget]
    """A server's process, and the target where it is."""


class Watched(NamedTuple):
    """A server that is watched."""

    watch: Watch
    host: str
    """As it was named; empty for a local socket."""
    process: Process | None


class NamedLogs(NamedTuple):
    """What was named, sorted."""

    targets: list[str]
    """What a diagnosis collects from."""
    own: dict[str, list[str]]
    """The logs of a server, by its target: TARGET=FILE."""
    others: list[str]
    """Logs without a server's name."""


def sorted_by_use(arguments: Sequence[str]) -> NamedLogs:
    """Return targets and logs among arguments. Raises UsageError for an invalid target."""
    found = NamedLogs([], {}, [])
    for argument in arguments:
        server, is_own, log = argument.partition("=")
        if is_own and isinstance(parse_target(server), LdapTarget):
            found.targets.append(server)
            found.own.setdefault(server, []).append(log)
            continue
        target = parse_target(argument)
        is_log = target is None or (isinstance(target, SshTarget) and target.path)
        (found.others if is_log else found.targets).append(argument)
    if "-" in (*found.others, *(log for logs in found.own.values() for log in logs)):
        raise UsageError("top reads keys from standard input: name the file of the log")
    return found


def log_watches(
    servers: Sequence[Watched], named: NamedLogs, options: CollectionOptions, stop: Event
) -> list[LogWatch]:
    """Return a watch of each server's log. Raises UsageError for a log that may be of several of them."""
    own = {label: [*logs] for label, logs in named.own.items()}
    for log in named.others:
        target = parse_target(log)
        host = target.name if isinstance(target, SshTarget) else ""
        of = [one for one in servers if len(servers) == 1 or (host and one.host == host)]
        if len(of) != 1:
            how = f"name it with its server, as in {servers[0].watch.label}={log}"
            raise UsageError(f"{log}: it may be the log of any of {len(of or servers)} servers; {how}")
        own.setdefault(of[0].watch.label, []).append(log)
    hosts = [one for one in map(parse_target, named.targets) if isinstance(one, SshTarget)]
    return [
        LogWatch(_Search(one, own.get(one.watch.label, []), hosts, servers, options, stop).log, stop) for one in servers
    ]


class _Search(NamedTuple):
    """The search for the log of one server."""

    server: Watched
    own: list[str]
    hosts: list[SshTarget]
    servers: Sequence[Watched]
    options: CollectionOptions
    stop: Event

    def log(self) -> LogFiles:
        """Return the log. Raises LdapdiagError without one."""
        process = self.server.process
        remote = [one for one in map(parse_target, self.own) if isinstance(one, SshTarget)]
        if len(remote) > 1 or (remote and len(self.own) > 1):
            raise LdapdiagError("one log of another host is followed for each server, and several were named")
        if remote:
            return self._on(remote[0])
        folder = "" if process is None else process[1].name
        if self.own:
            return LocalFiles(self.own, folder)
        if process is not None:
            from ldapdiag.sources.gathering import log_of_process  # noqa: PLC0415  import late

            return LocalFiles([log_of_process(*process, self.options, self.stop)], folder)
        host = next((one for one in self.hosts if _is_host(one, self.server)), None)
        if host is None:
            raise LdapdiagError(f"its file was not named: {self.server.watch.label}=FILE, or ssh://HOST")
        if sum(_is_host(host, one) for one in self.servers) > 1:
            how = f"name its log, as in {self.server.watch.label}={host.label}/PATH"
            raise LdapdiagError(f"several of the servers are on {host.label}: {how}")
        return self._on(host)

    def _on(self, target: SshTarget) -> LogFiles:
        from ldapdiag.sources.live.ssh.followed_log import FollowedLog  # noqa: PLC0415  import late

        return FollowedLog(target, self.options, self.stop)


def _is_host(target: SshTarget, server: Watched) -> bool:
    """Return whether a server is on a host: it has its name, or an address of that name."""
    if server.host == target.name:
        return True
    with suppress(OSError):
        found = socket.getaddrinfo(target.host.strip("[]"), None, type=socket.SOCK_STREAM)
        return server.watch.peer in {one[4][0] for one in found}
    return False
