"""Parties: what targets become while they are asked: a directory over LDAP, a host over ssh, this host, a namespace."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources import sockets
from ldapdiag.sources.directory import Answers, ask
from ldapdiag.sources.here import namespaces
from ldapdiag.sources.here.processes import directory_processes, path_from_here, socket_holders
from ldapdiag.sources.ldap.binding import Binding, Mechanism
from ldapdiag.sources.remote import Dialog, ssh_command
from ldapdiag.sources.ssh.remote_file import RemoteFile
from ldapdiag.sources.targets import Directory, Local, Namespace, Remote

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Sequence

    from ldapdiag.sources.capture import Piece
    from ldapdiag.sources.captures.manifest import ClockOffset
    from ldapdiag.sources.here.processes import DirectoryProcess
    from ldapdiag.sources.live import Party, Terms
    from ldapdiag.sources.targets import Target


def parties_of(targets: Sequence[Target], terms: Terms, stop: threading.Event) -> list[Party]:
    """Return the parties these targets become; nothing is asked yet."""
    named = any(isinstance(target, Directory) for target in targets)
    return [_party(target, terms, stop, named=named) for target in targets]


def _party(target: Target, terms: Terms, stop: threading.Event, *, named: bool) -> Party:
    match target:
        case Directory():
            return DirectoryServer(target, terms, stop)
        case Remote(path=str()):
            return RemoteFile(target, terms.seconds, stop)
        case Remote():
            return RemoteHost(target, terms, stop)
        case Local() | Namespace():
            return ThisHost(target, terms, stop, directories=not named)


class DirectoryServer:
    """A directory, asked once over LDAP; it has no sockets to look at."""

    clock_offset: ClockOffset | None = None

    def __init__(self, target: Directory, terms: Terms, stop: threading.Event) -> None:
        self.target = target.told
        self.peer: str | None = None
        self._ask = partial(ask, target.url, terms.binding, folder=target.name, seconds=terms.seconds, stop=stop)

    def first(self) -> Iterator[Piece | Gap]:
        """Yield what it says of itself."""
        answers = self._ask()
        self.peer = answers.peer
        yield from answers.pieces
        yield from (replace(gap, target=self.target) for gap in answers.gaps)

    def look(self) -> Iterator[Piece | Gap]:
        """Yield nothing."""
        yield from ()

    def close(self) -> None:
        """Do nothing: the session ended with its answers."""


class RemoteHost:
    """A host, asked by a script over the system's ssh."""

    peer: str | None = None

    def __init__(self, target: Remote, terms: Terms, stop: threading.Event) -> None:
        self.target = target.told
        self._dialog = Dialog(
            argv=ssh_command(target.user, target.host, target.port, terms.seconds),
            target=target.told,
            folder=target.name,
            sudo=terms.sudo,
            seconds=terms.seconds,
            stop=stop,
            try_it=f"ssh {f'{target.user}@' if target.user else ''}{target.host} true",
        )

    @property
    def clock_offset(self) -> ClockOffset | None:
        """Return how far its clock is ahead of ours."""
        return self._dialog.clock_offset

    def first(self) -> Iterator[Piece | Gap]:
        """Yield a look, and all else the script brings."""
        yield from self._dialog.first()

    def look(self) -> Iterator[Piece | Gap]:
        """Yield another look."""
        yield from self._dialog.look()

    def close(self) -> None:
        """End the script."""
        self._dialog.close()


class ThisHost:
    """The host this program runs on, or one network namespace of it: its sockets come from the kernel itself."""

    peer: str | None = None

    def __init__(self, target: Local | Namespace, terms: Terms, stop: threading.Event, *, directories: bool) -> None:
        self.target = target.told
        self._terms = terms
        self._stop = stop
        self._directories = directories
        self._only = target.name if isinstance(target, Namespace) else None
        self._name = self._only or os.uname().nodename or "local"
        self._spaces: tuple[namespaces.Namespace, ...] = ()
        self._unseen = 0
        self._looks = 0
        self._dialog = Dialog(
            argv=["nsenter", f"--net={namespaces.NAMED / self._only}", "sh"] if self._only else ["sh"],
            target=target.told,
            folder=self._name,
            looks=False,
            namespaces=self._only is None,
            sudo=terms.sudo,
            seconds=terms.seconds,
            stop=stop,
        )

    @property
    def clock_offset(self) -> None:
        """Return None: its clock is ours."""
        return

    def first(self) -> Iterator[Piece | Gap]:
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
        yield from self._sockets()
        yield from self._script()
        if self._directories:
            yield from self._asked_directories()

    def look(self) -> Iterator[Piece | Gap]:
        """Yield another look."""
        yield from self._sockets()
        yield from self._dialog.look()

    def close(self) -> None:
        """End the script."""
        self._dialog.close()

    def _find(self) -> None:
        if self._only:
            self._spaces = (namespaces.named(self._only),)
        else:
            found = namespaces.namespaces()
            self._spaces, self._unseen = found.found, found.unreadable

    def _script(self) -> Iterator[Piece | Gap]:
        """Yield what the script brings, and whose namespaces we did not see, unless it told so itself."""
        told = False
        for answer in self._dialog.first():
            told = told or (isinstance(answer, Gap) and "network namespace" in answer.reason)
            yield answer
        if self._unseen and not told:
            reason = f"the network namespaces of {self._unseen} processes cannot be seen"
            yield Gap(target=self.target, reason=reason, how="run as root")

    def _sockets(self) -> Iterator[Piece | Gap]:
        """Yield a table of each network namespace, our own first, for its moment matters most."""
        self._looks += 1
        held = socket_holders()
        for space in self._spaces:
            if self._stop.is_set():
                return
            yield from sockets.take(space, folder=self._folder(space), look=self._looks, held=held)

    def _folder(self, space: namespaces.Namespace) -> str:
        """Return what a namespace is called; collect.sh calls them the same."""
        if space.own or self._only:
            return self._name
        return f"{self._name}-{space.name or f'{space.program}-{space.pid}'}"

    def _asked_directories(self) -> Iterator[Piece | Gap]:
        """Ask each directory server here over its LDAPI socket, or, with a DN to bind as, where it listens."""
        folders = {space.identity: space for space in self._spaces}
        for process in directory_processes():
            space = folders.get(process.namespace)
            if space is None and process.namespace:
                continue
            binding = self._terms.binding
            url = _url_of(process, by_tcp=bool(binding.dn))
            if url is None or space is None:
                seen = "listens on no LDAPI socket" if process.namespace else "hides from this user where it listens"
                yield Gap(
                    target=f"{process.program}, process {process.pid}",
                    reason=f"{seen}, so its cn=monitor was not asked",
                    how="run as root, or name it: ldap://HOST -D … -W",
                )
                continue
            if url.startswith("ldapi") and not binding.dn:
                binding = Binding(mechanism=Mechanism.EXTERNAL)
            yield from self._asked(url, binding, space)

    def _asked(self, url: str, binding: Binding, space: namespaces.Namespace) -> Iterator[Piece | Gap]:
        """Ask one directory, from inside its network namespace."""
        question = partial(ask, url, binding, folder=self._folder(space), seconds=self._terms.seconds, stop=self._stop)
        try:
            answers: Answers = namespaces.inside(None if space.own else space.path, question)
        except OSError as error:
            reason = f"its network namespace cannot be entered: {(error.strerror or str(error)).lower()}"
            yield Gap(target=url, reason=reason, how="run as root")
            return
        yield from answers.pieces
        yield from answers.gaps


def _url_of(process: DirectoryProcess, *, by_tcp: bool) -> str | None:
    """Return how to reach a directory server on this host; None when it cannot be told."""
    if by_tcp and process.ports:
        return f"ldap://127.0.0.1:{389 if 389 in process.ports else process.ports[0]}"
    if not process.ldapi:
        return None
    inside_its_root = path_from_here(process.pid, process.ldapi[0])
    path = inside_its_root if os.access(inside_its_root, os.W_OK) else process.ldapi[0]
    return f"ldapi://{quote(path, safe='')}"
