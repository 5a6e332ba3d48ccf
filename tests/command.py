"""The real command, run as a person or a script runs it: in this process, or in one of its own where that matters."""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from unittest.mock import patch

from ldapdiag.sources.logs.native import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LDAPDIAG = (sys.executable, "-m", "ldapdiag")
INCIDENT = Path(__file__).parent.parent / "examples" / "incident"
PATIENCE = 30
"""Seconds after which a command counts as hanging."""

LOGIN = {name: value for name, value in os.environ.items() if name in {"HOME", "LANG", "LC_ALL", "PATH", "TMPDIR"}}
"""The environment without what pytest and terminals put there."""

NO_SITE = {"XDG_CONFIG_HOME": os.devnull}
"""Keeps the site configuration of whoever runs the tests out of them."""


FOR_THE_INTERPRETER = ("PYTHON", "LC_", "LANG", "TZ", "LD_")
"""How the names of variables begin that count when a process starts."""


@dataclass(frozen=True)
class Ran:
    """What became of a command."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """Its report."""
        return self.out.decode()

    @property
    def complaints(self) -> list[str]:
        """The lines it wrote to stderr."""
        return self.err.decode().splitlines()

    @property
    def report(self) -> dict[str, Any]:
        """Its report, of --format json."""
        report: dict[str, Any] = json.loads(self.out)
        return report


def ldapdiag(
    *arguments: str | bytes | Path,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    **settings: Any,
) -> Ran:
    """Run the command, which must never show a traceback.

    It gets a process of its own where its `environment` has something for the interpreter or the C library, or where it
    is started by a program `before` it, or with `settings` of subprocess.run. Otherwise it runs in this one, which
    spares the interpreter's start and all the imports.
    """
    given = LOGIN | NO_SITE | _scanner() | dict(environment or {})
    if not (before or settings or any(name.startswith(FOR_THE_INTERPRETER) for name in environment or {})):
        ran = _run_here([os.fsdecode(argument) for argument in arguments], stdin, given)
    else:
        done = subprocess.run(
            [*before, *LDAPDIAG, *arguments],
            input=stdin, capture_output=True, env=given, check=False, **{"timeout": PATIENCE, **settings},
        )  # fmt: skip
        ran = Ran(done.returncode, done.stdout, done.stderr)
    for sign in (b"Traceback", b"this is a bug"):
        assert sign not in ran.err, ran.err.decode(errors="replace")
    return ran


def diagnose(*arguments: str | bytes | Path, **settings: Any) -> Ran:
    """Run `ldapdiag diagnose`."""
    return ldapdiag("diagnose", *arguments, **settings)


def _scanner() -> dict[str, str]:
    """Return what says which scanner is to read logs, where a test says so (conftest.py)."""
    return {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}


def _run_here(arguments: list[str], stdin: bytes, environment: Mapping[str, str]) -> Ran:
    """Run the module as `python -m` does, with standard streams, signals and an environment of its own."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        with _standard_streams(given, out, err), _as_a_process(arguments, environment):
            try:
                runpy.run_module("ldapdiag", run_name="__main__", alter_sys=True)
                code = 0
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else int(left.code is not None)
        for written in (out, err):
            written.seek(0)
        return Ran(code, out.read(), err.read())


@contextmanager
def _standard_streams(*files: IO[bytes]) -> Iterator[None]:
    """Put files in the place of stdin, stdout and stderr, as descriptors and in sys."""
    kept = [os.dup(number) for number in range(3)]
    try:
        for number, file in enumerate(files):
            os.dup2(file.fileno(), number)
        with ExitStack() as streams:
            for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
                stream = streams.enter_context(open(number, mode, encoding="utf-8", closefd=False))
                streams.enter_context(patch.object(sys, name, stream))
            yield
    finally:
        for number, before in enumerate(kept):
            os.dup2(before, number)
            os.close(before)


@contextmanager
def _as_a_process(arguments: list[str], environment: Mapping[str, str]) -> Iterator[None]:
    """Undo what the command does to its process, and end it when it hangs."""
    threshold = gc.get_threshold()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)}
    signal.signal(signal.SIGALRM, _hangs)
    left = signal.alarm(PATIENCE)
    try:
        with patch.dict(os.environ, environment, clear=True), patch.object(sys, "argv", ["ldapdiag", *arguments]):
            yield
    finally:
        signal.alarm(left)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        gc.set_threshold(*threshold)
        atexit.unregister(gc.freeze)


def _hangs(*_: object) -> None:
    raise AssertionError(f"the command still runs after {PATIENCE} s")
