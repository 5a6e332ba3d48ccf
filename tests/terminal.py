"""The command on a terminal of its own, as a person runs it: size, keys typed, the screen with both streams on it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from command import LDAPDIAG, LOGIN, PATIENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def wait_until_asleep(pid: int) -> None:
    """Wait until a process has nothing to do but wait for keys: a Ctrl-C just before its read would not end that."""
    while Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "R":
        time.sleep(0.005)


def on_terminal(
    *arguments: str | Path,
    command: Sequence[str] = LDAPDIAG,
    columns: int = 80,
    lines: int = 24,
    prompt: str = "",
    typed: str = "",
    raw: bool = False,
    **environment: str,
) -> tuple[int, str]:
    """Return the exit code and the screen, `raw` with its control sequences. `typed` is sent once `prompt` is there."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"no pseudo-terminals here: {error}")
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    with subprocess.Popen(
        [*command, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=LOGIN | {"TERM": "xterm"} | environment,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  no threads here
    ) as process:
        os.close(theirs)
        screen = b""
        with contextlib.suppress(OSError):  # the terminal is closed by its last process
            while select.select([ours], [], [], PATIENCE)[0] and (part := os.read(ours, 1 << 16)):
                screen += part
                if prompt and prompt.encode() in screen:
                    wait_until_asleep(process.pid)
                    os.write(ours, typed.encode())
                    prompt = ""
        os.close(ours)
        try:
            code = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    text = screen.decode()
    return code, (text if raw else CONTROL.sub("", text)).replace("\r\n", "\n")
