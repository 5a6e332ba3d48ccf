"""The network namespaces of this host: its own, named ones, and those of containers; each is a host of its own."""

from __future__ import annotations

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROC = Path("/proc")
NAMED = Path("/run/netns")
"""Where `ip netns add` keeps them."""
BOOT_ID = PROC / "sys/kernel/random/boot_id"
CLONE_NEWNET = 0x40000000

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """One network namespace of this host."""

    identity: str
    """Boot, device and inode: the same text is the same namespace, in every capture until the next boot."""
    path: str
    """What to open to enter it."""
    own: bool
    """It is the one this program runs in."""
    name: str | None = None
    """As `ip netns` knows it."""
    pid: int | None = None
    """The lowest process in it that we may see; None: it has none."""
    program: str = ""
    """What that process is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespaces:
    """What could be found."""

    found: tuple[Namespace, ...]
    """Our own first, then by name, then by process."""
    unreadable: int
    """Processes whose namespace we may not see; root may. The kernel's own threads are none."""


def namespaces() -> Namespaces:
    """Find every distinct network namespace of this host. Raises OSError where there is no /proc."""
    own = _inode("/proc/self/ns/net")
    names = dict(_named(own[0]))
    processes: dict[tuple[int, int], int] = {}
    unreadable = 0
    for pid in pids():
        try:
            processes.setdefault(_inode(f"/proc/{pid}/ns/net"), pid)
        except PermissionError:
            unreadable += _is_program(pid)
        except OSError:  # it ended just now
            continue
    found = [_namespace(inode, names.get(inode), processes.get(inode)) for inode in {own: 0} | names | processes]
    found.sort(key=lambda one: (not one.own, one.name is None, one.name or "", one.pid or 0))
    return Namespaces(found=tuple(found), unreadable=unreadable)


def named(name: str) -> Namespace:
    """Return the namespace that `ip netns` knows by this name. Raises OSError when there is none."""
    inode = _inode(NAMED / name)
    if inode[0] != _inode("/proc/self/ns/net")[0]:
        raise FileNotFoundError(2, "no network namespace", str(NAMED / name))
    return _namespace(inode, name, None)


def inside(path: str | None, function: Callable[[], T]) -> T:
    """Return what a function returns inside a namespace; None is our own. Raises OSError when it cannot be entered.

    Only a thread of its own goes there, and what it opens or starts stays there.
    """
    if path is None:
        return function()
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(_entered, path, function).result()


def pids() -> Iterator[int]:
    """Yield the processes of this host that we can see, in order."""
    yield from sorted(int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal())


def identity(pid: int) -> str:
    """Return the identity of a process' namespace; empty when it may not be seen."""
    try:
        return _identity(_inode(f"/proc/{pid}/ns/net"))
    except OSError:
        return ""


def program_of(pid: int) -> str:
    r"""Return what a process is called, on one line: it may call itself anything. Empty when it has ended."""
    try:
        name = (PROC / str(pid) / "comm").read_bytes()[:-1]
    except OSError:
        return ""
    text = name.decode(errors="backslashreplace")
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in text)[:64]


def _is_program(pid: int) -> bool:
    """Tell whether a process runs a program: what has no command line is a thread of the kernel, or has ended."""
    with suppress(OSError):
        return bool((PROC / str(pid) / "cmdline").read_bytes())
    return False


def _entered(path: str, function: Callable[[], T]) -> T:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
    finally:
        os.close(descriptor)
    return function()


def _named(device: int) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the named namespaces; a plain file is what a deleted one may leave behind."""
    with suppress(OSError):
        for path in sorted(NAMED.iterdir(), reverse=True):  # of two names the first one is to stay
            with suppress(OSError):
                inode = _inode(path)
                if inode[0] == device:
                    yield inode, path.name


def _namespace(inode: tuple[int, int], name: str | None, pid: int | None) -> Namespace:
    return Namespace(
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
