from __future__ import annotations

import pytest

from ldapdiag.analysis.hosts.layout import looks_like_snapshot, rank, time_of


@pytest.mark.parametrize(
    "name",
    [
        "snap1",
        "snapshot-12",
        "t0",
        "round_3",
        "Sample4",
        "before",
        "after",
        "old",
        "new",
        "2026-11-22",
        "20261122",
        "2026-11-22T10:00",
        "2026-11-22_10-00-03",
        "20261122T100000Z",
        "2026-11-22T10:00:03+01:00",
        "10:00",
        "10:05:30",
        "10h05",
    ],
)
def test_a_folder_named_after_a_time_or_numbered_is_a_snapshot(name: str) -> None:
    assert looks_like_snapshot(name)


@pytest.mark.parametrize(
    "name",
    [
        "ldap",
        "app1",
        "dc1",
        "site2",
        "1",
        "10",
        "1005",
        "10.77.1.2",
        "t",
        "incident",
        "fw-old",
        "snap",
        "2026",
        "ldap-2026",
    ],
)
def test_other_folders_are_not(name: str) -> None:
    assert not looks_like_snapshot(name)


@pytest.mark.parametrize(
    "names",
    [
        ["snap1", "snap2", "snap10"],
        ["2026-11-21", "2026-11-22T09:59", "2026-11-22T10:00"],
        ["old", "before", "during", "after"],
        ["before", "snap1", "after"],
        ["9", "10"],
    ],
)
def test_names_are_ordered_as_their_operator_meant_them(names: list[str]) -> None:
    assert sorted(names, key=rank) == names


def test_the_time_may_be_in_two_folders() -> None:
    at = time_of(["2026-11-22", "10:05"])
    assert at is not None
    assert at.isoformat() == "2026-11-22T10:05:00"
    assert time_of(["2026-11-22"]) is None
    assert time_of(["2026-13-77T10:00"]) is not None
