"""Collectors, one per target: directory servers over LDAP, remote hosts and files over ssh, the local host."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ldapdiag.errors import UsageError
from ldapdiag.evidence.ldap_session import LdapSession
from ldapdiag.sources.budget import RUN_BYTES, Budget
from ldapdiag.sources.collection_options import Mechanism, StartTls
from ldapdiag.sources.live.ldap.directory import query_directory
from ldapdiag.sources.live.local_host import LocalCollector
from ldapdiag.sources.live.ssh import access_logs
from ldapdiag.sources.live.ssh.remote import session_with
from ldapdiag.sources.live.ssh.remote_file import RemoteFileCollector
from ldapdiag.sources.progress import NO_PROGRESS
from ldapdiag.sources.targets import LOCAL_SOCKET, LdapTarget, LocalTarget, NamespaceTarget, SshTarget

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Sequence

    from ldapdiag.evidence.bundle import Gap
    from ldapdiag.sources.captures.manifest import ClockOffset
    from ldapdiag.sources.collection_options import BindOptions, CollectionOptions
    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.live.collected_target import Collector
    from ldapdiag.sources.live.ssh.access_logs import ShowFile
    from ldapdiag.sources.progress import Progress
    from ldapdiag.sources.targets import Target

LOOPBACK = "127.0.0.1"
START_TLS = {StartTls.NO: "", StartTls.TRY: "-Z", StartTls.MUST: "-ZZ"}


def collectors_for(
    targets: Sequence[Target], options: CollectionOptions, stop: threading.Event, progress: Progress = NO_PROGRESS
) -> list[Collector]:
    """Return a collector for each target; none has begun to collect."""
    if sys.platform == "win32" and (refused := [one.label for one in targets if not _is_over_network(one)]):
        raise UsageError(
            f"cannot ask {refused[0]} from Windows, only ldap:// and ldaps://; name files, or run it on Linux"
        )
    names_directory = any(isinstance(target, LdapTarget) for target in targets)
    budget = Budget(RUN_BYTES)
    return [
        DirectoryCollector(target, options, stop, budget, progress)
        if isinstance(target, LdapTarget)
        else _collector(target, options, stop, budget, names_directory=names_directory)
        for target in targets
    ]


def _is_over_network(target: Target) -> bool:
    return isinstance(target, LdapTarget) and target.address.scheme != LOCAL_SOCKET


def host_collector(
    target: SshTarget | LocalTarget | NamespaceTarget, options: CollectionOptions, stop: threading.Event
) -> SshCollector | LocalCollector:
    """Return a collector for the tables of a host, which are read again and again."""
    budget = Budget(RUN_BYTES)
    if isinstance(target, SshTarget):
        return SshCollector(target, options, stop, budget)
    return LocalCollector(target, options, stop, budget, queries_directories=False)


def _collector(
    target: SshTarget | LocalTarget | NamespaceTarget,
    options: CollectionOptions,
    stop: threading.Event,
    budget: Budget,
    *,
    names_directory: bool,
) -> Collector:
    match target:
        case SshTarget(path=str()):
            return RemoteFileCollector(target, options.timeout_seconds, stop, budget)
        case SshTarget():
            return SshCollector(target, options, stop, budget)
        case LocalTarget() | NamespaceTarget():
            return LocalCollector(target, options, stop, budget, queries_directories=not names_directory)


class DirectoryCollector:
    """Query a directory server over LDAP, once; it has no sockets to sample."""

    clock_offset: ClockOffset | None = None

    def __init__(
        self,
        target: LdapTarget,
        options: CollectionOptions,
        stop: threading.Event,
        budget: Budget,
        progress: Progress,
    ) -> None:
        self.target = target.label
        self._is_local = target.address.scheme == LOCAL_SOCKET
        self.peer: str | None = None
        """The server's address; the loopback address for a local socket."""
        self._session = _session(target, options.bind)
        query = partial(query_directory, target.address, target.label, options.bind, folder=target.name)
        self._query = partial(
            query,
            timeout_seconds=options.timeout_seconds,
            stop=stop,
            budget=budget,
            show_probe=progress.measuring if options.probe_answers else None,
        )

    def collect(self) -> Iterator[Input | Gap]:
        """Yield the answers of the server."""
        answers = self._query()
        self.peer = LOOPBACK if self._is_local and answers.pieces else answers.peer
        yield from (replace(piece, asked=self._session.after(piece.asked)) for piece in answers.pieces)
        yield from answers.gaps

    def snapshot(self) -> Iterator[Input | Gap]:
        """Yield nothing."""
        yield from ()

    def access_logs(self, show_file: ShowFile) -> Iterator[Input | Gap]:  # noqa: ARG002  parameter of the protocol
        """Yield nothing: LDAP gives no access to logs."""
        yield from ()

    def close(self) -> None:
        """Do nothing: the session ended with the last answer."""


def _session(target: LdapTarget, bind: BindOptions) -> LdapSession:
    """Return how this target is reached and bound to, as commands for it repeat it."""
    scheme = target.address.scheme
    # As typed, except for a socket's path, in which ldapsearch accepts no slash.
    url = target.address.url if scheme == LOCAL_SOCKET else target.label.rstrip("/")
    return LdapSession(
        url=url,
        dn=bind.dn,
        password_file=bind.password_file,
        mechanism="" if bind.mechanism is Mechanism.SIMPLE else bind.mechanism,
        start_tls=START_TLS[bind.start_tls] if scheme == "ldap" else "",
        ca_file=bind.ca_file or "",
        insecure=bind.insecure,
    )


class SshCollector:
    """Collect from a remote host with a script, run through the system's ssh."""

    peer: str | None = None

    def __init__(self, target: SshTarget, options: CollectionOptions, stop: threading.Event, budget: Budget) -> None:
        self.target = target.label
        self._session = session_with(target, options, stop, budget)

    @property
    def clock_offset(self) -> ClockOffset | None:
        """Return how far the host's clock is ahead of the local one."""
        return self._session.clock_offset

    def collect(self) -> Iterator[Input | Gap]:
        """Yield a snapshot, and everything else that the script collects."""
        yield from self._session.collect()

    def snapshot(self) -> Iterator[Input | Gap]:
        """Yield another snapshot."""
        yield from self._session.snapshot()

    def tables(self) -> Iterator[Input | Gap]:
        """Yield its tables alone."""
        yield from self._session.tables()

    def access_logs(self, show_file: ShowFile) -> Iterator[Input | Gap]:
        """Yield the newest part of the access logs of its directory servers."""
        yield from access_logs.fetch_logs(self._session, show_file)

    def close(self) -> None:
        """End the script."""
        self._session.close()
