"""Processes of this host, from /proc: which one holds a socket, and which are directory servers."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.sources.live.local.namespaces import identity, pids, program_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PROC = Path("/proc")

MOST_LINKS = 40
"""Parts and links of a path; the kernel follows as many links."""

NATIVE = frozenset({"ns-slapd", "slapd"})
JAVA = "java"
JAVA_SERVER = re.compile(
    rb"(org\.opends\.server|com\.(unboundid|pingidentity)\.directory\.server|(org|com)\.forgerock\.opendj)\."
)
"""Main classes of OpenDJ, PingDirectory and their ancestors; other Java programs are clients at most."""

SOCKET = re.compile(r"socket:\[(\d+)\]")
LISTENING = "00010000"
"""The flag of /proc/net/unix for a socket that accepts connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The process that holds a socket."""

    pid: int
    program: str
    """As the kernel calls it, on one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryProcess:
    """A directory server that runs on this host."""

    pid: int
    program: str
    """ns-slapd, slapd or java."""
    namespace: str
    """The identity of its network namespace; empty where that may not be read."""
    ldapi: tuple[str, ...]
    """Paths of the sockets it listens on, as it sees them."""


def socket_holders() -> dict[int, Holder]:
    """Return who holds which socket, by inode; only root sees those of others. The lowest process has a shared one."""
    found: dict[int, Holder] = {}
    for pid in pids():
        holder = None
        for inode in sockets_of(pid):
            if inode not in found:
                holder = holder or Holder(pid=pid, program=program_of(pid))
                found[inode] = holder
    return found


def sockets_of(pid: int) -> Iterator[int]:
    """Yield the inodes of the sockets that a process holds; none when we may not see them, or it has ended."""
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
    """Find the directory servers that run on this host, in order of their processes."""
    return tuple(_directory(pid, program) for pid in pids() if (program := _server(pid)))


def _server(pid: int) -> str:
    """Return the name of a process that is a directory server; empty for any other."""
    program = program_of(pid)
    if program == JAVA:
        with suppress(OSError):
            return JAVA if JAVA_SERVER.search((PROC / str(pid) / "cmdline").read_bytes()) else ""
    return program if program in NATIVE else ""


def _directory(pid: int, program: str) -> DirectoryProcess:
    held = set(sockets_of(pid))
    return DirectoryProcess(
        pid=pid,
        program=program,
        namespace=identity(pid),
        ldapi=tuple(sorted({path for inode, path in _listening_paths(pid) if inode in held})),
    )


def path_from_here(pid: int, path: str) -> str | None:
    """Return a path that a process names, as it is reached from here: in a container its root is another.

    Links are followed within its root, where absolute ones begin; None when there are too many. Where its files are
    ours it is the path itself, and nowhere else: what we have under that name is another machine's.
    """
    if _has_our_files(pid):
        return path
    root = PROC / str(pid) / "root"
    left, done = [part for part in path.split("/") if part], ""
    for _ in range(MOST_LINKS):
        if not left:
            return f"{root}{done}"
        part = left.pop(0)
        if part == "..":
            done = done.rpartition("/")[0]
            continue
        try:
            link = str(Path(f"{root}{done}/{part}").readlink())
        except OSError:  # no link
            done = f"{done}/{part}"
            continue
        left = [*filter(None, link.split("/")), *left]
        done = "" if link.startswith("/") else done
    return None


def _has_our_files(pid: int) -> bool:
    """Tell whether a process has our root, and what is mounted below it; False when it may not be seen."""
    its, ours = PROC / str(pid), PROC / "self"
    try:
        return Path(its, "root").samefile("/") and Path(its, "ns/mnt").readlink() == Path(ours, "ns/mnt").readlink()
    except OSError:
        return False


def _listening_paths(pid: int) -> Iterator[tuple[int, str]]:
    """Yield inode and path of the listening UNIX sockets of a process' namespace; abstract ones have no path."""
    try:
        text = (PROC / str(pid) / "net" / "unix").read_text(encoding="utf-8", errors="backslashreplace")
    except OSError:
        return
    for line in text.splitlines():
        fields = line.split(None, 7)
        if len(fields) == 8 and fields[3] == LISTENING and fields[7].startswith("/"):
            yield int(fields[6]), fields[7]
