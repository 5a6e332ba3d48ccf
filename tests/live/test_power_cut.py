"""What a power cut loses under real servers, by settings and volumes; the truth is what their clients received."""

from __future__ import annotations

import pytest

from lab.power_cut import CASES, cut

FLUSHES = {"389-ds": 1, "389-ds mdb, not durable": 2, "slapd": 2}
"""Cases that lose nothing, and how often the server waits for the disk per change."""
EVERYTHING = ("389-ds, not durable", "389-ds, nobarrier", "slapd, dbnosync", "slapd, mapasync", "slapd, nobarrier")


@pytest.mark.parametrize("case", FLUSHES)
def test_what_waits_for_the_disk_is_not_lost(laboratory, case) -> None:
    outcome = cut(laboratory, CASES[case])
    assert outcome.lost == 0
    assert outcome.flushes_per_write == pytest.approx(FLUSHES[case], rel=0.25)


def test_without_a_sync_of_the_meta_page_at_most_the_last_change_is_lost(laboratory) -> None:
    outcome = cut(laboratory, CASES["slapd, nometasync"])
    assert outcome.lost <= 1
    assert outcome.flushes_per_write == pytest.approx(1, rel=0.25)


@pytest.mark.parametrize("case", EVERYTHING)
def test_what_does_not_wait_for_the_disk_is_lost(laboratory, case) -> None:
    outcome = cut(laboratory, CASES[case])
    assert outcome.flushes == 0
    assert outcome.lost == outcome.acknowledged


@pytest.mark.parametrize("case", ["389-ds, not durable", "slapd, dbnosync"])
def test_the_end_of_the_process_alone_loses_nothing(laboratory, case) -> None:
    assert cut(laboratory, CASES[case], power=False).lost == 0
