"""access-time-updates: strictatime alone is found, and relatime gains nothing."""

from __future__ import annotations

from typing import Any

import pytest

import facts
import storage_facts as disk
from ldapdiag.evidence.storage.settings import Role
from ldapdiag.finding import Clear, Finding, NotJudged, Severity, Verdict
from ldapdiag_checks.access_time_updates import judge


def judged(*given: Any) -> Verdict:
    (verdict,) = judge(disk.joined(*given, disk.settings((Role.DATABASE, disk.DATABASE))), facts.server())
    return verdict


def test_no_word_in_a_table_of_the_kernel_is_strictatime() -> None:
    found = judged(disk.table(disk.mount(options="rw")))
    assert isinstance(found, Finding)
    assert found.severity is Severity.INFO
    assert "mount -o remount,relatime /var/lib/dirsrv" in found.remedies[0].text


def test_of_a_container_no_path_is_remounted() -> None:
    root = disk.mount("overlay", mount_point="/", source="overlay", device="0:50")
    found = judged(disk.table(root, disk.mount(options="rw")))
    assert isinstance(found, Finding)
    assert "/var/lib/dirsrv" not in found.remedies[0].text


def test_of_zfs_the_property_is_set() -> None:
    mount = disk.mount("zfs", source="tank/ldap", device="0:40", options="rw")
    found = judged(disk.table(mount), disk.zfs(atime="on", relatime="off"))
    assert isinstance(found, Finding)
    assert (found.remedies[0].text, found.remedies[0].undo) == (
        "zfs set relatime=on tank/ldap",
        "zfs inherit relatime tank/ldap",
    )


@pytest.mark.parametrize(("names", "severity"), [(999, Severity.INFO), (1_000, Severity.LOW)])
def test_counts_more_where_there_are_many_files(names, severity) -> None:
    found = judged(disk.table(disk.mount(options="rw")), disk.names(names))
    assert isinstance(found, Finding)
    assert found.severity is severity


@pytest.mark.parametrize(
    ("mount", "reason"),
    [
        (disk.mount(), "relatime, the kernel's default since 2.6.30 (2009)"),
        (disk.mount(options="rw,nodiratime,relatime"), "relatime"),
        (disk.mount(options="rw,noatime"), "nothing to gain"),
        (disk.mount("ext4", "lazytime", options="rw"), "strictatime with lazytime"),
        (disk.mount("tmpfs", source="tmpfs", options="rw", device="0:9"), "nothing to gain"),
        (disk.mount("nfs4", source="nas:/x", options="rw", device="0:9"), "the file server"),
    ],
    ids=["relatime", "nodiratime", "noatime", "lazytime", "tmpfs", "nfs"],
)
def test_all_others_gain_nothing(mount, reason) -> None:
    verdict = judged(disk.table(mount))
    assert isinstance(verdict, Clear)
    assert reason in verdict.reason


def test_no_word_in_another_table_shows_nothing() -> None:
    verdict = judged(disk.table(disk.mount(options="rw"), shows_atime=False))
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("mounts",)


def test_without_mounts_is_not_judged() -> None:
    assert isinstance(judged(disk.space()), NotJudged)
    assert isinstance(judged(disk.devices()), NotJudged)
