"""commit-bound-writes: logs of servers on slow disks and on none; a probe, threads, and what proves nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
import storage_facts as disk
from conftest import CAPTURES
from ldapdiag.analysis.storage.commit_waits import CommitWaits, commit_waits
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.operation_kinds import MODIFY
from ldapdiag.evidence.storage.probe import Latency, StorageProbe, SyncCall, SyncLatency, WriteKind
from ldapdiag.evidence.threads import ProcessThreads, Samples
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.servers.volumes.storage_rules import Durability, Window
from ldapdiag_checks.commit_bound_writes import judge
from traffic import Log, verdicts_on

ENTRY = b"uid=joe,ou=people,dc=example"
VARIED = (0.002, 0.02, 0.005, 0.04, 0.011, 0.09)
"""Seconds, as locks and plug-ins make them."""


def written(count: int = 100, took: float | tuple[float, ...] = 0.022, *, writers: int = 1, pause: float = 0.0) -> Log:
    """Return a log of writers that send at once, and are served one by one, again and again."""
    log, times = Log(), took if isinstance(took, tuple) else (took,)
    number, op = log.opens(), 0
    log.binds(number)
    for place in range(count // writers):
        end = begun = log.now
        for one in range(writers):
            op += 1
            end += times[(place * writers + one) % len(times)]
            log.operates(number, op, MODIFY, ENTRY, took=end - begun, apart=0)
        log.now = end + pause
    log.closes(number)
    return log


def probe(sync: float, *, device: str = "254:0") -> StorageProbe:
    """Return a probe of the database's volume."""
    same = Latency(p10_seconds=sync, p50_seconds=sync, p90_seconds=sync, p99_seconds=sync, worst_seconds=sync)
    overwrite = SyncLatency(
        write=WriteKind.OVERWRITE, call=SyncCall.FDATASYNC, block_bytes=4096, count=100, sync=same, written=same
    )
    return StorageProbe(
        origin=facts.origin(name="storage-probe.json"), directory=disk.DATABASE, mount_point="/var/lib/dirsrv",
        fs_type="ext4", device=device, written_bytes=1, syncs=(overwrite,), commits=(), files=(), access_times=None,
        stopped_because="",
    )  # fmt: skip


def threads(**seen: int) -> ProcessThreads:
    """Return a reading with 40 looks at the server's threads."""
    return ProcessThreads(
        origin=facts.origin(name="threads-29-1.txt"), pid=29, program="ns-slapd", state="S", ticks=0,
        uptime_seconds=1.0, threads=(), samples=Samples(looks=40, seen=tuple(sorted(seen.items()))),
    )  # fmt: skip


def durability(flushes: int | None) -> Durability:
    return Durability(
        backend="", setting="nsslapd-db-durable-transaction", value="on", is_default=True, window=Window.NONE, loss="",
        corrupts=False, survives_kill=True, flushes_per_write=flushes, tested=True,
    )  # fmt: skip


def joined(log: Log, *given: Any, flushes: int | None = 1, family: Family = Family.DS389) -> CommitWaits | Missing:
    storage = replace(disk.joined(*disk.SAFE), durability=(durability(flushes),))
    return commit_waits(
        facts.server(),
        log.traffic(family),
        tuple(one for one in given if isinstance(one, ProcessThreads)),
        tuple(one for one in given if isinstance(one, StorageProbe)),
        storage,
    )


def verdict(log: Log, *given: Any, flushes: int | None = 1) -> Verdict:
    waits = joined(log, *given, flushes=flushes)
    assert isinstance(waits, CommitWaits)
    (one,) = judge(waits, facts.server())
    return one


class TestACapturedLog:
    """Nothing but the log: what is found is possible, and a fast disk or a busy processor is none."""

    @pytest.mark.parametrize(
        ("log", "each"),
        [
            ("389-flush-20-ms-1-writer", 0.0222),
            ("389-flush-20-ms-10-writers", 0.0222),
            ("389-flush-20-ms-5-writers-with-pauses", 0.0214),
            ("slapd-flush-20-ms-1-writer", 0.0427),
            ("slapd-flush-20-ms-10-writers", 0.0430),
            ("slapd-flush-20-ms-5-writers-with-pauses", 0.0410),
        ],
    )
    def test_of_a_slow_disk_shows_its_flushes_whatever_the_number_of_writers(self, log: str, each: float) -> None:
        (found,) = verdicts_on(CAPTURES / "write-times" / f"{log}.log.gz", "commit-bound-writes")
        assert isinstance(found, Finding)
        assert found.confidence is Confidence.POSSIBLE
        assert found.observed["p50_seconds"] == pytest.approx(each, rel=0.04)
        assert found.observed["shown_by"] == []
        assert "consistent with a wait for the disk and no proof of it" in found.detail
        assert "seem to wait for the disk" in found.title

    @pytest.mark.parametrize(
        "log",
        [
            "389-flush-20-ms-not-durable-10-writers",
            "389-ram-10-writers",
            "389-ram-memberof",
            "slapd-flush-20-ms-not-durable-10-writers",
            "slapd-ram-10-writers",
            "slapd-ram-group-of-20000",
        ],
    )
    def test_of_any_other_cause_is_no_finding(self, log: str) -> None:
        (one,) = verdicts_on(CAPTURES / "write-times" / f"{log}.log.gz", "commit-bound-writes")
        assert isinstance(one, Clear | NotJudged)

    def test_of_a_server_in_memory_has_nothing_to_gain(self) -> None:
        (clear,) = verdicts_on(CAPTURES / "write-times" / "389-ram-10-writers.log.gz", "commit-bound-writes")
        assert isinstance(clear, Clear)
        assert "nothing to gain from a faster disk" in clear.reason


class TestAProof:
    def test_is_a_probe_whose_sync_agrees(self) -> None:
        found = verdict(written(), probe(0.0205))
        assert isinstance(found, Finding)
        assert (found.confidence, found.severity) == (Confidence.CERTAIN, Severity.MEDIUM)
        assert found.observed["shown_by"] == ["probe"]
        assert "measured 20.5 ms for the sync of an overwrite, and a write waits for 1." in found.detail
        assert "no proof" not in found.detail

    def test_is_a_probe_of_half_the_time_where_a_write_waits_twice(self) -> None:
        assert getattr(verdict(written(took=0.042), probe(0.0205), flushes=2), "confidence", None) is Confidence.CERTAIN
        assert isinstance(verdict(written(took=0.042, pause=0.1), probe(0.0205), flushes=1), Clear)

    def test_is_a_thread_in_a_sync_in_most_looks(self) -> None:
        found = verdict(written(took=VARIED), threads(fdatasync=20, futex=40))
        assert isinstance(found, Finding)
        assert found.confidence is Confidence.CERTAIN
        assert found.observed["shown_by"] == ["threads"]
        assert "In 20 of 40 looks at its threads, one waited in" in found.detail

    def test_is_not_a_thread_in_a_sync_in_fewer_looks(self) -> None:
        assert isinstance(verdict(written(took=VARIED), threads(fdatasync=19, futex=40)), NotJudged)

    def test_is_no_probe_of_another_volume(self) -> None:
        found = verdict(written(), probe(0.0205, device="8:1"))
        assert isinstance(found, Finding)
        assert found.confidence is Confidence.POSSIBLE
        assert found.observed["sync_seconds"] is None

    def test_is_no_probe_while_the_number_of_flushes_is_unknown(self) -> None:
        assert getattr(verdict(written(), probe(0.0205), flushes=None), "confidence", None) is Confidence.POSSIBLE


class TestOtherwise:
    def test_a_probe_that_is_much_faster_excludes_the_disk(self) -> None:
        clear = verdict(written(), probe(0.005))
        assert isinstance(clear, Clear)
        assert "A write takes much longer than the disk needs." in clear.reason

    def test_threads_at_work_silence_the_log(self) -> None:
        one = verdict(written(), threads(running=38, fdatasync=2))
        assert isinstance(one, NotJudged)
        assert one.missing == ("storage-probe",)

    def test_times_that_differ_are_not_judged(self) -> None:
        one = verdict(written(took=VARIED))
        assert isinstance(one, NotJudged)
        assert one.missing == ("storage-probe", "process-threads")

    @pytest.mark.parametrize(("took", "kind"), [(0.24, Finding), (0.27, NotJudged)])
    def test_no_sync_takes_a_quarter_of_a_second_again_and_again(self, took: float, kind: type[Verdict]) -> None:
        assert isinstance(verdict(written(took=took)), kind)
        assert isinstance(verdict(written(took=took), threads(fdatasync=40)), Finding)

    def test_a_server_that_does_not_wait_is_clear(self) -> None:
        assert isinstance(verdict(written(), flushes=0), Clear)

    def test_slow_searches_are_no_wait_for_the_disk(self) -> None:
        log = written()
        number = log.opens()
        for op in range(30):
            log.searches(number, op, took=0.02)
        assert isinstance(verdict(log), NotJudged)

    def test_members_of_groups_are_no_wait_for_the_disk(self) -> None:
        log = written()
        log.scan.segment.modified.count(b"member", 60)
        log.scan.segment.modified.count(b"description", 40)
        assert isinstance(verdict(log), NotJudged)

    def test_the_severity_is_that_of_the_load(self) -> None:
        assert getattr(verdict(written(writers=10)), "severity", None) is Severity.MEDIUM
        found = verdict(written(3000, pause=0.2))
        assert isinstance(found, Finding)
        assert found.severity is Severity.LOW
        assert "a client seldom waits for the writes of others" in found.detail

    @pytest.mark.parametrize(("took", "kind"), [(0.0045, Clear), (0.006, Finding)])
    def test_below_5_ms_only_a_saturated_server_is_found(self, took: float, kind: type[Verdict]) -> None:
        assert isinstance(verdict(written(2000, took, pause=0.1)), kind)
        assert isinstance(verdict(written(20_000, took)), Finding)

    def test_a_few_writes_show_nothing(self) -> None:
        assert isinstance(joined(written(20)), Missing)
        assert isinstance(joined(written(21)), CommitWaits)

    def test_a_server_with_several_writers_is_not_judged(self) -> None:
        assert isinstance(joined(written(), family=Family.OPENDJ), Missing)

    def test_stamps_of_whole_seconds_show_nothing(self) -> None:
        log = written()
        log.scan.segment.resolution = 10**9
        assert isinstance(joined(log), Missing)
