"""The local host, or one network namespace of it: sockets and extents from the kernel, all else from the script."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources.collection_options import BindOptions, Mechanism
from ldapdiag.sources.live.ldap.directory import query_directory
from ldapdiag.sources.live.local import namespaces, sockets
from ldapdiag.sources.live.local.extents import with_extents
from ldapdiag.sources.live.local.netlink import ListingLimit
from ldapdiag.sources.live.local.processes import directory_processes, host_path, socket_owners
from ldapdiag.sources.live.ssh import access_logs
from ldapdiag.sources.live.ssh.remote import ScriptSession
from ldapdiag.sources.targets import LdapAddress, NamespaceTarget

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from ldapdiag.sources.budget import Budget
    from ldapdiag.sources.collection_options import CollectionOptions
    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.live.ldap.directory import DirectoryAnswers
    from ldapdiag.sources.live.local.processes import DirectoryProcess
    from ldapdiag.sources.live.ssh.access_logs import ShowFile
    from ldapdiag.sources.targets import LocalTarget


class LocalCollector:
    """Collect from the local host, or from one network namespace of it."""

    peer: str | None = None

    def __init__(
        self,
        target: LocalTarget | NamespaceTarget,
        options: CollectionOptions,
        stop: threading.Event,
        budget: Budget,
        *,
        queries_directories: bool,
    ) -> None:
        self.target = target.label
        self._query = partial(query_directory, stop=stop, budget=budget)
        self._options = options
        self._stop = stop
        self._queries_directories = queries_directories
        self._only = target.name if isinstance(target, NamespaceTarget) else None
        self._name = target.name
        self._namespaces: tuple[namespaces.NetworkNamespace, ...] = ()
        self._unreadable = 0
        self._snapshots = 0
        self._by_script = False
        """The script lists the sockets, because the kernel refused to."""
        self._session = ScriptSession(
            argv=["nsenter", f"--net={namespaces.NAMED / self._only}", "sh"] if self._only else ["sh"],
            target=target.label,
            folder=self._name,
            sockets=False,
            monitors=False,
            namespaces=self._only is None,
            extents=False,
            sudo=options.sudo,
            timeout_seconds=options.timeout_seconds,
            stop=stop,
            budget=budget,
        )

    @property
    def clock_offset(self) -> None:
        """Return None: the clock is the local one."""
        return

    def collect(self) -> Iterator[Input | Gap]:
        """Yield a snapshot, all else that the script collects, and the LDAPI answers of local directory servers."""
        if gap := self._find_namespaces():
            yield gap
            return
        deadline = self._deadline()
        yield from self._sockets(deadline)
        yield from self._script(deadline)
        if self._queries_directories:
            yield from self._local_directories(deadline)

    def snapshot(self) -> Iterator[Input | Gap]:
        """Yield another snapshot."""
        deadline = self._deadline()
        yield from self._sockets(deadline)
        self._session.timeout_seconds = _remaining(deadline)
        yield from self._session.snapshot()

    def tables(self) -> Iterator[Input | Gap]:
        """Yield its tables alone."""
        if gap := self._find_namespaces():
            yield gap
            return
        deadline = self._deadline()
        yield from self._sockets(deadline)
        self._session.timeout_seconds = _remaining(deadline)
        yield from self._session.tables()

    def access_logs(self, show_file: ShowFile) -> Iterator[Input | Gap]:  # noqa: ARG002  reported when they are read
        """Yield the access logs of its directory servers, to be read where they are."""
        self._session.timeout_seconds = self._options.timeout_seconds
        yield from access_logs.local_logs(self._session)

    def close(self) -> None:
        """End the script."""
        self._session.close()

    def _deadline(self) -> float:
        return monotonic() + self._options.timeout_seconds

    def _find_namespaces(self) -> Gap | None:
        """Find its network namespaces; return why that failed."""
        try:
            if self._only:
                self._namespaces = (namespaces.find_named(self._only),)
            else:
                found = namespaces.find_namespaces()
                self._namespaces, self._unreadable = found.found, found.unreadable
        except OSError as error:
            action = "cannot open the network namespace" if self._only else "cannot list the network namespaces"
            return Gap(
                target=self.target,
                reason=f"{action}: {(error.strerror or str(error)).lower()}",
                how="check the name with 'ip netns'; on systems other than Linux use ssh://localhost",
            )
        return None

    def _script(self, deadline: float) -> Iterator[Input | Gap]:
        """Yield what the script collects, and a gap for unreadable namespaces unless the script reported one."""
        reported = False
        self._session.timeout_seconds = _remaining(deadline)
        for answer in self._session.collect():
            reported = reported or (isinstance(answer, Gap) and "network namespace" in answer.reason)
            yield answer if isinstance(answer, Gap) else with_extents(answer, deadline)
        if self._unreadable and not reported:
            reason = f"cannot read the network namespaces of {self._unreadable} processes: permission denied"
            yield Gap(target=self.target, reason=reason, how="run as root")

    def _sockets(self, deadline: float) -> Iterator[Input | Gap]:
        """Yield a socket table of each network namespace, the program's own first: its time matters most.

        If the first snapshot fails for that namespace, the script lists the sockets in this and all later snapshots.
        """
        if self._by_script:
            return
        self._snapshots += 1
        limit = ListingLimit(deadline=deadline, stop=self._stop)
        owners = socket_owners()
        for namespace in self._namespaces:
            listing = partial(sockets.list_sockets, namespace, folder=self._folder(namespace))
            answers = list(listing(snapshot=self._snapshots, owners=owners, limit=limit))
            gaps = [answer for answer in answers if isinstance(answer, Gap)]
            failed = len(gaps) == len(answers)
            is_first = self._snapshots == 1 and namespace is self._namespaces[0]
            if failed and is_first and not limit.error_number:
                self._by_script = self._session.sockets = True
                yield from (replace(gap, reason=f"{gap.reason}; using a command instead") for gap in gaps)
                return
            yield from answers
            if failed and limit.error_number:
                return

    def _folder(self, namespace: namespaces.NetworkNamespace) -> str:
        """Return the folder of a namespace; the collection script uses the same names."""
        if namespace.own or self._only:
            return self._name
        return f"{self._name}-{namespace.name or f'{namespace.program}-{namespace.pid}'}"

    def _local_directories(self, deadline: float) -> Iterator[Input | Gap]:
        """Query each local directory server over its LDAPI socket, as the current user.

        Any user may name a process slapd. So no password is sent to a server that was not named, and the process that
        listens learns no more than the current user.
        """
        by_identity = {namespace.identity: namespace for namespace in self._namespaces}
        late = False
        for process in directory_processes():
            namespace = by_identity.get(process.namespace)
            if namespace is None:
                continue  # of another target, or of unknown place, which the script reports
            address = _ldapi_address(process)
            if address is None:
                yield _not_queried(process)
                continue
            if late:
                reason = f"cn=monitor not queried: the {self._options.timeout_seconds} s of --timeout have passed"
                yield Gap(target=address.url, reason=reason, how="raise --timeout, or name only this server")
                continue
            late = monotonic() > deadline  # one is queried nevertheless
            for answer in self._query_inside(address, namespace, deadline):
                if isinstance(answer, Gap):
                    yield answer
                else:
                    yield replace(answer, asked=f"{answer.asked}, process {process.pid}")

    def _query_inside(
        self, address: LdapAddress, namespace: namespaces.NetworkNamespace, deadline: float
    ) -> Iterator[Input | Gap]:
        """Query one directory server from inside its network namespace."""
        bind = BindOptions(mechanism=Mechanism.EXTERNAL)
        query = partial(self._query, address, address.url, bind, folder=self._folder(namespace))
        query = partial(query, timeout_seconds=int(_remaining(deadline)))
        try:
            answers: DirectoryAnswers = namespaces.run_inside(None if namespace.own else namespace.path, query)
        except OSError as error:
            reason = f"cannot enter its network namespace: {(error.strerror or str(error)).lower()}"
            yield Gap(target=address.url, reason=reason, how="run as root")
            return
        yield from answers.pieces
        yield from answers.gaps


def _remaining(deadline: float) -> float:
    """Return the seconds until a deadline, at least 1, so that each step is tried."""
    return max(1.0, round(deadline - monotonic(), 1))


def local_directories(target: LocalTarget | NamespaceTarget) -> list[tuple[LdapAddress, int]]:
    """Return LDAPI socket and process of each directory server of this host, or of one of its network namespaces."""
    only = namespaces.find_named(target.name).identity if isinstance(target, NamespaceTarget) else None
    processes = (one for one in directory_processes() if only is None or one.namespace == only)
    return [(address, one.pid) for one in processes if (address := _ldapi_address(one)) is not None]


def _ldapi_address(process: DirectoryProcess) -> LdapAddress | None:
    """Return the first LDAPI socket of a directory server that the current user may use; None without one."""
    for path in process.ldapi or ():
        local = host_path(process.pid, path)
        if local is not None and os.access(local, os.W_OK):
            return LdapAddress(scheme="ldapi", path=local)
    return None


def _not_queried(process: DirectoryProcess) -> Gap:
    """Return why a local directory server was not queried."""
    reason, how = "it listens on no LDAPI socket", "name it: ldap://HOST -D … -W"
    if process.ldapi is None:
        reason, how = "its sockets are hidden from this user", f"run as root, or {how}"
    elif process.ldapi:
        reason, how = "its LDAPI socket is not accessible", f"run as root, or {how}"
    target = f"{process.program}, process {process.pid}"
    return Gap(target=target, reason=f"cn=monitor not queried: {reason}", how=how)
