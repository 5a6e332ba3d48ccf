"""A terminal on a host: a text is pasted into it as a person does, and the password typed wherever it is asked for."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.host import Host

PASSWORD = "password"  # noqa: S105  of servers that live for one test
PROMPT = re.compile(rb"Enter LDAP Password: |Enter password for [^\r\n]+: ")  # OpenLDAP's tools, dsconf
PATIENCE = 300.0


def paste(host: Host, text: str, *, password: str = PASSWORD) -> str:
    """Paste a text into a shell on a host and return what the terminal shows; its failure is an AssertionError."""
    argv = host.enter(["sh", "-e", "-c", text], env={"LANG": "C"})
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(argv[0], argv)  # noqa: S606  the text is meant for a shell
    shown = _typed(child, terminal, password)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    assert status == 0, f"{host.name}: {text}\nexit {status}\n{shown.decode()}"
    return shown.decode().replace("\r\n", "\n")


def _typed(child: int, terminal: int, password: str) -> bytes:
    """Read until the terminal closes, and answer each prompt; what lasts too long is killed."""
    shown, answered, deadline = b"", 0, time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            chunk = os.read(terminal, 4096)
        except OSError:  # Linux: the other end of the terminal is closed
            return shown
        if not chunk:
            return shown
        shown += chunk
        while len(PROMPT.findall(shown)) > answered:
            answered += 1
            os.write(terminal, f"{password}\n".encode())
    os.kill(child, signal.SIGKILL)
    return shown
