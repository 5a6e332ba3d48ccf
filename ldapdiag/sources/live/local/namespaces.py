"""Network namespaces of the local host: its own, named ones, and those of containers; each counts as a host."""

from __future__ import annotations

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROC = Path("/proc")
NAMED = Path("/run/netns")
"""Folder of the namespaces that `ip netns add` creates."""
BOOT_ID = PROC / "sys/kernel/random/boot_id"
CLONE_NEWNET = 0x40000000

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkNamespace:
    """One network namespace of the local host."""

    identity: str
    """Boot ID, device and inode: equal in all captures of the same namespace until the next boot."""
    path: str
    """The file to open to enter it."""
    own: bool
    """This program runs in it."""
    name: str | None = None
    """Its name in `ip netns`."""
    pid: int | None = None
    """Its lowest visible process; None without one."""
    program: str = ""
    """Name of that process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceList:
    """The network namespaces of the local host."""

    found: tuple[NetworkNamespace, ...]
    """The program's own first, then by name, then by process."""
    unreadable: int
    """Processes whose namespace only root can read; kernel threads do not count."""


def find_namespaces() -> NamespaceList:
    """Find all network namespaces of the local host, each once. Raises OSError without /proc."""
    own = _inode("/proc/self/ns/net")
    names = dict(_named(own[0]))
    processes: dict[tuple[int, int], int] = {}
    unreadable = 0
    for pid in pids():
        try:
            processes.setdefault(_inode(f"/proc/{pid}/ns/net"), pid)
        except PermissionError:
            unreadable += _is_program(pid)
        except OSError:  # the process has just ended
            continue
    found = [_namespace(inode, names.get(inode), processes.get(inode)) for inode in {own: 0} | names | processes]
    found.sort(key=lambda one: (not one.own, one.name is None, one.name or "", one.pid or 0))
    return NamespaceList(found=tuple(found), unreadable=unreadable)


def find_named(name: str) -> NetworkNamespace:
    """Return the namespace with this name in `ip netns`. Raises OSError without one."""
    inode = _inode(NAMED / name)
    if inode[0] != _inode("/proc/self/ns/net")[0]:
        raise FileNotFoundError(2, "no network namespace", str(NAMED / name))
    return _namespace(inode, name, None)


def run_inside(path: str | None, function: Callable[[], T]) -> T:
    """Call a function inside a namespace, and return its result; None is the program's own namespace.

    The call runs in a thread of its own; sockets and processes that it creates stay in the namespace. Raises OSError
    when the namespace cannot be entered.
    """
    if path is None:
        return function()
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(_enter_and_call, path, function).result()


def pids() -> Iterator[int]:
    """Yield the visible processes of the local host, in order."""
    yield from sorted(int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal())


def identity(pid: int) -> str:
    """Return the identity of a process' namespace; empty if it cannot be read.

    Without permission the program's own is recognised: both processes then see one table of sockets.
    """
    with suppress(OSError):
        return _identity(_inode(f"/proc/{pid}/ns/net"))
    with suppress(OSError):
        if _inode(f"/proc/{pid}/net/tcp") == _inode("/proc/self/net/tcp"):
            return _identity(_inode("/proc/self/ns/net"))
    return ""


def has_ended(pid: int) -> bool:
    """Return whether a process has ended, perhaps without its parent having removed it (a zombie)."""
    try:
        state = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[:1]
    except OSError:
        return True
    return state in ([b"Z"], [b"X"])


def program_of(pid: int) -> str:
    r"""Return the name of a process on one line; it may contain any character. Empty when the process has ended."""
    try:
        name = (PROC / str(pid) / "comm").read_bytes()[:-1]
    except OSError:
        return ""
    text = name.decode(errors="backslashreplace")
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in text)[:64]


def _is_program(pid: int) -> bool:
    """Return whether a process runs a program: a kernel thread, and a process that has ended, has no command line."""
    with suppress(OSError):
        return bool((PROC / str(pid) / "cmdline").read_bytes())
    return False


def _enter_and_call(path: str, function: Callable[[], T]) -> T:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
    finally:
        os.close(descriptor)
    return function()


def _named(device: int) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the named namespaces; a deleted one may leave a plain file, which is skipped."""
    with suppress(OSError):
        for path in sorted(NAMED.iterdir(), reverse=True):  # the first of two names takes precedence
            with suppress(OSError):
                inode = _inode(path)
                if inode[0] == device:
                    yield inode, path.name


def _namespace(inode: tuple[int, int], name: str | None, pid: int | None) -> NetworkNamespace:
    return NetworkNamespace(
        identity=_identity(inode),
        path=str(NAMED / name) if name else f"/proc/{pid or 'self'}/ns/net",
        own=inode == _inode("/proc/self/ns/net"),
        name=name,
        pid=pid,
        program=program_of(pid) if pid else "",
    )


def _inode(path: str | Path) -> tuple[int, int]:
    status = Path(path).stat()
    return status.st_dev, status.st_ino


def _identity(inode: tuple[int, int]) -> str:
    try:
        boot = BOOT_ID.read_text(encoding="utf-8").strip()
    except OSError:
        boot = ""
    return f"{boot}:{inode[0]}:{inode[1]}"
