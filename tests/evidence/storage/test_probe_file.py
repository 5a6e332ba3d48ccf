"""The file of a storage probe: what is written is read, and nothing else is."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.origin import Origin, Span
from ldapdiag.evidence.storage import probe_file
from ldapdiag.evidence.storage.probe import (
    AccessTimes,
    FileOperation,
    FileRate,
    GroupCommit,
    StorageProbe,
    SyncCall,
    SyncLatency,
    WriteKind,
    latency_of,
)
from reading import facts_of

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
COUNTS, DURATIONS = st.integers(0, 10**9), st.floats(0, 1e6).map(lambda value: round(value, 9))
LATENCIES = st.lists(DURATIONS, min_size=1, max_size=9).map(latency_of)
TEXTS = st.text(st.characters(exclude_categories=("C", "Z")), max_size=60)
SYNCS = st.builds(
    SyncLatency,
    write=st.sampled_from(WriteKind),
    call=st.sampled_from(SyncCall),
    block_bytes=COUNTS,
    count=COUNTS,
    sync=LATENCIES,
    written=LATENCIES,
)
COMMITS = st.builds(GroupCommit, committers=COUNTS, commits=COUNTS, syncs=COUNTS, seconds=DURATIONS, commit=LATENCIES)
FILES = st.builds(FileRate, operation=st.sampled_from(FileOperation), count=COUNTS, seconds=DURATIONS)
ACCESS = st.builds(
    AccessTimes,
    files=COUNTS,
    first_updated=COUNTS,
    again_updated=COUNTS,
    again_seconds=DURATIONS,
    without_seconds=st.none() | DURATIONS,
)
PROBES = st.builds(
    StorageProbe,
    origin=st.timedeltas(timedelta(0), timedelta(minutes=5)).map(
        lambda spent: Origin(path="probe", taken=Span(start=NOON, end=NOON + spent))
    ),
    directory=TEXTS,
    mount_point=TEXTS,
    fs_type=TEXTS,
    device=TEXTS,
    written_bytes=COUNTS,
    syncs=st.lists(SYNCS, max_size=3).map(tuple),
    commits=st.lists(COMMITS, max_size=3).map(tuple),
    files=st.lists(FILES, max_size=3).map(tuple),
    access_times=st.none() | ACCESS,
    stopped_because=TEXTS,
)
PROBE = StorageProbe(
    origin=Origin(path="probe", taken=Span(start=NOON, end=NOON)),
    directory="/var/lib/dirsrv",
    mount_point="/var/lib",
    fs_type="ext4",
    device="8:1",
    written_bytes=4096,
    syncs=(
        SyncLatency(
            write=WriteKind.APPEND,
            call=SyncCall.FSYNC,
            block_bytes=4096,
            count=3,
            sync=latency_of([0.02, 0.021, 0.03]),
            written=latency_of([0.00001]),
        ),
    ),
    commits=(),
    files=(),
    access_times=None,
    stopped_because="it was interrupted",
)


@given(PROBES)
def test_what_is_written_is_read(probe: StorageProbe) -> None:
    (found,) = facts_of(probe_file.as_text(probe))
    assert found.origin.taken == probe.origin.taken
    assert replace(found, origin=probe.origin) == probe


def test_a_probe_is_found_by_write_call_and_size() -> None:
    assert PROBE.latency(WriteKind.APPEND, SyncCall.FSYNC) is PROBE.syncs[0]
    assert PROBE.latency(WriteKind.APPEND, SyncCall.FDATASYNC) is None


@given(st.data())
def test_a_cut_file_has_no_probe_and_one_line_that_was_not_understood(data: st.DataObject) -> None:
    whole = probe_file.as_text(PROBE)
    cut = data.draw(st.integers(40, len(whole) - 3))
    assert facts_of(whole[:cut], form=probe_file.FORMAT) == []


HOSTILE = [
    ("written_bytes", -1),
    ("written_bytes", True),
    ("written_bytes", 1e300),
    ("directory", "x" * 5000),
    ("directory", ["/"]),
    ("begun", "2026-11-23T12:00:00"),
    ("begun", 12),
    ("syncs", [{}]),
    ("syncs", "none"),
    ("files", [{"operation": "steal", "count": 1, "seconds": 1}]),
    ("files", [{"operation": "read", "count": 1, "seconds": float("nan")}]),
    ("commits", [{"committers": 1, "commits": 1, "syncs": 1, "seconds": float("inf"), "commit": {}}]),
    ("access_times", {}),
    ("stopped_because", None),
]


@pytest.mark.parametrize(("key", "value"), HOSTILE)
def test_a_value_outside_its_grammar_makes_the_file_unread(key, value) -> None:
    text = json.dumps({**probe_file.content(PROBE), key: value}, indent=1)
    assert facts_of(text) == []


@pytest.mark.parametrize("text", ["{}", "[]", '{"ldapdiag-storage-probe": 1, "x": ' + "[" * 20_000, "1"])
def test_another_text_is_not_read(text: str) -> None:
    assert facts_of(text, form=probe_file.FORMAT) == []


def test_percentiles_that_do_not_ascend_are_no_probe() -> None:
    content = probe_file.content(PROBE)
    content["syncs"][0]["sync"]["p50_seconds"] = 7
    assert facts_of(json.dumps(content)) == []
