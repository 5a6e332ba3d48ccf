"""The numbers of a probe in words: a cost is stated only where each read has one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ldapdiag.evidence.origin import Origin
from ldapdiag.evidence.storage.probe import (
    AccessTimes,
    FileOperation,
    FileRate,
    GroupCommit,
    StorageProbe,
    latency_of,
)
from ldapdiag.report.storage.as_data import probe_values
from ldapdiag.report.storage.as_text import file_words, sync_parts

PROBE = StorageProbe(
    origin=Origin(path="probe"),
    directory="/var/lib/ldap",
    mount_point="/var",
    fs_type="ext4",
    device="8:1",
    written_bytes=0,
    syncs=(),
    commits=(),
    files=tuple(FileRate(operation=one, count=2000, seconds=0.5) for one in FileOperation),
    access_times=None,
    stopped_because="",
)


def test_rates_are_those_of_a_second() -> None:
    expected = "Small files per second, without sync: 4,000 created, 4,000 read, 4,000 unlinked"
    assert list(file_words(probe_values(PROBE))) == [expected]
    assert list(file_words(probe_values(replace(PROBE, files=())))) == []


@pytest.mark.parametrize(
    ("first", "again", "without", "words"),
    [
        (2000, 0, 0.04, "only the first read after a change sets them (relatime); nothing to gain with noatime"),
        (0, 0, 0.04, "reads do not change them (noatime)"),
        (2000, 2000, 0.04, "each read sets them (strictatime); 40,000 reads/s of files in memory, 50,000 without"),
        (2000, 2000, None, "each read sets them (strictatime)"),
        (2000, 999, 0.04, "only the first read after a change sets them (relatime); nothing to gain with noatime"),
    ],
)
def test_access_times_are_those_of_the_mount(first: int, again: int, without: float | None, words: str) -> None:
    times = AccessTimes(
        files=2000, first_updated=first, again_updated=again, again_seconds=0.05, without_seconds=without
    )
    assert list(file_words(probe_values(replace(PROBE, files=(), access_times=times)))) == [f"Access times: {words}"]


@pytest.mark.parametrize(
    ("committers", "commits", "words"),
    [(40, 7_500, "5,000 commits/s"), (10, 7_501, "at least 5,001 commits/s"), (80, 150, "at least 100 commits/s")],
)
def test_a_rate_that_the_program_itself_limits_is_a_lower_bound(committers: int, commits: int, words: str) -> None:
    one = GroupCommit(committers=committers, commits=commits, syncs=1, seconds=1.5, commit=latency_of([0.1]))
    assert list(sync_parts(probe_values(replace(PROBE, commits=(one,))), verbose=False)) == [
        f"{words} of {committers} committers"
    ]
