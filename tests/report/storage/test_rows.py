"""Words about a volume: options in force, the devices down to the disks, what a setting risks."""

from __future__ import annotations

from dataclasses import replace

from ldapdiag.analysis.storage.options import Options
from ldapdiag.evidence.storage import BlockDevice
from ldapdiag.report.storage.rows import durability_words, option_words, stack_words
from ldapdiag.servers.volumes.storage_rules import Durability, Window

SAFE = Durability(
    backend="{1}mdb",
    setting="olcDbNoSync",
    value="FALSE",
    is_default=True,
    window=Window.NONE,
    loss="",
    corrupts=False,
    survives_kill=True,
    flushes_per_write=2,
    tested=True,
)


def test_options_are_those_in_force() -> None:
    known = Options(barrier=False, journal="ordered", atime="relatime", commit_seconds=5, lazytime=True)
    assert option_words(known) == ["nobarrier", "data=ordered", "relatime", "commit=5", "lazytime"]
    assert option_words(Options(barrier=True, journal="none")) == ["barrier", "no journal"]
    assert option_words(Options()) == []


def test_a_stack_is_read_from_the_file_system_down_to_the_disks() -> None:
    disks = tuple(BlockDevice(name=name, type="disk") for name in ("sda", "sdb"))
    raid = BlockDevice(name="md0", type="raid1", parents=("sda", "sdb"))
    volume = BlockDevice(name="dm-0", type="lvm", mapper_name="vg-ldap", parents=("md0",))
    assert stack_words((volume, raid, *disks), disks) == "vg-ldap (lvm) on md0 (raid1) on sda, sdb"
    loop = BlockDevice(name="loop0", type="loop", backing_file="/var/img")
    assert stack_words((loop,), ()) == "loop0 (loop of /var/img)"
    assert stack_words((), ()) == ""


def test_a_setting_says_what_it_risks() -> None:
    assert durability_words(SAFE) == "each change waits for the disk (2 flushes)"
    lossy = replace(SAFE, window=Window.UNBOUNDED, loss="A power cut loses all changes since the last flush.")
    assert durability_words(lossy) == "A power cut loses all changes since the last flush"
    assert durability_words(replace(SAFE, window=Window.UNKNOWN)) == "what a power cut loses is not known"
    assert (
        durability_words(replace(lossy, effective=False, why="Version 2.3.1 ignores it.")) == "Version 2.3.1 ignores it"
    )
