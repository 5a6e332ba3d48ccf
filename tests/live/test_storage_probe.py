"""The storage probe on real file systems: it agrees with fio, finds what the mount does, and leaves nothing behind."""

from __future__ import annotations

import json
import shlex
import sys
from statistics import median

import pytest

from lab.host import Host, wait_for
from lab.volumes import FileSystem, Volume, mount, mount_slow
from ldapdiag.evidence.storage.probe import FASTEST_DISK, StorageProbe, SyncCall, WriteKind
from reading import facts_of

FOLDER = "/var/lib/ldap"
FLUSH = 5
"""Milliseconds."""
FLUSH_BESIDE_FIO = 10
"""The same where times are compared: what a busy machine adds to each flush is a smaller part of it."""
BLOCKS = 60
PROBE = """
import sys
from pathlib import Path
from ldapdiag.evidence.storage import probe_file
from ldapdiag.sources.probe.limits import ProbeLimits
from ldapdiag.sources.probe.probing import run_probe
from ldapdiag.sources.progress import NoProgress

class Announced(NoProgress):
    def measuring(self, what):
        print(what, file=sys.stderr, flush=True)

limits = ProbeLimits(free_bytes=0, free_share=0, **eval(sys.argv[2]))
print(probe_file.as_text(run_probe(Path(sys.argv[1]), limits, Announced())))
"""
SYNCS_ALONE = {"committers": (), "small_files": 0, "blocks": BLOCKS, "seconds": 40}
SMALL_FILES_ALONE = {"committers": (), "blocks": 1, "small_files": 500, "seconds": 10}
QUICK = {"committers": (1, 5), "blocks": 5, "small_files": 50, "seconds": 12}


@pytest.fixture
def host(laboratory):
    with Host("ldap") as running:
        yield running


def probe_command(limits, folder: str = FOLDER) -> list[str]:
    return [sys.executable, "-c", PROBE, folder, repr(limits)]


def probed(host: Host, limits) -> StorageProbe:
    (probe,) = facts_of(host.run(probe_command(limits)))
    assert host.run(["ls", "-A", FOLDER]).replace("lost+found\n", "") == ""
    return probe


def fio(host: Host, write: WriteKind, call: SyncCall) -> float:
    """Return the median seconds of the same syncs by fio, whose file grows, or is laid out before."""
    laid_out = "--fallocate=none" if write is WriteKind.APPEND else "--fallocate=none --overwrite=1"
    report = host.run(
        f"fio --name=x --directory={FOLDER} --ioengine=psync --rw=write --bs=4096 --size={BLOCKS * 4096} {laid_out} "
        f"--{call}=1 --unlink=1 --output-format=json"
    )
    job = json.loads(report[report.index("{") :])["jobs"][0]
    return job["sync"]["lat_ns"]["percentile"]["50.000000"] / 1e9


@pytest.mark.parametrize("made", ["ext4", "xfs"])
def test_the_median_of_three_runs_is_that_of_fio_within_a_fifth(host: Host, laboratory, made: str) -> None:
    mount_slow(host, laboratory.slow_disk, FileSystem(made), FOLDER, flush_milliseconds=FLUSH_BESIDE_FIO)
    kinds = [(write, call) for write in WriteKind for call in SyncCall]
    ours, theirs = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}
    for _ in range(3):
        probe = probed(host, SYNCS_ALONE)
        for kind in kinds:
            ours[kind].append(probe.latency(*kind).sync.p50_seconds)
            theirs[kind].append(fio(host, *kind))
    ratios = {kind: median(ours[kind]) / median(theirs[kind]) for kind in kinds}
    assert all(one > FLUSH_BESIDE_FIO / 1000 for each in theirs.values() for one in each)
    assert {kind: ratio for kind, ratio in ratios.items() if not 0.8 <= ratio <= 1.2} == {}


def test_an_append_costs_two_flushes_an_overwrite_one_and_committers_share_them(host: Host, laboratory) -> None:
    disk = mount_slow(host, laboratory.slow_disk, FileSystem("ext4"), FOLDER, flush_milliseconds=3 * FLUSH).disk
    before = disk.counts().flushes
    probe = probed(host, {"blocks": 20, "small_files": 0, "committers": (1, 40), "seconds": 30})
    flush = 3 * FLUSH / 1000
    assert flush <= probe.latency(WriteKind.OVERWRITE, SyncCall.FDATASYNC).sync.p50_seconds < 1.6 * flush
    assert 1.8 * flush <= probe.latency(WriteKind.APPEND, SyncCall.FDATASYNC).sync.p50_seconds < 3 * flush
    alone, many = probe.commits
    assert alone.commits == alone.syncs
    assert alone.seconds > alone.commits * flush
    assert many.commits / many.seconds > 10 * alone.commits / alone.seconds
    assert disk.counts().flushes - before > sum(one.count for one in probe.syncs) + alone.syncs + many.syncs
    assert all(one.sync.p50_seconds > FASTEST_DISK for one in probe.syncs)


def test_without_barriers_no_sync_waits_for_the_disk(host: Host, laboratory) -> None:
    made = FileSystem("ext4", options="nobarrier")
    mount_slow(host, laboratory.slow_disk, made, FOLDER, flush_milliseconds=100 * FLUSH)
    probe = probed(host, QUICK)
    assert max(one.sync.p50_seconds for one in probe.syncs) < 10 * FLUSH / 1000


@pytest.mark.parametrize("made", ["ext4", "xfs"])
@pytest.mark.parametrize(
    ("options", "first", "again"), [("strictatime", True, True), ("", True, False), ("noatime", False, False)]
)
def test_what_reads_change_is_the_option_of_the_mount(host: Host, made: str, options: str, first, again) -> None:
    mount(host, FileSystem(made, options=options), FOLDER)
    access = probed(host, SMALL_FILES_ALONE).access_times
    assert (access.first_updated, access.again_updated) == (first * access.files, again * access.files)


@pytest.mark.parametrize("made", ["ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "overlay", "bind"])
def test_every_file_system_is_measured_and_named(host: Host, made: str) -> None:
    mount(host, FileSystem(made), FOLDER)
    probe = probed(
        host, QUICK | ({"seconds": 3} if made == "tmpfs" else {})
    )  # whose commits are as many as there is time
    assert probe.stopped_because == ""
    assert (len(probe.syncs), len(probe.commits), len(probe.files)) == (8, 2, 3)
    assert probe.mount_point == FOLDER
    assert probe.fs_type == {"bind": "ext4"}.get(made, made)


def free_blocks(volume: Volume) -> int:
    volume.settle()
    return int(volume.host.run(["stat", "-f", "-c", "%f", FOLDER]))


@pytest.mark.parametrize("made", ["ext4", "xfs"])
@pytest.mark.parametrize("step", ["overwrite 16 KiB, fsync", "small files"])
def test_after_kill_9_nothing_remains_and_the_blocks_are_free_again(
    host: Host, laboratory, made: str, step: str
) -> None:
    volume = mount_slow(host, laboratory.slow_disk, FileSystem(made), FOLDER, flush_milliseconds=FLUSH)
    probed(host, QUICK)  # the folder has had its names, and the journal its blocks
    before = free_blocks(volume)
    limits = {"seconds": 60, "blocks": 300 if step != "small files" else 1, "committers": (), "small_files": 200_000}
    process = host.start(["sh", "-c", f"exec {shlex.join(probe_command(limits))} 2>/run/steps"])
    wait_for(lambda: f"{step}\n" in host.attempt(["cat", "/run/steps"]).stdout, f"it never began: {step}")
    wait_for(lambda: free_blocks(volume) < before - 500, "the probe takes no space")
    host.run(["kill", "-KILL", *host.run(["pgrep", "-f", "run_probe"]).split()[:1]])
    process.wait(20)
    wait_for(lambda: host.run(["ls", "-A", FOLDER]) in {"", "lost+found\n"}, "the scratch folder remains")
    wait_for(lambda: free_blocks(volume) >= before, f"{before} blocks were free, then {free_blocks(volume)}")


def test_a_disk_that_fails_meanwhile_is_the_reason_why_it_ended(host: Host, laboratory) -> None:
    disk = mount_slow(host, laboratory.slow_disk, FileSystem("ext4"), FOLDER, flush_milliseconds=FLUSH).disk
    process = host.start(["sh", "-c", f"{shlex.join(probe_command(SYNCS_ALONE))} >/run/probe 2>/run/steps"])
    wait_for(lambda: "fdatasync" in host.attempt(["cat", "/run/steps"]).stdout, "it never began")
    disk.cut()
    process.wait(60)
    (probe,) = facts_of(host.run(["cat", "/run/probe"]))
    assert "failed: Input/output error" in probe.stopped_because
    assert len(probe.syncs) < 8


def test_a_volume_that_is_mounted_read_only_is_refused(host: Host) -> None:
    mount(host, FileSystem("ext4"), FOLDER)
    host.run(["mount", "-o", "remount,ro", FOLDER])
    refused = host.attempt(probe_command(QUICK))
    reason = "read-only file system; name a directory on a file system that is mounted for writing"
    assert f"cannot probe {FOLDER}: {reason}" in refused.stderr
