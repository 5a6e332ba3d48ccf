"""Processes of the local host, from /proc: the owners of sockets, and the directory servers."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.live.local.namespaces import has_ended, identity, pids, program_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PROC = Path("/proc")

MOST_LINKS = 40
"""Path components and links to follow; the kernel follows as many links."""

NATIVE = frozenset({"ns-slapd", "slapd"})
JAVA = "java"
JAVA_SERVER = pattern(
    rb"(org\.opends\.server|com\.(unboundid|pingidentity)\.directory\.server|(org|com)\.forgerock\.opendj)\."
)
"""Main classes of OpenDJ, PingDirectory and their predecessors; other Java programs are not directory servers."""

SOCKET = pattern(r"socket:\[(\d+)\]")
LISTENING = "00010000"
"""Flags of a listening socket in /proc/net/unix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketOwner:
    """The process that owns a socket."""

    pid: int
    program: str
    """Its name in the kernel, on one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryProcess:
    """A directory server process on the local host."""

    pid: int
    program: str
    """ns-slapd, slapd or java."""
    namespace: str
    """Identity of its network namespace; empty: it cannot be read, so the process belongs to no target."""
    ldapi: tuple[str, ...] | None
    """Paths of the UNIX sockets that it listens on, within its own root; None: hidden from this user."""


def socket_owners() -> dict[int, SocketOwner]:
    """Return the owner of each socket by inode; the lowest process for a shared one. Only root sees all processes."""
    found: dict[int, SocketOwner] = {}
    for pid in pids():
        owner = None
        for inode in sockets_of(pid):
            if inode not in found:
                owner = owner or SocketOwner(pid=pid, program=program_of(pid))
                found[inode] = owner
    return found


def sockets_of(pid: int) -> Iterator[int]:
    """Yield the inodes of a process' sockets; none without permission, and when the process has ended."""
    folder = f"/proc/{pid}/fd"
    try:
        descriptors = os.listdir(folder)  # noqa: PTH208  a Path for each of 20,000 descriptors costs more than reading it
    except OSError:
        return
    for descriptor in descriptors:
        with suppress(OSError):
            if found := SOCKET.fullmatch(os.readlink(f"{folder}/{descriptor}")):  # noqa: PTH115  as above
                yield int(found[1])


def directory_processes() -> tuple[DirectoryProcess, ...]:
    """Find the directory servers on the local host, in order of their processes."""
    return tuple(_directory(pid, program) for pid in pids() if (program := _server(pid)))


def _server(pid: int) -> str:
    """Return the program name of a directory server process; empty for any other process."""
    program = "" if has_ended(pid) else program_of(pid)
    if program == JAVA:
        with suppress(OSError):
            return JAVA if JAVA_SERVER.search((PROC / str(pid) / "cmdline").read_bytes()) else ""
    return program if program in NATIVE else ""


def _directory(pid: int, program: str) -> DirectoryProcess:
    inodes = set(sockets_of(pid))
    paths = {path for inode, path in _listening_paths(pid) if inode in inodes}
    return DirectoryProcess(
        pid=pid,
        program=program,
        namespace=identity(pid),
        ldapi=tuple(sorted(paths)) if inodes or os.access(PROC / str(pid) / "fd", os.R_OK) else None,
    )


def has_open(pid: int, path: str) -> bool:
    """Return whether a process has a file open; False without permission, and when the process has ended."""
    folder = f"/proc/{pid}/fd"
    with suppress(OSError):
        wanted = Path(path).stat()
        for descriptor in os.listdir(folder):  # noqa: PTH208  as in sockets_of
            with suppress(OSError):
                found = os.stat(f"{folder}/{descriptor}")  # noqa: PTH116  as above
                if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
                    return True
    return False


def host_path(pid: int, path: str) -> str | None:
    """Translate a path of a process, which may have a different root (a container), to a path of the local host.

    Links are resolved within the root of the process; None when there are too many. Only with the root and mounts of
    the local host the path itself is returned: else the same path here would be a different file.
    """
    if _has_host_files(pid):
        return path
    root = PROC / str(pid) / "root"
    remaining, resolved = [part for part in path.split("/") if part], ""
    for _ in range(MOST_LINKS):
        if not remaining:
            return f"{root}{resolved}"
        part = remaining.pop(0)
        if part == "..":
            resolved = resolved.rpartition("/")[0]
            continue
        try:
            link = str(Path(f"{root}{resolved}/{part}").readlink())
        except OSError:  # not a link
            resolved = f"{resolved}/{part}"
            continue
        remaining = [*filter(None, link.split("/")), *remaining]
        resolved = "" if link.startswith("/") else resolved
    return None


def _has_host_files(pid: int) -> bool:
    """Return whether a process has the root and the mounts of this program; False without permission."""
    process, this = PROC / str(pid), PROC / "self"
    try:
        return Path(process, "root").samefile("/") and (
            Path(process, "ns/mnt").readlink() == Path(this, "ns/mnt").readlink()
        )
    except OSError:
        return False


def _listening_paths(pid: int) -> Iterator[tuple[int, str]]:
    """Yield inode and path of the listening UNIX sockets in a process' namespace; abstract sockets have no path."""
    try:
        text = (PROC / str(pid) / "net" / "unix").read_text(encoding="utf-8", errors="backslashreplace")
    except OSError:
        return
    for line in text.splitlines():
        fields = line.split(None, 7)
        if len(fields) == 8 and fields[3] == LISTENING and fields[7].startswith("/"):
            yield int(fields[6]), fields[7]
