"""A disk with a volatile write cache whose flush takes a known time, and whose power can be cut (slow_disk.c).

    with Host("ldap") as host:
        disk = SlowDisk(host, laboratory.slow_disk, "/run/image", flush_milliseconds=20)
        mount(host, FileSystem("ext4"), "/var/lib/ldap", disk=disk)     # volumes.py
        disk.cut()                       # what was not flushed is gone; the image has the rest

It never writes its cache on its own, and loses all of it: a real disk's cache does the one and may lose a part.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lab.host import wait_for

if TYPE_CHECKING:
    from lab.host import Host

SOURCE = Path(__file__).with_suffix(".c")
HEADERS = Path("/usr/include/fuse3")
MISSING = (
    "a C compiler and libfuse 3 (Debian: gcc libc6-dev libfuse3-dev; as root, `sh setup.sh servers` installs them)"
)


def compile_slow_disk(folder: Path) -> Path:
    """Compile the program into this folder, and return it; its absence or failure is an AssertionError."""
    is_there = shutil.which("cc") is not None and (HEADERS / "fuse.h").is_file()
    assert is_there, f"the slow disk needs {MISSING}"
    program = folder / "slow_disk"
    options = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-D_FILE_OFFSET_BITS=64", "-pthread"]
    done = subprocess.run(
        ["cc", *options, "-isystem", HEADERS, "-o", program, SOURCE, "-lfuse3"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"the slow disk does not compile; it needs {MISSING}\n{done.stderr}"
    return program


@dataclass(frozen=True, slots=True)
class Counts:
    """What a disk was asked so far."""

    writes: int
    flushes: int


class SlowDisk:
    """A running disk in a host; it ends with the host at the latest."""

    def __init__(
        self, host: Host, program: Path, image: str, *, flush_milliseconds: float, write_milliseconds: float = 0
    ) -> None:
        """Start it over an image, which is a file in the host; a write that takes time is one without a cache."""
        self.host, self.image, self.folder = host, image, f"{image}.disk"
        self.path = f"{self.folder}/disk"
        host.run(["mkdir", "-p", self.folder])
        microseconds = [f"{1000 * one:.0f}" for one in (flush_milliseconds, write_milliseconds)]
        self.process = host.start([program, image, self.folder, *microseconds])
        wait_for(lambda: host.attempt(["test", "-e", self.path]).returncode == 0, f"no slow disk over {image}")

    @property
    def pid(self) -> int:
        """Its process number in the host."""
        status = Path(f"/proc/{self.process.inner}/status").read_text()
        return int(status.partition("\nNSpid:")[2].split("\n")[0].split()[-1])

    def flush(self) -> None:
        """Flush its cache, whatever the file system on it asks for."""
        self.host.run(["sync", self.path])

    def cut(self, *, server: int = 0) -> None:
        """Cut the power, for the server with this process number in the host, too: within a millisecond."""
        self.host.run(f"kill -USR1 {self.pid}" + (f"; kill -KILL {server}" if server else ""))

    def counts(self) -> Counts:
        """Return what it was asked so far."""
        rows = dict(line.split() for line in self.host.run(["cat", f"{self.folder}/counts"]).splitlines())
        return Counts(**{name: int(number) for name, number in rows.items()})

    def stop(self) -> None:
        """End it; its volumes are unmounted before."""
        self.process.end()
