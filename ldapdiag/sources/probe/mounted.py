"""The mount that an open directory is on: proc_pid_fdinfo(5), proc_pid_mountinfo(5)."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

MOUNT = re.compile(r"(?m)^mnt_id:\s*(\d+)$")
OCTAL = re.compile(r"\\([0-7]{3})")


class MountedOn(NamedTuple):
    """A mount; empty texts where the kernel gives none."""

    mount_point: str
    fs_type: str
    device: str


def mounted_on(descriptor: int) -> MountedOn:
    """Return the mount of an open directory."""
    device = os.fstat(descriptor).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    with suppress(OSError, IndexError, ValueError):
        own = MOUNT.search(Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii"))
        with Path("/proc/self/mountinfo").open(encoding="utf-8", errors="backslashreplace") as rows:
            for row in rows:
                fields = row.split(" ")
                if own and fields[0] == own[1]:
                    fs_type = fields[fields.index("-") + 1]
                    return MountedOn(OCTAL.sub(lambda found: chr(int(found[1], 8)), fields[4]), fs_type, number)
    return MountedOn("", "", number)
