"""Manifests: what is written is read again; what is hostile or damaged costs a gap, never the pieces."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag import __version__
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.origin import Span
from ldapdiag.sources.captures import manifest
from ldapdiag.sources.captures.find import find
from ldapdiag.sources.captures.manifest import ClockOffset, Manifest, ManifestEntry
from ldapdiag.sources.files.input import Input

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MOMENTS = st.datetimes(timezones=st.just(UTC))
SPANS = st.builds(
    lambda start, seconds: Span(start=start, end=start + timedelta(seconds=seconds)),
    st.datetimes(max_value=datetime(9000, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001  the strategy adds the zone
    st.integers(0, 1000),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
ENTRIES = st.builds(
    ManifestEntry, path=TEXTS, folder=TEXTS, asked=TEXTS, taken=st.none() | SPANS, size_bytes=st.integers(0, 1 << 40)
)
OFFSETS = st.builds(ClockOffset, seconds=st.floats(-1e9, 1e9), uncertainty_seconds=st.floats(0, 1e9))
GAPS = st.builds(Gap, target=TEXTS, reason=TEXTS, how=st.none() | TEXTS)
MANIFESTS = st.builds(
    Manifest, entries=st.lists(ENTRIES, max_size=3).map(tuple), gaps=st.lists(GAPS, max_size=3).map(tuple)
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=10,
)
KEYS = ("tool", "taken_at", "pieces", "clock_offsets", "gaps")


@given(MANIFESTS, MOMENTS, st.dictionaries(TEXTS, OFFSETS, max_size=3))
def test_what_is_written_is_read_again(written: Manifest, taken_at: datetime, offsets: dict[str, ClockOffset]) -> None:
    assert manifest.read(manifest.as_json(written, taken_at, offsets), "c/manifest.json") == written


def test_a_clock_s_offset_is_kept_by_target_for_a_person() -> None:
    offset = ClockOffset(seconds=0.4, uncertainty_seconds=1.0)
    told = json.loads(manifest.as_json(Manifest(), NOON, {"ssh://app1": offset}))
    assert told["clock_offsets"] == {"ssh://app1": {"seconds": 0.4, "uncertainty_seconds": 1.0}}
    assert told["tool"] == {"version": __version__}


def test_times_are_iso_8601_in_utc_to_the_microsecond() -> None:
    start = datetime.fromisoformat("2026-11-20T14:00:01.5+01:00")
    entry = ManifestEntry(path="a/b", folder="a", taken=Span(start=start, end=start))
    told = json.loads(manifest.as_json(Manifest(entries=(entry,)), start, {}))
    assert told["schema"] == "ldapdiag.capture/1"
    assert told["taken_at"] == "2026-11-20T13:00:01.500000Z"
    assert told["pieces"][0]["taken"] == ["2026-11-20T13:00:01.500000Z"] * 2


@given(st.dictionaries(st.sampled_from(KEYS), JSON))
def test_any_json_of_our_schema_is_a_manifest_of_what_fits(told: dict[str, Any]) -> None:
    assert isinstance(manifest.read(json.dumps(told | {"schema": manifest.SCHEMA}).encode(), "x"), Manifest)


@given(st.binary(max_size=200), st.integers(0, 300))
def test_damage_never_raises(damage: bytes, at: int) -> None:
    whole = manifest.as_json(Manifest(entries=(ManifestEntry(path="a/b", folder="a"),)), NOON, {})
    manifest.read(whole[:at] + damage + whole[at + len(damage) :], "x")


@pytest.mark.parametrize(
    "taken",
    [
        ["2026-11-20T13:00:02Z", "2026-11-20T13:00:01Z"],  # ends before it begins
        ["2026-11-20T13:00:01", "2026-11-20T13:00:02"],  # of no zone
        ["0001-01-01T00:00:00+14:00"] * 2,
        [1, 2],
        ["x"],
        {},
    ],
)
def test_a_time_that_is_none_is_not_known(taken: object) -> None:
    told = {"schema": manifest.SCHEMA, "pieces": [{"path": "a/b", "folder": "a", "taken": taken}]}
    read = manifest.read(json.dumps(told).encode(), "x")
    assert isinstance(read, Manifest)
    assert [entry.taken for entry in read.entries] == [None]


@pytest.mark.parametrize("content", [b"{}", b"[]", b'{"schema": "other/1"}', b"\xff", b'{"name": "a web app"}', b""])
def test_somebody_else_s_manifest_is_none(content: bytes) -> None:
    assert manifest.read(content, "x") is None


@pytest.mark.parametrize(
    "content", [b'{"schema": "ldapdiag.capture/1", "pieces": [', b'["ldapdiag.capture"' + b"[" * 100_000]
)
def test_a_damaged_one_is_a_gap_and_the_pieces_are_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "app1").mkdir()
    (tmp_path / "app1" / "ss.txt").write_text("x")
    (tmp_path / "manifest.json").write_bytes(content)
    gap, piece = find(str(tmp_path))
    assert isinstance(gap, Gap)
    assert "is damaged" in gap.reason
    assert isinstance(piece, Input)


def test_a_newer_one_is_read_as_far_as_it_is_known() -> None:
    gap = Gap(target="ssh://app2", reason="refused", how=None)
    told = json.loads(manifest.as_json(Manifest(gaps=(gap,)), NOON, {})) | {"schema": "ldapdiag.capture/2"}
    read = manifest.read(json.dumps(told).encode(), "x")
    assert isinstance(read, Manifest)
    assert ["ldapdiag.capture/2" in read.gaps[0].reason, read.gaps[1]] == [True, gap]


def test_a_huge_one_is_none_of_ours() -> None:
    assert manifest.read(b" " * (manifest.MOST_BYTES + 1), "x") is None
