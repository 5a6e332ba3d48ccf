"""The scratch folder of a probe: its files have no name, or are removed by a process that outlives the probe.

Its name has the process and its start time. A later probe removes the folder of one that was killed together with the
removing process, if it provably is one: by its name, its owner, a process that no longer runs, and a lock (flock) that
is free, in every container.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import subprocess
import sys
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.errors import LdapdiagError
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.probe import removal

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = pattern(r"\.ldapdiag-probe-(\d{1,10})-(\d{1,20})", re.ASCII)
UNSUPPORTED = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT, errno.ENOSYS})
"""Of O_TMPFILE: NFS, older kernels, some overlays."""
PATIENCE = 30
"""Seconds to wait for the removal; on a volume that hangs it goes on alone."""
START_TIME = 19
"""Its place among the fields of /proc/PID/stat behind the name of the program: the 22nd of all, proc_pid_stat(5)."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """An open scratch folder."""

    folder: int
    """Its descriptor."""

    @contextmanager
    def file(self) -> Iterator[int]:
        """Open an empty file without a name; its blocks are free again when it is closed, or when the process ends."""
        try:
            descriptor = os.open(".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600, dir_fd=self.folder)
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
            descriptor = os.open("unlinked", self.creating | os.O_RDWR, 0o600, dir_fd=self.folder)
            os.unlink("unlinked", dir_fd=self.folder)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @property
    def creating(self) -> int:
        """Return the flags with which a named file is created, never opened."""
        return os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def open_directory(directory: Path) -> Iterator[int]:
    """Open the directory to probe; LdapdiagError with the reason where it cannot be."""
    if directory.is_symlink():
        raise LdapdiagError(
            f"cannot probe {directory}: it is a symbolic link; name what it points to: {directory.resolve()}"
        )
    try:
        descriptor = os.open(directory, removal.FOLDER)
    except NotADirectoryError as error:
        raise LdapdiagError(f"cannot probe {directory}: not a directory; name one on the server's volume") from error
    except OSError as error:
        raise _cannot(directory, error) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def scratch_folder(parent: int, directory: Path) -> Iterator[Scratch]:
    """Make the folder; at the end, and if this process is killed, another process removes it with its files."""
    sweep(parent)
    name = f".ldapdiag-probe-{os.getpid()}-{start_time(os.getpid())}"
    with _remover(parent, name):
        try:
            os.mkdir(name, 0o700, dir_fd=parent)
            folder = os.open(name, removal.FOLDER, dir_fd=parent)
        except OSError as error:
            raise _cannot(directory, error) from error
        try:
            with suppress(OSError):  # not on every NFS; then no later probe removes it
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield Scratch(folder)
        finally:
            os.close(folder)


@contextmanager
def _remover(parent: int, name: str) -> Iterator[None]:
    """Start the process that removes the folder, before there is one; in a session of its own, Ctrl-C misses it."""
    source = files("ldapdiag.sources.probe").joinpath("removal.py").read_text(encoding="ascii")
    command = [sys.executable, "-I", "-S", "-c", source, str(parent), name]
    process = subprocess.Popen(  # noqa: S603  our own module, by its source: within a zipapp it is no file
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        pass_fds=(parent,),
        start_new_session=True,
    )
    try:
        yield
    finally:
        with suppress(OSError, subprocess.TimeoutExpired):
            process.communicate(timeout=PATIENCE)


def sweep(parent: int) -> None:
    """Remove the folders of probes that no longer run."""
    with os.scandir(parent) as names:
        ours = [found for each in names if (found := NAME.fullmatch(each.name))]
    for found in ours:
        if start_time(int(found[1])) != found[2] and _is_free(parent, found[0]):
            removal.remove(parent, found[0])


def _is_free(parent: int, name: str) -> bool:
    """Return whether a folder can be locked: no other process uses it."""
    try:
        folder = os.open(name, removal.FOLDER, dir_fd=parent)
    except OSError:
        return False
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def start_time(process: int) -> str:
    """Return when a process started, in clock ticks since the boot; empty: there is none."""
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    return status.rpartition(")")[2].split()[START_TIME]


def _cannot(directory: Path, error: OSError) -> LdapdiagError:
    advice = {
        errno.EACCES: "; run as root, or name a directory that this account may write to",
        errno.EROFS: "; name a directory on a file system that is mounted for writing",
        errno.ENOENT: "; name a directory on the server's volume",
    }.get(error.errno or 0, "")
    return LdapdiagError(f"cannot probe {directory}: {(error.strerror or str(error)).lower()}{advice}")
