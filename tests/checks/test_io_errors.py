"""io-errors: of the disks of these volumes, and of no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
import storage_facts as disk
from ldapdiag.evidence.storage import BlockDevice, DeviceError, KernelErrors, Mounted
from ldapdiag.evidence.storage.settings import Role
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag_checks.io_errors import judge


def kernel(*errors: tuple[str, str], from_boot: bool = True) -> KernelErrors:
    """Return the messages of the kernel: devices, and what failed."""
    return KernelErrors(
        origin=facts.origin(name="dmesg.txt"),
        errors=tuple(DeviceError(device=device, what=what, text=f"{what}, dev {device}") for device, what in errors),
        lines_read=1200,
        from_boot=from_boot,
    )


def judged(*given: Any, role: Role = Role.DATABASE, devices: bool = True) -> Verdict:
    shown = (disk.devices(),) if devices else ()
    settings = disk.settings((role, disk.DATABASE))
    (verdict,) = judge(disk.joined(disk.table(disk.mount()), *shown, *given, settings), facts.server())
    return verdict


@pytest.mark.parametrize("device", ["sda", "sda1", "sdb", "dm-0"])
def test_an_error_anywhere_below_the_volume_is_found(device) -> None:
    found = judged(kernel((device, "I/O error")))
    assert isinstance(found, Finding)
    assert (found.severity, found.observed["devices"]) == (Severity.HIGH, [device])
    named = [line.removeprefix("smartctl -a /dev/") for line in found.remedies[0].text.splitlines()]
    assert set(named) == {device, "sda", "sdb"} - {"dm-0"}


@pytest.mark.parametrize("what", ["remounted read-only", "file system shut down", "journal aborted"])
def test_the_end_of_writing_is_critical(what) -> None:
    found = judged(kernel(("dm-0", what)))
    assert isinstance(found, Finding)
    assert found.severity is Severity.CRITICAL


def test_a_volume_that_is_read_only_now_is_critical() -> None:
    table = disk.table(disk.mount(options="ro,relatime"))
    (found,) = judge(disk.joined(table, disk.settings((Role.DATABASE, disk.DATABASE))), facts.server())
    assert isinstance(found, Finding)
    assert found.severity is Severity.CRITICAL


def test_errors_in_the_superblock_alone_are_medium() -> None:
    found = judged(replace(disk.superblock(), error_count=3), kernel())
    assert isinstance(found, Finding)
    assert (found.severity, found.observed["superblock_errors"]) == (Severity.MEDIUM, 3)


def test_under_the_access_log_alone_it_is_medium() -> None:
    found = judged(kernel(("sda", "I/O error")), role=Role.ACCESS_LOG)
    assert isinstance(found, Finding)
    assert found.severity is Severity.MEDIUM


def test_errors_of_other_disks_are_named_and_no_finding() -> None:
    verdict = judged(kernel(("sdz", "I/O error"), ("sdz", "medium error")))
    assert isinstance(verdict, Clear)
    assert verdict.reason == "no error of its disks in 1,200 messages of the kernel; 2 errors of other devices: sdz"


def test_messages_that_do_not_reach_back_to_the_boot_are_named() -> None:
    verdict = judged(kernel(from_boot=False))
    assert isinstance(verdict, Clear)
    assert "do not reach back to the boot" in verdict.reason


@pytest.mark.parametrize(("device", "devices"), [("", True), ("sdz", False)], ids=["no device", "unknown disks"])
def test_errors_that_may_be_of_its_disks_are_not_judged(device, devices) -> None:
    verdict = judged(kernel((device, "ATA error")), devices=devices)
    assert isinstance(verdict, NotJudged)


def test_a_file_server_that_did_not_answer_may_be_that_of_the_volume() -> None:
    table = disk.table(disk.mount("nfs4", source="nas:/ldap", device="0:40"))
    storage = disk.joined(table, kernel(("", "NFS server timed out")), disk.settings((Role.DATABASE, disk.DATABASE)))
    (verdict,) = judge(storage, facts.server())
    assert isinstance(verdict, NotJudged)
    assert "some do not name their device (NFS server timed out)" in verdict.reason


def test_a_partition_names_its_disk_without_a_list_of_devices() -> None:
    table = disk.table(disk.mount("xfs", source="/dev/nvme0n1p2", device="259:2"))
    for device in ("nvme0n1p2", "nvme0n1", "nvme0"):
        storage = disk.joined(table, kernel((device, "I/O error")), disk.settings((Role.DATABASE, disk.DATABASE)))
        assert [type(one) for one in judge(storage, facts.server())] == [Finding], device


def test_without_messages_is_not_judged() -> None:
    verdict = judged()
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("kernel-messages",)


def at(
    mounted: Mounted, device: str, what: str = "remounted read-only", *, of_file_system: bool = True
) -> KernelErrors:
    """Return the messages of the kernel: one, and when it came."""
    one = DeviceError(device=device, what=what, text=what, mounted=mounted, of_file_system=of_file_system)
    return replace(kernel(), errors=(one,))


def on_loop(given: KernelErrors) -> Verdict:
    """Judge the database on an ext4 of loop0, whose file is on sda1."""
    loop = BlockDevice(name="loop0", number="7:0", type="loop", backing_file="/ldap.img", write_cache="write back")
    table = disk.table(disk.mount(source="/dev/loop0", device="7:0"))
    (verdict,) = judge(
        disk.joined(table, disk.devices(loop), given, disk.settings((Role.DATABASE, disk.DATABASE))), facts.server()
    )
    return verdict


class TestBeforeTheLastMount:
    def test_errors_of_another_file_system_are_mentioned_and_no_finding(self) -> None:
        for verdict in (on_loop(at(Mounted.OTHER_BEFORE, "loop0")), judged(at(Mounted.OTHER_BEFORE, "dm-0"))):
            assert isinstance(verdict, Clear)
            assert "from before the last mount, while another file system was mounted there" in verdict.reason
            assert "of other devices" not in verdict.reason

    @pytest.mark.parametrize("of_file_system", [True, False])
    def test_errors_of_an_unknown_file_system_are_not_judged(self, of_file_system) -> None:
        verdict = on_loop(at(Mounted.UNKNOWN_BEFORE, "loop0", of_file_system=of_file_system))
        assert isinstance(verdict, NotJudged)
        assert verdict.reason.startswith("1 error of loop0 from before the last mount: ")

    def test_errors_of_the_same_file_system_count_but_it_is_no_longer_stopped(self) -> None:
        found = on_loop(at(Mounted.SAME_BEFORE, "loop0"))
        assert isinstance(found, Finding)
        assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.CERTAIN)

    @pytest.mark.parametrize("mounted", list(Mounted))
    @pytest.mark.parametrize("device", ["sda", "sda1"])
    def test_errors_of_a_disk_count_whatever_was_mounted(self, mounted, device) -> None:
        found = judged(at(mounted, device, "I/O error", of_file_system=False))
        assert isinstance(found, Finding)
        assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.CERTAIN)

    def test_since_the_mount_an_error_is_certain(self) -> None:
        found = on_loop(at(Mounted.SINCE, "loop0"))
        assert isinstance(found, Finding)
        assert (found.severity, found.confidence) == (Severity.CRITICAL, Confidence.CERTAIN)


def test_without_a_mount_only_a_name_that_is_reused_is_doubted() -> None:
    loop, mapped = on_loop(at(Mounted.UNKNOWN, "loop0")), judged(at(Mounted.UNKNOWN, "dm-0"))
    assert isinstance(loop, Finding)
    assert isinstance(mapped, Finding)
    assert (loop.severity, loop.confidence) == (Severity.HIGH, Confidence.POSSIBLE)
    assert " may have failed: " in loop.title
    assert "may concern an earlier device of that name" in loop.detail
    assert (mapped.severity, mapped.confidence) == (Severity.CRITICAL, Confidence.CERTAIN)
