"""Group commit: a commit returns only when a sync that began after its record has ended, and one sync serves many."""

from __future__ import annotations

import errno
import os
import threading
import time
from pathlib import Path
from threading import Event

import pytest

from ldapdiag.sources.probe.limits import Allowance, ProbeLimits
from ldapdiag.sources.probe.probing import RECORD, CommitLog, group_commit
from ldapdiag.sources.probe.removal import FOLDER
from ldapdiag.sources.probe.scratch import Scratch

LIMITS = ProbeLimits(seconds=9, committers=(), free_bytes=0)


class Disk:
    """A disk whose sync takes a while, and makes durable what was written before it began."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float = 0.002) -> None:
        self.written = self.durable = 0
        self.seconds = seconds
        self.mine = threading.local()
        monkeypatch.setattr(os, "pwrite", self.pwrite)
        monkeypatch.setattr(os, "fdatasync", self.fdatasync)

    def pwrite(self, _: int, data: bytes, place: int) -> None:
        assert place == self.written, "records lie one behind the other"
        self.written = self.mine.end = place + len(data)

    def fdatasync(self, _: int) -> None:
        covered = self.written
        time.sleep(self.seconds)
        self.durable = covered


def test_a_commit_returns_when_its_record_is_durable(monkeypatch: pytest.MonkeyPatch) -> None:
    disk, lost = Disk(monkeypatch), []

    class Checked(CommitLog):
        def commit(self) -> None:
            super().commit()
            lost.append(disk.durable < disk.mine.end)

    log = Checked(0, Allowance(LIMITS, Event()), time.perf_counter() + 0.5)
    threads = [threading.Thread(target=log.run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lost) == len(log.seconds) == disk.written / len(RECORD)
    assert not any(lost)
    assert len(lost) > 2 * log.syncs, "one sync serves several commits"


def test_no_commit_succeeds_after_a_sync_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    syncs = []

    def fail_once(descriptor: int) -> None:
        syncs.append(descriptor)
        if len(syncs) == 3:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        disk.fdatasync(descriptor)

    monkeypatch.setattr(os, "fdatasync", fail_once)
    parent = os.open(tmp_path, FOLDER)
    with pytest.raises(OSError, match="Input/output error"):
        group_commit(Scratch(parent), Allowance(LIMITS, Event()), 4)
    os.close(parent)
    assert len(syncs) == 3
