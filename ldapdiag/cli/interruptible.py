"""Ctrl-C, SIGTERM or SIGHUP during long work: the first keeps the results so far, the second ends the run."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager, suppress
from threading import Event
from typing import TYPE_CHECKING

from ldapdiag.cli.exit_codes import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STDERR = 2
SIGNALS = (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))
"""Of a terminal, a supervisor or `timeout`, and a lost connection, which Windows has no signal for."""
MESSAGE = b"ldapdiag: interrupted; the results so far are kept. Press Ctrl-C again to end at once\n"


@contextmanager
def interruptible(evidence: Iterable[str]) -> Iterator[Event]:
    """Yield an event that Ctrl-C and the like set, if the evidence contains a live target; else Ctrl-C ends the run."""
    from ldapdiag.sources.targets import split_targets  # noqa: PLC0415  import late

    targets, _ = split_targets(evidence)
    if targets:
        with stoppable() as stop:
            yield stop
    else:
        yield Event()


@contextmanager
def ended_by_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the run at once, as at a prompt: nothing has been collected yet."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        yield
        return

    def end(*_: object) -> None:
        with suppress(OSError):
            os.write(STDERR, b"\n")
        sys.exit(INTERRUPTED)

    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def stoppable() -> Iterator[Event]:
    """Yield an event that the first of SIGNALS sets; one that is ignored (nohup) stays so."""
    stop = Event()
    before = {one: handler for one in SIGNALS if (handler := signal.getsignal(one)) is not signal.SIG_IGN}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def first(*_: object) -> None:
        stop.set()
        restore()
        with suppress(OSError):
            os.write(STDERR, MESSAGE)  # not through a stream, which refuses a write from a handler during another one

    for number in before:
        signal.signal(number, first)
    try:
        yield stop
    finally:
        restore()
