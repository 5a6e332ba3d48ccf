"""Parties: what targets become while they are asked: a directory over LDAP, a host over ssh, this host, a namespace."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources.budget import RUN_BYTES, Budget
from ldapdiag.sources.live.ldap.binding import Binding, Mechanism
from ldapdiag.sources.live.ldap.directory import Answers, ask
from ldapdiag.sources.live.ldap.place import Place
from ldapdiag.sources.live.local import namespaces, sockets
from ldapdiag.sources.live.local.processes import directory_processes, path_from_here, socket_holders
from ldapdiag.sources.live.ssh import access_logs
from ldapdiag.sources.live.ssh.remote import Dialog, ssh_command
from ldapdiag.sources.live.ssh.remote_file import RemoteFile
from ldapdiag.sources.targets import LOCAL_SOCKET, Directory, Local, Namespace, Remote

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Sequence

    from ldapdiag.sources.captures.manifest import ClockOffset
    from ldapdiag.sources.collection_options import Terms
    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.live.local.processes import DirectoryProcess
    from ldapdiag.sources.live.sampling import Party
    from ldapdiag.sources.live.ssh.access_logs import Tell
    from ldapdiag.sources.targets import Target


LOOPBACK = "127.0.0.1"


def parties_of(targets: Sequence[Target], terms: Terms, stop: threading.Event) -> list[Party]:
    """Return the parties these targets become; nothing is asked yet."""
    named = any(isinstance(target, Directory) for target in targets)
    budget = Budget(RUN_BYTES)
    return [_party(target, terms, stop, budget, named=named) for target in targets]


def _party(target: Target, terms: Terms, stop: threading.Event, budget: Budget, *, named: bool) -> Party:
    match target:
        case Directory():
            return DirectoryServer(target, terms, stop, budget)
        case Remote(path=str()):
            return RemoteFile(target, terms.seconds, stop, budget)
        case Remote():
            return RemoteHost(target, terms, stop, budget)
        case Local() | Namespace():
            return ThisHost(target, terms, stop, budget, directories=not named)


class DirectoryServer:
    """A directory, asked once over LDAP; it has no sockets to look at."""

    clock_offset: ClockOffset | None = None

    def __init__(self, target: Directory, terms: Terms, stop: threading.Event, budget: Budget) -> None:
        self.target = target.told
        self._is_here = target.place.scheme == LOCAL_SOCKET
        self.peer: str | None = None
        """Of a local socket the address of this host that is no other's."""
        question = partial(ask, target.place, target.told, terms.binding, folder=target.name)
        self._ask = partial(question, seconds=terms.seconds, stop=stop, budget=budget)

    def first(self) -> Iterator[Input | Gap]:
        """Yield what it says of itself."""
        answers = self._ask()
        self.peer = LOOPBACK if self._is_here and answers.pieces else answers.peer
        yield from answers.pieces
        yield from answers.gaps

    def look(self) -> Iterator[Input | Gap]:
        """Yield nothing."""
        yield from ()

    def logs(self, tell: Tell) -> Iterator[Input | Gap]:  # noqa: ARG002  as every party's
        """Yield nothing: no log is shown over LDAP."""
        yield from ()

    def close(self) -> None:
        """Do nothing: the session ended with its answers."""


class RemoteHost:
    """A host, asked by a script over the system's ssh."""

    peer: str | None = None

    def __init__(self, target: Remote, terms: Terms, stop: threading.Event, budget: Budget) -> None:
        self.target = target.told
        self._dialog = Dialog(
            argv=ssh_command(target.user, target.host, target.port, terms.seconds),
            target=target.told,
            folder=target.name,
            sudo=terms.sudo,
            seconds=terms.seconds,
            stop=stop,
            budget=budget,
            try_it=f"ssh {f'{target.user}@' if target.user else ''}{target.host} true",
        )

    @property
    def clock_offset(self) -> ClockOffset | None:
        """Return how far its clock is ahead of ours."""
        return self._dialog.clock_offset

    def first(self) -> Iterator[Input | Gap]:
        """Yield a look, and all else the script brings."""
        yield from self._dialog.first()

    def look(self) -> Iterator[Input | Gap]:
        """Yield another look."""
        yield from self._dialog.look()

    def logs(self, tell: Tell) -> Iterator[Input | Gap]:
        """Yield the newest part of its servers' access logs."""
        yield from access_logs.brought(self._dialog, tell)

    def close(self) -> None:
        """End the script."""
        self._dialog.close()


class ThisHost:
    """The host this program runs on, or one network namespace of it: its sockets come from the kernel itself."""

    peer: str | None = None

    def __init__(
        self, target: Local | Namespace, terms: Terms, stop: threading.Event, budget: Budget, *, directories: bool
    ) -> None:
        self.target = target.told
        self._ask = partial(ask, stop=stop, budget=budget)
        self._terms = terms
        self._stop = stop
        self._directories = directories
        self._only = target.name if isinstance(target, Namespace) else None
        self._name = self._only or os.uname().nodename or "local"
        self._spaces: tuple[namespaces.Namespace, ...] = ()
        self._unseen = 0
        self._looks = 0
        self._by_script = False
        self._dialog = Dialog(
            argv=["nsenter", f"--net={namespaces.NAMED / self._only}", "sh"] if self._only else ["sh"],
            target=target.told,
            folder=self._name,
            looks=False,
            monitors=False,
            namespaces=self._only is None,
            sudo=terms.sudo,
            seconds=terms.seconds,
            stop=stop,
            budget=budget,
        )

    @property
    def clock_offset(self) -> None:
        """Return None: its clock is ours."""
        return

    def first(self) -> Iterator[Input | Gap]:
        """Yield a look, all else the script brings, and what directories here say over LDAPI."""
        try:
            self._find()
        except OSError as error:
            yield Gap(
                target=self.target,
                reason=f"its network namespaces cannot be seen: {(error.strerror or str(error)).lower()}",
                how="check the name with 'ip netns'; on systems other than Linux use ssh://localhost",
            )
            return
        deadline = self._deadline()
        yield from self._sockets(deadline)
        yield from self._script(deadline)
        if self._directories:
            yield from self._asked_directories(deadline)

    def look(self) -> Iterator[Input | Gap]:
        """Yield another look."""
        deadline = self._deadline()
        yield from self._sockets(deadline)
        self._dialog.seconds = _left(deadline)
        yield from self._dialog.look()

    def logs(self, tell: Tell) -> Iterator[Input | Gap]:  # noqa: ARG002  whoever reads them says so
        """Yield the access logs of its servers, to be read where they lie."""
        self._dialog.seconds = self._terms.seconds
        yield from access_logs.in_place(self._dialog)

    def close(self) -> None:
        """End the script."""
        self._dialog.close()

    def _deadline(self) -> float:
        return monotonic() + self._terms.seconds

    def _find(self) -> None:
        if self._only:
            self._spaces = (namespaces.named(self._only),)
        else:
            found = namespaces.namespaces()
            self._spaces, self._unseen = found.found, found.unreadable

    def _script(self, deadline: float) -> Iterator[Input | Gap]:
        """Yield what the script brings, and whose namespaces we did not see, unless it told so itself."""
        told = False
        self._dialog.seconds = _left(deadline)
        for answer in self._dialog.first():
            told = told or (isinstance(answer, Gap) and "network namespace" in answer.reason)
            yield answer
        if self._unseen and not told:
            reason = f"the network namespaces of {self._unseen} processes cannot be seen"
            yield Gap(target=self.target, reason=reason, how="run as root")

    def _sockets(self, deadline: float) -> Iterator[Input | Gap]:
        """Yield a table of each network namespace, our own first, for its moment matters most.

        Where the first look shows nothing of our own, the script looks in our place, now and later.
        """
        if self._by_script:
            return
        self._looks += 1
        limit = sockets.Limit(deadline=deadline, stop=self._stop)
        held = socket_holders()
        for space in self._spaces:
            told = list(sockets.take(space, folder=self._folder(space), look=self._looks, held=held, limit=limit))
            gaps = [one for one in told if isinstance(one, Gap)]
            failed = len(gaps) == len(told)
            if failed and self._looks == 1 and space is self._spaces[0] and not limit.trouble:
                self._by_script = self._dialog.looks = True
                yield from (replace(gap, reason=f"{gap.reason}; a command is asked instead") for gap in gaps)
                return
            yield from told
            if failed and limit.trouble:
                return

    def _folder(self, space: namespaces.Namespace) -> str:
        """Return what a namespace is called; collect.sh calls them the same."""
        if space.own or self._only:
            return self._name
        return f"{self._name}-{space.name or f'{space.program}-{space.pid}'}"

    def _asked_directories(self, deadline: float) -> Iterator[Input | Gap]:
        """Ask each directory server here over its LDAPI socket, as the user we are.

        Whoever calls a process slapd is found here, too. So no password is sent to what was not named, and what listens
        there learns which user we are.
        """
        folders = {space.identity: space for space in self._spaces}
        for process in directory_processes():
            space = folders.get(process.namespace)
            if space is None and process.namespace:
                continue
            place = _place_of(process)
            if place is not None and space is not None:
                yield from self._asked(place, space, deadline)
            else:
                yield _not_asked(process)

    def _asked(self, place: Place, space: namespaces.Namespace, deadline: float) -> Iterator[Input | Gap]:
        """Ask one directory, from inside its network namespace."""
        binding = Binding(mechanism=Mechanism.EXTERNAL)
        seconds = int(_left(deadline))
        question = partial(self._ask, place, place.url, binding, folder=self._folder(space), seconds=seconds)
        try:
            answers: Answers = namespaces.inside(None if space.own else space.path, question)
        except OSError as error:
            reason = f"its network namespace cannot be entered: {(error.strerror or str(error)).lower()}"
            yield Gap(target=place.url, reason=reason, how="run as root")
            return
        yield from answers.pieces
        yield from answers.gaps


def _left(deadline: float) -> float:
    """Return the seconds until then, and one at least: what comes last is tried, too."""
    return max(1.0, round(deadline - monotonic(), 1))


def _place_of(process: DirectoryProcess) -> Place | None:
    """Return the first of a directory's LDAPI sockets that this user may speak to; None when there is none."""
    for path in process.ldapi:
        reached = path_from_here(process.pid, path)
        if reached is not None and os.access(reached, os.W_OK):
            return Place(scheme="ldapi", path=reached)
    return None


def _not_asked(process: DirectoryProcess) -> Gap:
    """Return why a directory was found, and not asked."""
    seen, how = "listens on no LDAPI socket", "name it: ldap://HOST -D … -W"
    if not process.namespace:
        seen, how = "hides from this user where it listens", f"run as root, or {how}"
    elif process.ldapi:
        seen, how = "has an LDAPI socket that cannot be used from here", f"run as root, or {how}"
    target = f"{process.program}, process {process.pid}"
    return Gap(target=target, reason=f"{seen}, so its cn=monitor was not asked", how=how)
