"""When a capture was taken."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.evidence.host_formats import capture_times
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path


class TestCaptureTimes:
    def test_reads_the_span_and_notes_why(self, captures: Path) -> None:
        path = captures / "389ds" / "ghosts-behind-a-firewall" / "captured-at.txt"
        (times,) = facts_of(path.read_bytes(), path="ldap/captured-at.txt")
        assert times.span.start <= times.span.end
        assert times.span.start.replace(microsecond=0) == datetime(2026, 11, 20, 8, 57, 41, tzinfo=UTC)
        assert "because of its name (captured-at.txt)" in times.origin.notes[0]

    @pytest.mark.parametrize(
        "text",
        [
            "2026-11-20T08:57:42Z",
            "2026-11-20 09:57:42+01:00",
            "2026-11-20T08:57:42,000000000+0000",
            "2026-11-20T08:57:42 Z",
        ],
    )
    def test_reads_what_date_prints(self, text: str) -> None:
        (times,) = facts_of(f"{text}\n\n", path="ldap/date.txt")
        assert times.span.start == times.span.end == datetime(2026, 11, 20, 8, 57, 42, tzinfo=UTC)

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("times.txt", "2026-11-20T08:57:42Z"),
            ("taken.txt", "2026-11-20T08:57:42"),
            ("date.txt", "2026-11-20T08:57:42Z x"),
        ],
    )
    def test_nothing_else_is_one(self, name: str, text: str) -> None:
        assert recognise(head_of(name, text.encode(), whole=True)) is None

    def test_counts_a_line_that_is_no_time(self) -> None:
        (times,) = facts_of("2026-11-20T08:57:42Z\n2026-13-20T08:57:42Z\n", form=capture_times.FORMAT)
        assert times.origin.not_understood == 1
