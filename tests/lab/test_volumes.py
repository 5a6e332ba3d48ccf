"""Volumes and the slow disk do what they say: flushes take their time, a power cut loses the rest, nothing stays."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab.host import Host, wait_for
from lab.volumes import IMAGES, FileSystem, mount, mount_slow

FLUSH_MILLISECONDS = 20
ORPHAN = """
import os, sys
from pathlib import Path
from lab.host import Host
from lab.volumes import FileSystem, mount, mount_slow
host = Host("orphan")
mount(host, FileSystem("ext4", over=FileSystem("ext4")), "/srv/orphan-below")
mount(host, FileSystem("ext4", in_zram=True), "/srv/orphan-zram")
mount_slow(host, Path(sys.argv[1]), FileSystem("ext4"), "/srv/orphan-slow", flush_milliseconds=20)
host.start(["sh", "-c", "while :; do date >> /srv/orphan-slow/busy; sync /srv/orphan-slow/busy; done"])
print(host.pid, *host.run("findmnt -rno SOURCE | grep -E '/dev/(loop|zram)'").split(), flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def host(laboratory):
    with Host("ldap") as running:
        yield running


@pytest.fixture
def slow(laboratory, host):
    """Return what mounts a file system on a slow disk at /srv/slow."""
    return lambda made: mount_slow(host, laboratory.slow_disk, made, "/srv/slow", flush_milliseconds=FLUSH_MILLISECONDS)


def append(host: Host, name: str, *, times: int) -> None:
    host.run(f"for i in $(seq {times}); do echo $i >> {name}; sync {name}; done")


def test_a_sync_takes_as_long_as_its_flushes(slow, host) -> None:
    volume = slow(FileSystem("ext4"))
    before, began = volume.disk.counts().flushes, time.monotonic()
    append(host, "/srv/slow/file", times=10)
    flushes = volume.disk.counts().flushes - before
    assert flushes >= 10
    assert time.monotonic() - began >= flushes * FLUSH_MILLISECONDS / 1000


def test_without_barriers_no_flush_is_sent(slow, host) -> None:
    volume = slow(FileSystem("ext4", defaults="nobarrier"))
    before = volume.disk.counts()
    append(host, "/srv/slow/file", times=10)
    after = volume.disk.counts()
    assert after.flushes == before.flushes
    assert after.writes > before.writes


@pytest.mark.parametrize("kind", ["ext4", "ext3", "xfs", "btrfs"])
def test_a_power_cut_loses_what_was_not_flushed_and_nothing_else(slow, host, kind) -> None:
    volume = slow(FileSystem(kind))
    host.run("echo kept > /srv/slow/kept; sync /srv/slow/kept; sync -f /srv/slow; echo gone > /srv/slow/gone")
    volume.disk.cut()
    assert host.attempt("dd if=/dev/zero of=/srv/slow/later bs=4k count=1 conv=fsync").returncode != 0
    volume.after_power_cut()
    assert host.run("cat /srv/slow/kept; ls /srv/slow | grep -cE 'gone|later' || :") == "kept\n0\n"


def test_settling_needs_no_barriers(slow, host) -> None:
    volume = slow(FileSystem("ext4", options="nobarrier"))
    host.run("echo kept > /srv/slow/kept")
    volume.settle()
    volume.disk.cut()
    volume.after_power_cut()
    assert host.run("cat /srv/slow/kept") == "kept\n"


def test_an_unmounted_volume_frees_its_loop_device(host) -> None:
    volume = mount(host, FileSystem("xfs"), "/srv/volume")
    image = Path("/sys/block", volume.device, "loop/backing_file")
    assert image.read_text() == f"{IMAGES}/srv-volume\n"
    volume.unmount()
    assert not image.exists() or "srv-volume" not in image.read_text()


def test_nothing_stays_when_the_test_is_killed(laboratory) -> None:
    made = subprocess.run(
        [sys.executable, "-c", ORPHAN, laboratory.slow_disk],
        cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False,
    )  # fmt: skip
    init, *devices = made.stdout.split()
    assert len(devices) == 4, made.stdout + made.stderr
    wait_for(lambda: not Path(f"/proc/{init}").exists(), "the host lives on")

    def left() -> list[str]:
        shown = subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout.splitlines()
        return [line for line in shown if line.split(":")[0] in devices and "orphan" in line]

    wait_for(lambda: not left(), "a loop device stays")
    (zram,) = [device for device in devices if "zram" in device]
    wait_for(lambda: not Path(zram).exists(), "a block device in memory stays")
    assert "/srv/orphan" not in Path("/proc/mounts").read_text()
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "orphan-slow" not in running


def test_a_device_that_another_program_takes_at_once_keeps_no_volume(laboratory, tmp_path) -> None:
    """It asks for the first free one, as mount does: that is the one that was just freed."""
    other = tmp_path / "other"
    with Host("ldap") as host, other.open("wb") as file:
        file.truncate(1 << 20)
        volume = mount(host, FileSystem("ext4"), "/srv/volume", megabytes=16)
        device = f"/dev/{volume.device}"
        taking = subprocess.Popen(["sh", "-c", f"until losetup {device} {other} 2>/dev/null; do :; done"])
        try:
            volume.unmount()
            assert taking.wait(20) == 0
            subprocess.run(["losetup", "-d", device], check=True)
        finally:
            taking.kill()
