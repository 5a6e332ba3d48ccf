"""The removal of a scratch folder, also as a process of its own that outlives the probe: no import but Python's own.

    python -c SOURCE DESCRIPTOR NAME

It waits for the end of its standard input, a pipe that only the probe has open: the kernel closes it however the probe
ends, kill -9 included. Then it removes the folder NAME of the directory that is open as DESCRIPTOR.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress

FILE = re.compile(r"file-\d{5,9}|unlinked", re.ASCII)
"""The names of a probe's files."""
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove(parent: int, name: str) -> None:
    """Remove a folder of a probe, if it is ours: no link is followed, and a file of another name stays, with it."""
    with suppress(OSError):
        folder = os.open(name, FOLDER, dir_fd=parent)
        try:
            if os.fstat(folder).st_uid != os.geteuid():
                return
            with os.scandir(folder) as files:
                names = [each.name for each in files if FILE.fullmatch(each.name)]
            for each in names:
                with suppress(OSError):
                    os.unlink(each, dir_fd=folder)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=parent)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    remove(int(sys.argv[1]), sys.argv[2])
