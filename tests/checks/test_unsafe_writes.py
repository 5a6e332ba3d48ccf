"""unsafe-writes: each weakness of a volume, each window of a setting, and what is no proof of safety."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

import facts
import storage_facts as disk
from ldapdiag.analysis.storage.server_storage import ServerStorage
from ldapdiag.evidence.storage import BlockDevice
from ldapdiag.evidence.storage.settings import Role
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import RemedyKind
from ldapdiag.servers.volumes.storage_rules import Durability, Window
from ldapdiag_checks.unsafe_writes import judge

VOLUME = "/var/lib/dirsrv of ldap"
OF_OTHERS = ["df and options of an unknown one", "ext3 of an unknown driver"]


def durability(window: Window = Window.NONE, **traits: Any) -> Durability:
    known = {
        "backend": "userRoot",
        "setting": "dbnosync",
        "value": "TRUE",
        "is_default": False,
        "loss": "" if window is Window.NONE else "A power cut loses them.",
        "corrupts": False,
        "survives_kill": True,
        "flushes_per_write": 2,
        "tested": True,
    }
    return Durability(window=window, **known | traits)


def verdicts(*given: Any, **traits: Any) -> dict[str, Verdict]:
    server = traits.pop("server", facts.server())
    storage = disk.joined(*given, **traits)
    return {str(one.subject): one for one in judge(storage, server)}


def of_volume(*given: Any) -> Verdict:
    return verdicts(*given)[VOLUME]


def found(*given: Any) -> Finding:
    verdict = of_volume(*given)
    assert isinstance(verdict, Finding), verdict
    return verdict


def test_a_volume_with_barriers_above_flushed_disks_is_clear() -> None:
    verdict = of_volume(*disk.SAFE)
    assert isinstance(verdict, Clear)
    assert verdict.reason == (
        "/var/lib/dirsrv (ext4 on /dev/mapper/vg-ldap) uses write barriers, data=ordered, and the kernel flushes the "
        "cache of sda, sdb"
    )


class TestAVolume:
    @pytest.mark.parametrize(
        ("given", "name", "severity"),
        [
            ([disk.table(disk.mount("ext4", "nobarrier"))], "no-barriers", Severity.HIGH),
            ([disk.table(disk.mount("ext3", "barrier=0"))], "no-barriers", Severity.HIGH),
            ([disk.table(disk.mount("btrfs", "nobarrier", device="0:42"))], "no-barriers", Severity.HIGH),
            ([disk.table(disk.mount("ext4", "data=writeback"))], "writeback-journal", Severity.LOW),
            ([disk.table(disk.mount("ext4", "journal_async_commit"))], "async-commit", Severity.MEDIUM),
            ([disk.table(disk.mount("ext2"))], "no-journal", Severity.MEDIUM),
            ([disk.table(disk.mount()), disk.superblock(features=["dir_index"])], "no-journal", Severity.MEDIUM),
            ([disk.table(disk.mount("tmpfs", source="tmpfs", device="0:40"))], "in-memory", Severity.CRITICAL),
            (
                [disk.table(disk.mount("overlay", "fsync=volatile", source="overlay", device="0:40"))],
                "overlay-volatile",
                Severity.CRITICAL,
            ),
            (
                [disk.table(disk.mount("zfs", source="tank/ldap", device="0:40")), disk.zfs(sync="disabled")],
                "sync-disabled",
                Severity.HIGH,
            ),
        ],
        ids=["ext4", "ext3", "btrfs", "writeback", "async", "ext2", "ext4 as ext2", "tmpfs", "overlay", "zfs"],
    )
    def test_is_weak_by_its_mount(self, given, name, severity) -> None:
        one = found(*given, disk.devices())
        assert (one.observed["weaknesses"], one.severity, one.confidence) == ([name], severity, Confidence.CERTAIN)
        assert one.remedies
        assert all(cure.undo.startswith("# ") for cure in one.remedies if cure.kind is RemedyKind.SHELL), "no command"

    def test_is_weak_by_defaults_that_its_mount_does_not_show(self) -> None:
        for source in (disk.in_force("nobarrier"), disk.superblock("nobarrier", "user_xattr")):
            one = found(disk.table(disk.mount()), disk.devices(), source)
            assert (one.observed["weaknesses"], one.observed["hidden"]) == (["no-barriers"], ["nobarrier"])
            assert "tune2fs -o ^nobarrier /dev/mapper/vg-ldap" in one.remedies[0].text

    @pytest.mark.parametrize(
        ("printed", "in_force"), [("nobarrier", ""), ("barrier=1", "nobarrier")], ids=["mount", "options in force"]
    )
    def test_is_weak_if_one_of_two_sources_that_contradict_each_other_shows_it(self, printed, in_force) -> None:
        one = found(disk.table(disk.mount("ext4", printed)), disk.devices(), disk.in_force(in_force))
        assert (one.observed["weaknesses"], one.confidence) == (["no-barriers"], Confidence.LIKELY)
        assert "one of them is out of date" in one.detail

    def test_of_a_container_is_not_remounted_by_its_path_on_the_host(self) -> None:
        root = disk.mount("overlay", mount_point="/", source="overlay", device="0:50")
        one = found(disk.table(root, disk.mount("ext4", "nobarrier")), disk.devices())
        (cure,) = one.remedies
        assert cure.kind is RemedyKind.ADVICE
        assert "find where it is mounted (findmnt /dev/mapper/vg-ldap)" in cure.text
        assert "mount -o remount,barrier=1 MOUNT_POINT" in cure.text

    def test_names_the_worst_weakness_first(self) -> None:
        one = found(disk.table(disk.mount("ext4", "data=writeback", "nobarrier")), disk.devices())
        assert one.observed["weaknesses"] == ["no-barriers", "writeback-journal"]
        assert one.severity is Severity.HIGH
        assert len(one.remedies) == 2

    def test_is_weak_in_memory_below_a_device(self) -> None:
        zram = BlockDevice(name="zram1", number="253:1", type="disk", write_cache="write through")
        mount = disk.mount("ext4", source="/dev/zram1", device="253:1")
        assert found(disk.table(mount), disk.devices(zram)).observed["weaknesses"] == ["in-memory"]

    def test_loses_nothing_without_barriers_where_no_disk_has_a_cache(self) -> None:
        disks = [replace(one, write_cache="write through" if one.write_cache else "") for one in disk.DISKS]
        one = found(disk.table(disk.mount("ext4", "nobarrier")), disk.devices(*disks))
        assert one.severity is Severity.LOW
        assert "it gains nothing" in one.detail

    def test_is_weak_where_a_device_above_a_cache_passes_no_flush_on(self) -> None:
        stopped = replace(disk.DISKS[3], write_cache="write through")
        one = found(disk.table(disk.mount()), disk.devices(stopped), disk.in_force())
        assert (one.observed["weaknesses"], one.severity) == (["flushes-stopped"], Severity.HIGH)
        assert "echo 'write back' > /sys/block/dm-0/queue/write_cache" in one.remedies[0].text

    def test_is_weak_on_a_loop_device_whose_flushes_were_turned_off(self) -> None:
        loop = BlockDevice(
            name="loop0", number="7:0", type="loop", write_cache="write through", backing_file="/var/img/db"
        )
        mount = disk.mount("ext4", source="/dev/loop0", device="7:0")
        one = found(disk.table(mount), disk.devices(loop), disk.in_force(device="loop0"))
        assert (one.observed["weaknesses"], one.confidence) == (["flushes-stopped"], Confidence.LIKELY)

    def test_has_the_weakness_of_the_file_system_below_its_loop_device(self) -> None:
        loop = BlockDevice(name="loop0", number="7:0", type="loop", write_cache="write back", backing_file="/img/db")
        mounts = disk.table(
            disk.mount("ext4", source="/dev/loop0", device="7:0"),
            disk.mount("ext4", "nobarrier", mount_point="/img"),
        )
        one = found(mounts, disk.devices(loop), disk.in_force(device="loop0"))
        assert one.observed["weaknesses"] == ["no-barriers"]
        assert "remount,barrier=1 /img" in one.remedies[0].text
        own, below = "/var/lib/dirsrv (ext4 on /dev/loop0)", "/img (ext4 on /dev/mapper/vg-ldap)"
        assert one.title.endswith(f": nobarrier on {below}, below {own}"), "the volume that the remedy changes"

    def test_names_its_own_weaknesses_before_those_below_it(self) -> None:
        loop = BlockDevice(name="loop0", number="7:0", type="loop", write_cache="write back", backing_file="/img/db")
        mounts = disk.table(
            disk.mount("ext4", "data=writeback", source="/dev/loop0", device="7:0"),
            disk.mount("ext4", "nobarrier", mount_point="/img"),
        )
        one = found(mounts, disk.devices(loop))
        assert one.title.endswith(
            ": data=writeback on /var/lib/dirsrv (ext4 on /dev/loop0), "
            "above nobarrier on /img (ext4 on /dev/mapper/vg-ldap)"
        )

    def test_of_the_access_log_alone_is_not_judged_at_all(self) -> None:
        places = ((Role.DATABASE, disk.DATABASE), (Role.ACCESS_LOG, "/var/log/ldap"))
        mounts = disk.table(disk.mount(), disk.mount("tmpfs", source="tmpfs", device="0:41", mount_point="/var/log"))
        assert set(verdicts(*disk.SAFE[1:], mounts, disk.settings(*places))) == {VOLUME, "settings of ldap"}


class TestIsNotJudged:
    @pytest.mark.parametrize(
        ("given", "missing"),
        [
            ([disk.table(disk.mount()), disk.devices()], ("ext4-options",)),
            ([disk.table(disk.mount()), disk.in_force()], ("block-devices",)),
            ([disk.table(disk.mount()), disk.in_force(device="sdz9"), disk.devices()], ("ext4-options",)),
            ([disk.table(disk.mount("xfs"))], ("block-devices",)),
            ([disk.table(disk.mount("nfs4", "hard", source="nas:/export", device="0:25"))], ()),
            ([disk.space(), disk.devices()], ("ext4-options",)),
            ([disk.space(), disk.in_force(device=""), disk.devices()], ("ext4-options",)),
            ([disk.table(disk.mount("ext3")), disk.superblock(), disk.devices()], ("ext4-options",)),
        ],
        ids=["mount alone", "no devices", "options of another", "xfs alone", "nfs", "df alone", *OF_OTHERS],
    )
    def test_without_a_source_that_proves_it(self, given, missing) -> None:
        (verdict,) = (one for subject, one in verdicts(*given).items() if subject == VOLUME)
        assert isinstance(verdict, NotJudged)
        assert verdict.how
        assert verdict.missing == missing

    @pytest.mark.parametrize("name", ["dm-0", "md0", "md_d0", "md127", "bcache0"])
    def test_above_a_device_whose_disks_are_not_in_the_evidence(self, name) -> None:
        device = BlockDevice(name=name, number="254:0", write_cache="write back")
        mount = disk.mount("xfs", source=f"/dev/{name}")
        verdict = of_volume(disk.table(mount), disk.devices(device, among=()))
        assert isinstance(verdict, NotJudged)
        assert f"the evidence does not show on which disk {name} is" in verdict.reason

    def test_above_disks_that_receive_no_flush(self) -> None:
        disks = [replace(one, write_cache="write through" if one.write_cache else "") for one in disk.DISKS]
        verdict = of_volume(disk.table(disk.mount()), disk.devices(*disks), disk.in_force())
        assert isinstance(verdict, NotJudged)
        assert "the kernel sends no flush to sda, sdb" in verdict.reason

    def test_on_btrfs_which_may_have_disks_that_no_mount_table_shows(self) -> None:
        verdict = of_volume(disk.table(disk.mount("btrfs", device="0:42")), disk.devices())
        assert isinstance(verdict, NotJudged)
        assert "btrfs may have further devices, which no mount table shows" in verdict.reason
        assert "btrfs filesystem show" in verdict.how

    def test_where_the_volume_of_the_database_is_unknown(self) -> None:
        (unplaced, *_) = verdicts(disk.devices()).values()
        assert isinstance(unplaced, NotJudged)
        assert "the mounts of ldap are not in the evidence" in unplaced.reason

    def test_without_the_settings_of_the_server(self) -> None:
        (verdict,) = judge(ServerStorage(server="ldap", host="ldap"), facts.server())
        assert isinstance(verdict, NotJudged)
        assert verdict.missing == ("storage-settings",)


class TestASetting:
    @pytest.mark.parametrize(
        ("traits", "severity", "loses"),
        [
            ({"window": Window.LAST}, Severity.LOW, "at most the last change"),
            ({"window": Window.SECONDS}, Severity.HIGH, "up to about 30 s of acknowledged changes"),
            ({"window": Window.SECONDS, "window_seconds": 60}, Severity.HIGH, "up to about 60 s"),
            ({"window": Window.UNBOUNDED}, Severity.HIGH, "all acknowledged changes since the last flush"),
            ({"window": Window.UNBOUNDED, "corrupts": True}, Severity.HIGH, "all acknowledged changes"),
            ({"window": Window.SECONDS, "is_default": True}, Severity.MEDIUM, "30 s"),
        ],
    )
    def test_is_as_bad_as_its_window(self, traits, severity, loses) -> None:
        one = verdicts(*disk.SAFE, durability=(durability(**traits),))["userRoot of ldap"]
        assert isinstance(one, Finding)
        assert one.severity is severity
        assert loses in one.title
        assert one.observed["may_damage"] is bool(traits.get("corrupts"))

    def test_is_clear_if_the_server_waits(self) -> None:
        off = durability(setting="batch-val", effective=False, why="Batching has no effect.")
        one = verdicts(*disk.SAFE, durability=(durability(value="FALSE", is_default=True), off))["userRoot of ldap"]
        assert isinstance(one, Clear)
        assert one.reason == (
            "the server waits for the disk with each change (dbnosync: FALSE (default)). Batching has no effect."
        )

    def test_is_clear_with_the_reason_why_an_unsafe_value_has_no_effect(self) -> None:
        ignored = durability(value="TRUE", effective=False, why="This version ignores it.")
        one = verdicts(*disk.SAFE, durability=(ignored,))["userRoot of ldap"]
        assert isinstance(one, Clear)
        assert one.reason.endswith("(dbnosync: TRUE). This version ignores it.")

    def test_of_unknown_effect_is_not_judged(self) -> None:
        one = verdicts(*disk.SAFE, durability=(durability(Window.UNKNOWN, value=""),))["userRoot of ldap"]
        assert isinstance(one, NotJudged)

    def test_that_was_not_measured_is_likely(self) -> None:
        one = verdicts(*disk.SAFE, durability=(durability(Window.UNBOUNDED, tested=False),))["userRoot of ldap"]
        assert isinstance(one, Finding)
        assert one.confidence is Confidence.LIKELY

    def test_of_each_database_is_judged(self) -> None:
        both = (durability(), durability(Window.UNBOUNDED, backend="changelog"))
        kinds = {subject: type(one) for subject, one in verdicts(*disk.SAFE, durability=both).items()}
        assert (kinds["userRoot of ldap"], kinds["changelog of ldap"]) == (Clear, Finding)


def test_says_how_many_changes_and_since_when() -> None:
    monitor = facts.monitor(started_at=datetime(2026, 11, 1, 10, tzinfo=UTC))
    server = facts.server(monitor=monitor)
    storage = disk.joined(*disk.SAFE, durability=(durability(Window.SECONDS),))
    one = next(verdict for verdict in judge(storage, server) if isinstance(verdict, Finding))
    assert one.observed["server_started"] == "2026-11-01T10:00:00Z"
    assert "The server has run since 2026-11-01 10:00:00 UTC." in one.detail
