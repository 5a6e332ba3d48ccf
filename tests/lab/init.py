"""The first process of a laboratory's host: it buries the dead, and ends when whoever booted the host does.

Run with no site-packages by `host.py`; the end of its standard input is the end of the host.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress


def bury(*_: object) -> None:
    """Collect every child that has ended, those of others too: orphans become the first process's children."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


signal.signal(signal.SIGCHLD, bury)
os.write(sys.stdout.fileno(), b"up\n")
while os.read(sys.stdin.fileno(), 1):
    pass
