"""fragmented-database: pieces per MiB, and where their number shows nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import facts
import storage_facts as disk
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.finding import Clear, Finding, NotJudged, Severity, Verdict
from ldapdiag_checks.fragmented_database import judge

MOUNT = disk.table(disk.mount("btrfs", source="/dev/sdb", device="0:42"))


def judged(*given: Any, server: Any = None) -> Verdict:
    (verdict,) = judge(disk.joined(MOUNT, *given), server or facts.server())
    return verdict


def rotating(*, value: bool | None) -> Any:
    return disk.devices(*(replace(one, rotational=value) for one in disk.DISKS))


@pytest.mark.parametrize(
    ("extents", "mib", "rotational", "severity"),
    [
        (100, 100, True, None),
        (101, 100, False, Severity.LOW),
        (101, 100, None, Severity.LOW),
        (1_600, 100, True, Severity.MEDIUM),
        (1_600, 100, False, Severity.LOW),
        (1_599, 100, True, Severity.LOW),
        (99, 4, True, None),
        (509, 4, True, Severity.MEDIUM),
    ],
)
def test_by_pieces_per_mebibyte(extents, mib, rotational, severity) -> None:
    verdict = judged(disk.extents(mib=mib, extents=extents), rotating(value=rotational))
    assert (verdict.severity if isinstance(verdict, Finding) else None) is severity
    if isinstance(verdict, Finding):
        assert verdict.observed["per_mebibyte"] == pytest.approx(extents / mib, abs=0.01)
        assert "chattr +C" in verdict.remedies[0].text
    else:
        assert isinstance(verdict, Clear)
        assert "nothing to gain" in verdict.reason


def test_a_sparse_file_counts_by_what_it_allocates() -> None:
    sparse = disk.extents(mib=10_240, allocated_bytes=200 << 20, extents=900)
    found = judged(sparse)
    assert isinstance(found, Finding)
    assert found.observed["mebibytes"] == 200


def test_small_files_do_not_count() -> None:
    assert isinstance(judged(disk.extents(mib=0.9, extents=500)), Clear)


def test_pieces_of_compressed_files_show_nothing() -> None:
    flagged = judged(disk.extents(extents=800, compressed=True))
    packed = disk.table(disk.mount("btrfs", "compress-force=zstd:3", source="/dev/sdb", device="0:42"))
    (mounted,) = judge(disk.joined(packed, disk.extents(extents=800)), facts.server())
    for verdict in (flagged, mounted):
        assert isinstance(verdict, NotJudged)
        assert "128 KiB" in verdict.reason


def test_files_without_extents_are_not_judged() -> None:
    verdict = judged(disk.extents(unsupported="Operation not supported"))
    assert isinstance(verdict, NotJudged)
    assert "Operation not supported" in verdict.reason


@pytest.mark.parametrize("family", [Family.OPENDJ, Family.PING])
def test_an_append_only_log_is_clear(family) -> None:
    server = facts.server(identity=ServerIdentity(family=family))
    assert isinstance(judged(disk.extents(extents=100_000), server=server), Clear)


def test_without_extents_is_not_judged() -> None:
    verdict = judged()
    assert isinstance(verdict, NotJudged)
    assert verdict.missing == ("file-extents",)
