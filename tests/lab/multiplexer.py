"""A terminal that a test looks at: tmux, in which a command runs, with its keys, its size and what it shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from lab.host import _children, wait_for
from lab.laboratory import need

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lab.host import Host


class Multiplexer:
    """A tmux of its own that runs one command in a host; it ends with the `with` block."""

    def __init__(
        self, host: Host, command: Sequence[str], *, env: Mapping[str, str], name: str, size: tuple[int, int] = (80, 24)
    ) -> None:
        need("tmux")
        self.name = f"ldapdiag-test-{os.getpid()}-{name}"
        entered = host.enter(command, env={"TERM": "screen-256color"} | dict(env))
        width, height = map(str, size)
        # What the command leaves behind stays to be read, and its pane stays when it has ended.
        shell = f"{shlex.join(map(str, entered))}; echo exit $?; exec sleep 86400"
        self.run("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height, shell)
        self.server = int(self.run("display-message", "-p", "#{pid}"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(subprocess.CalledProcessError):
            self.run("kill-server")

    def run(self, *arguments: str) -> str:
        """Run a command of tmux, and return what it printed."""
        done = subprocess.run(["tmux", "-L", self.name, *arguments], capture_output=True, text=True, check=True)
        return done.stdout

    def keys(self, *keys: str) -> None:
        """Press keys, by their names in tmux."""
        self.run("send-keys", *keys)

    def resize(self, width: int, height: int) -> None:
        """Change the size of the terminal."""
        self.run("resize-window", "-x", str(width), "-y", str(height))

    @property
    def lines(self) -> list[str]:
        """Return what the terminal shows."""
        return self.run("capture-pane", "-p").splitlines()

    def shows(self, what: Callable[[str], object], otherwise: str, *, seconds: float = 60) -> str:
        """Wait until the screen is as wanted, and return it."""
        try:
            return wait_for(
                lambda: (text := "\n".join(self.lines)) if what(text := "\n".join(self.lines)) else "",
                otherwise,
                seconds=seconds,
            )
        except AssertionError as error:
            raise AssertionError(f"{error}\n" + "\n".join(self.lines)) from None

    def processes(self) -> list[int]:
        """Return every process that runs in it, but the shell."""
        shells = _children(self.server)
        found, left = [], [child for shell in shells for child in _children(shell)]
        while left:
            found.append(left.pop())
            left += _children(found[-1])
        return found


def number(text: str, before: str) -> int:
    """Return the number that follows a word on the screen of ldapdiag top; -1 without one."""
    found = re.search(rf"{before} ([\d,]+)", text)
    return int(found[1].replace(",", "")) if found else -1


def row(text: str, client: str) -> list[str]:
    """Return the cells of a client's row there."""
    found = next((line for line in text.splitlines() if client in line and "ldap://" not in line), "")
    return found.replace("^", " ").split()
