"""Ctrl-C in long work: the first one ends the work and keeps what was had, the second one ends the run."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from threading import Event
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STDERR = 2
MESSAGE = b"ldapdiag: stopping, and keeping what there is; Ctrl-C again ends it at once\n"


@contextmanager
def interruptible(evidence: Iterable[str]) -> Iterator[Event]:
    """Lend an event that Ctrl-C sets, where any of this evidence is a target; reading files just ends."""
    from ldapdiag.sources.targets import sorted_out  # noqa: PLC0415  import late

    targets, _ = sorted_out(evidence)
    if targets:
        with stoppable() as stop:
            yield stop
    else:
        yield Event()


@contextmanager
def stoppable() -> Iterator[Event]:
    """Lend an event that Ctrl-C sets, unless it is ignored (nohup)."""
    stop = Event()
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        yield stop
        return

    def first(*_: object) -> None:
        stop.set()
        signal.signal(signal.SIGINT, before)
        with suppress(OSError):
            os.write(STDERR, MESSAGE)  # a stream may be in the middle of a write, and refuses another from a handler

    signal.signal(signal.SIGINT, first)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
