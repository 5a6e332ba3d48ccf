"""What a power cut loses under real servers is what was predicted from their settings and volumes.

The truth is what their clients received before the cut, and what the servers have after their restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lab.power_cut import CASES, cut, place_of
from lab.storage_read_back import read_back
from ldapdiag.servers.volumes.storage_rules import Window

if TYPE_CHECKING:
    from pathlib import Path

    from lab.laboratory import Laboratory
    from lab.power_cut import Outcome
    from ldapdiag.analysis.storage.server_storage import ServerStorage
    from ldapdiag.servers.volumes.storage_rules import Durability

FLUSHES = {"389-ds": 1, "389-ds mdb, not durable": 2, "slapd": 2}
"""Cases that lose nothing, and how often the server waits for the disk per change."""
EVERYTHING = ("389-ds, not durable", "389-ds, nobarrier", "slapd, dbnosync", "slapd, mapasync", "slapd, nobarrier")


def cut_and_compare(laboratory: Laboratory, case: str, folder: Path) -> Outcome:
    """Collect, cut the power, and compare what is lost with what the collection predicts."""
    read: list[ServerStorage] = []
    outcome = cut(laboratory, CASES[case], look=lambda server: read.append(read_back(server.host, folder / "it")[0]))
    (storage,) = read
    durability = storage.durability[0]
    most = most_lost(storage, durability, place_of(CASES[case]))
    assert outcome.lost <= (outcome.acknowledged if most is None else most)
    assert most is not None or outcome.lost > 0
    if outcome.flushes:
        assert outcome.flushes_per_write == pytest.approx(durability.flushes_per_write, rel=0.25)
    return outcome


def most_lost(storage: ServerStorage, durability: Durability, place: str) -> int | None:
    """Return how many of the latest changes may be lost; None: all since the last flush."""
    (volume,) = [one for one in storage.volumes if one.mount_point == place]
    if volume.options.barrier is not True:
        return None
    return {Window.NONE: 0, Window.LAST: 1}.get(durability.window)


@pytest.mark.parametrize("case", FLUSHES)
def test_what_waits_for_the_disk_is_not_lost(laboratory, tmp_path, case) -> None:
    outcome = cut_and_compare(laboratory, case, tmp_path)
    assert outcome.lost == 0
    assert outcome.flushes_per_write == pytest.approx(FLUSHES[case], rel=0.25)


def test_without_a_sync_of_the_meta_page_at_most_the_last_change_is_lost(laboratory, tmp_path) -> None:
    outcome = cut_and_compare(laboratory, "slapd, nometasync", tmp_path)
    assert outcome.lost <= 1
    assert outcome.flushes_per_write == pytest.approx(1, rel=0.25)


@pytest.mark.parametrize("case", EVERYTHING)
def test_what_does_not_wait_for_the_disk_is_lost(laboratory, tmp_path, case) -> None:
    outcome = cut_and_compare(laboratory, case, tmp_path)
    assert outcome.flushes == 0
    assert outcome.lost == outcome.acknowledged


@pytest.mark.parametrize("case", ["389-ds, not durable", "slapd, dbnosync"])
def test_the_end_of_the_process_alone_loses_nothing(laboratory, case) -> None:
    assert cut(laboratory, CASES[case], power=False).lost == 0
