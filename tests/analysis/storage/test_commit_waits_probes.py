"""A probe belongs to the volume that it measured: by host and device number, else by mount point."""

from __future__ import annotations

from dataclasses import replace

import facts
import storage_site
from ldapdiag.analysis.storage.commit_waits import probe_of
from ldapdiag.analysis.storage.options import Options
from ldapdiag.analysis.storage.volume import Volume

VOLUME = Volume(
    host="ldap",
    mount_point="/srv/ldap",
    source="/dev/mapper/vg-ldap",
    fs_type="ext4",
    paths=(),
    options=Options(),
    device="254:0",
)
PROBE = storage_site.probe()


def test_is_of_the_device_wherever_it_is_mounted() -> None:
    assert probe_of(VOLUME, [replace(PROBE, mount_point="/other")]) is not None
    assert probe_of(VOLUME, [replace(PROBE, device="8:1")]) is None


def test_without_a_device_number_is_of_the_mount_point() -> None:
    assert probe_of(replace(VOLUME, device=""), [PROBE]) is PROBE
    assert probe_of(replace(VOLUME, device=""), [replace(PROBE, mount_point="/")]) is None
    subvolume = replace(VOLUME, fs_type="btrfs", device="0:41")
    assert probe_of(subvolume, [replace(PROBE, device="0:42")]) is not None


def test_of_another_host_is_none() -> None:
    assert probe_of(VOLUME, [replace(PROBE, origin=facts.origin("app1"))]) is None


def test_of_several_is_the_latest() -> None:
    later = replace(PROBE, origin=replace(facts.origin(name="later.json"), taken=facts.at(60)))
    assert probe_of(VOLUME, [later, PROBE]) is later
