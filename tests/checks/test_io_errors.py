"""io-errors: of the disks of these volumes, and of no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
import storage_facts as disk
from ldapdiag.evidence.storage import DeviceError, KernelErrors
from ldapdiag.evidence.storage.settings import Role
from ldapdiag.finding import Clear, Finding, NotJudged, Severity, Verdict
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


def test_a_partition_names_its_disk_without_a_list_of_devices() -> None:
    table = disk.table(disk.mount("xfs", source="/dev/nvme0n1p2", device="259:2"))
    for device in ("nvme0n1p2", "nvme0n1", "nvme0"):
        storage = disk.joined(table, kernel((device, "I/O error")), disk.settings((Role.DATABASE, disk.DATABASE)))
        assert [type(one) for one in judge(storage, facts.server())] == [Finding], device


def test_without_messages_is_not_judged() -> None:
    verdict = judged()
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("kernel-messages",)
