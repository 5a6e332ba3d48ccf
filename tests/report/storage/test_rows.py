"""Words about a volume: options in force, the devices down to the disks, what a setting risks."""

from __future__ import annotations

from typing import Any

from ldapdiag.analysis.storage.options import Options
from ldapdiag.report.storage.rows import option_words, setting_words, stack_words

SAFE = {"effective": True, "window": "none", "loss": None, "why": None, "flushes_per_write": 2}


def test_options_are_those_in_force() -> None:
    known = Options(barrier=False, journal="ordered", atime="relatime", commit_seconds=5, lazytime=True)
    assert option_words(known) == ["nobarrier", "data=ordered", "relatime", "commit=5", "lazytime"]
    assert option_words(Options(barrier=True, journal="none")) == ["barrier", "no journal"]
    assert option_words(Options()) == []


def device(name: str, kind: str = "disk", **more: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "mapper_name": None, "backing_file": None} | more


def test_a_stack_is_read_from_the_file_system_down_to_the_disks() -> None:
    disks, raid = [device("sda"), device("sdb")], device("md0", "raid1")
    volume = device("dm-0", "lvm", mapper_name="vg-ldap")
    found = {"stack": [volume, raid, *disks], "disks": ["sda", "sdb"]}
    assert stack_words(found) == "vg-ldap (lvm) on md0 (raid1) on sda, sdb"
    loop = device("loop0", "loop", backing_file="/var/img")
    assert stack_words({"stack": [loop], "disks": []}) == "loop0 (loop of /var/img)"
    assert stack_words({"stack": [loop | {"type": None}], "disks": []}) == "loop0 (of /var/img)"
    assert stack_words({"stack": [], "disks": []}) == ""


def test_a_setting_says_what_it_risks() -> None:
    assert setting_words(SAFE, None) == "each change waits for the disk (2 flushes)"
    ineffective = "each change waits for the disk (2 flushes), but nobarrier makes the flush ineffective"
    assert setting_words(SAFE, "nobarrier") == ineffective
    lossy = SAFE | {"window": "unbounded", "loss": "A power cut loses all changes since the last flush."}
    assert setting_words(lossy, "nobarrier") == "A power cut loses all changes since the last flush"
    assert setting_words(SAFE | {"window": "unknown"}, "nobarrier") == "what a power cut loses is not known"
    without = lossy | {"effective": False, "why": "Version 2.3.1 ignores it."}
    assert setting_words(without, None) == "Version 2.3.1 ignores it"
