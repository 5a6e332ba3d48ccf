"""same-volume: one volume, one disk below two volumes, and few changes."""

from __future__ import annotations

from typing import Any

import pytest

import facts
import storage_facts as disk
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.evidence.log.operation_kinds import MODIFY
from ldapdiag.evidence.storage.settings import Role
from ldapdiag.finding import Clear, Finding, NotJudged, Severity, Verdict
from ldapdiag_checks.same_volume import judge
from traffic import Log

PLACES = disk.settings((Role.DATABASE, disk.DATABASE), (Role.TRANSACTION_LOG, "/txn/db"))
ONE = disk.settings((Role.DATABASE, disk.DATABASE), (Role.TRANSACTION_LOG, disk.DATABASE))


def busy(changes: int, seconds: int = 100) -> Traffic:
    """Return a log with so many changes in so many seconds."""
    log = Log()
    number = log.opens(when=0)
    for op in range(changes):
        log.operates(number, op, MODIFY, b"uid=joe,dc=example", took=0)
    log.opens(when=seconds)
    return log.traffic()


def judged(*given: Any, changes: int | None = 3_000) -> Verdict:
    traffic = None if changes is None else busy(changes)
    (verdict,) = judge(disk.joined(*given), facts.server(), traffic)
    return verdict


@pytest.mark.parametrize(
    ("changes", "severity"), [(50, None), (500, Severity.INFO), (1_500, Severity.INFO), (2_500, Severity.LOW)]
)
def test_one_volume_matters_by_the_changes(changes, severity) -> None:
    verdict = judged(disk.table(disk.mount()), disk.devices(), ONE, changes=changes)
    if severity is None:
        assert isinstance(verdict, Clear)
        assert "nothing to gain" in verdict.reason
        return
    assert isinstance(verdict, Finding)
    assert verdict.severity is severity
    assert verdict.observed["roles"] == ["database", "transaction log"]
    assert verdict.observed["devices"] == ["sda", "sdb"]


def test_two_volumes_on_one_disk_are_as_one() -> None:
    partition = disk.mount("xfs", mount_point="/txn", source="/dev/sda1", device="8:1")
    verdict = judged(disk.table(disk.mount(), partition), disk.devices(), PLACES)
    assert isinstance(verdict, Finding)
    assert verdict.observed["mount_points"] == ["/var/lib/dirsrv", "/txn"]
    assert verdict.observed["devices"] == ["sda"]


def test_two_mounts_of_one_file_system_are_as_one() -> None:
    bind = disk.mount("ext4", mount_point="/txn")
    assert isinstance(judged(disk.table(disk.mount(), bind), PLACES), Finding)


def test_volumes_of_different_disks_are_clear() -> None:
    other = disk.mount("xfs", mount_point="/txn", source="/dev/sdc", device="8:32")
    sdc = disk.BlockDevice(name="sdc", number="8:32", type="disk", write_cache="write back")
    verdict = judged(disk.table(disk.mount(), other), disk.devices(sdc), PLACES)
    assert isinstance(verdict, Clear)
    assert "different disks" in verdict.reason


def test_volumes_of_unknown_disks_are_not_judged() -> None:
    other = disk.mount("xfs", mount_point="/txn", source="/dev/sdc", device="8:32")
    verdict = judged(disk.table(disk.mount(), other), PLACES)
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("block-devices",)


def test_without_a_log_is_not_judged() -> None:
    verdict = judged(disk.table(disk.mount()), disk.devices(), ONE, changes=None)
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("access-log",)


def test_a_single_place_has_nothing_to_separate() -> None:
    lmdb = disk.settings((Role.DATABASE, disk.DATABASE), identity=facts.OPENLDAP)
    server = facts.server(identity=facts.OPENLDAP)
    (verdict,) = judge(disk.joined(disk.table(disk.mount()), lmdb, server=server), server)
    assert isinstance(verdict, Clear)


def test_a_place_whose_volume_is_unknown_is_not_judged() -> None:
    assert isinstance(judged(disk.devices()), NotJudged)
