"""Group commit: committers append records to one log, and the sync of one covers all records that were appended before.

The threads of one Python program take turns, so it measures at most some 10,000 commits per second.
"""

from __future__ import annotations

import os
from threading import Condition, Thread
from time import perf_counter
from typing import TYPE_CHECKING

from ldapdiag.evidence.storage.probe import GroupCommit, latency_of

if TYPE_CHECKING:
    from ldapdiag.sources.probe.limits import Allowance
    from ldapdiag.sources.probe.scratch import Scratch

RECORD = b"r" * 512


class CommitLog:
    """A log of records; `commit` returns when the record is durable."""

    def __init__(self, descriptor: int, allowance: Allowance, until: float) -> None:
        self.syncs = 0
        self.seconds: list[float] = []
        """One per commit."""
        self.failure: OSError | None = None
        self._descriptor, self._allowance, self._until = descriptor, allowance, until
        self._changed = Condition()
        self._appended = self._durable = 0
        self._syncing = False

    def run(self) -> None:
        """Commit until the time is over."""
        try:
            while perf_counter() < self._until and not self.failure and self._allowance.permits(len(RECORD)):
                begun = perf_counter()
                self.commit()
                self.seconds.append(perf_counter() - begun)
        except OSError as error:
            self.failure = error

    def commit(self) -> None:
        """Append a record; wait for the sync that covers it, or make it, with all records that wait."""
        with self._changed:
            os.pwrite(self._descriptor, RECORD, self._appended * len(RECORD))
            self._appended += 1
            mine = self._appended
            while self._syncing and self._durable < mine:
                self._changed.wait()
            if self.failure:
                raise self.failure  # a sync that failed once may succeed the next time, without the data
            if self._durable >= mine:
                return
            self._syncing, covered = True, self._appended
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            self.failure = error
        with self._changed:
            self._syncing = False
            if not self.failure:
                self._durable = covered
                self.syncs += 1
            self._changed.notify_all()
        if self.failure:
            raise self.failure


def group_commit(scratch: Scratch, allowance: Allowance, committers: int) -> tuple[GroupCommit, ...]:
    """Return the rate of so many committers; none if not one record was permitted. OSError where a write fails."""
    with scratch.file() as file:
        descriptor = os.dup(file)
        begun = perf_counter()
        log = CommitLog(descriptor, allowance, begun + allowance.limits.step_seconds)
        threads = [Thread(target=log.run, daemon=True) for _ in range(committers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = perf_counter() - begun
        os.close(descriptor)  # not after an exception: threads that still run never write to another file of its number
    if log.failure:
        raise log.failure
    if not log.seconds:
        return ()
    times, commits = latency_of(log.seconds), len(log.seconds)
    return (GroupCommit(committers=committers, commits=commits, syncs=log.syncs, seconds=seconds, commit=times),)
