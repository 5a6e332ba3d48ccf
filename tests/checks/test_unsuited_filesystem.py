"""unsuited-filesystem: by type, and by crowded directories without an index."""

from __future__ import annotations

from typing import Any

import pytest

import facts
import storage_facts as disk
from ldapdiag.evidence.storage.settings import Role
from ldapdiag.finding import Clear, Finding, NotJudged, Severity, Verdict
from ldapdiag_checks.unsuited_filesystem import judge

NO_INDEX = disk.superblock(features=("has_journal",))


def judged(*given: Any) -> Verdict:
    (verdict,) = judge(disk.joined(*given, disk.settings((Role.DATABASE, disk.DATABASE))), facts.server())
    return verdict


@pytest.mark.parametrize(
    ("mount", "problem", "severity"),
    [
        (disk.mount("nfs4", "hard", source="nas:/ldap", device="0:25"), "network", Severity.HIGH),
        (disk.mount("cifs", source="//nas/ldap", device="0:26"), "network", Severity.HIGH),
        (disk.mount("tmpfs", source="tmpfs", device="0:27"), "memory", Severity.HIGH),
        (disk.mount("overlay", "upperdir=/u", source="overlay", device="0:28"), "overlay", Severity.MEDIUM),
    ],
    ids=["nfs", "cifs", "tmpfs", "overlay"],
)
def test_is_found_by_its_type(mount, problem, severity) -> None:
    found = judged(disk.table(mount))
    assert isinstance(found, Finding)
    assert (found.observed["problem"], found.severity) == (problem, severity)
    assert "Move the database and transaction log from /var/lib/dirsrv" in found.remedies[0].title


def test_a_soft_mount_is_named() -> None:
    found = judged(disk.table(disk.mount("nfs", "soft", source="nas:/ldap", device="0:25")))
    assert isinstance(found, Finding)
    assert "soft makes an I/O error of a time-out" in found.detail


@pytest.mark.parametrize("fs_type", ["ext3", "ext4", "xfs", "btrfs", "zfs"])
def test_a_local_file_system_is_clear(fs_type) -> None:
    assert isinstance(judged(disk.table(disk.mount(fs_type))), Clear)


def test_df_alone_shows_the_type() -> None:
    assert isinstance(judged(disk.space(fs_type="nfs4")), Finding)


@pytest.mark.parametrize(
    ("names", "severity"), [(4_999, None), (5_000, Severity.LOW), (19_999, Severity.LOW), (20_000, Severity.MEDIUM)]
)
def test_a_crowded_directory_without_an_index(names, severity) -> None:
    verdict = judged(disk.table(disk.mount()), NO_INDEX, disk.names(names))
    assert (verdict.severity if isinstance(verdict, Finding) else None) is severity
    if isinstance(verdict, Clear):
        assert "nothing to gain" in verdict.reason
    assert isinstance(judged(disk.table(disk.mount()), disk.superblock(), disk.names(names)), Clear)


def test_a_type_that_is_not_known_is_not_judged() -> None:
    assert isinstance(judged(disk.table(disk.mount("fuse.something"))), NotJudged)


def test_no_index_and_no_numbers_of_names_is_not_judged() -> None:
    verdict = judged(disk.table(disk.mount()), NO_INDEX)
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("directory-size",)


def test_without_mounts_is_not_judged() -> None:
    assert isinstance(judged(disk.devices()), NotJudged)
