"""Refusals by rules of slapd that allow an account no search, beside scans of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from analysis.indexes.test_predictions import SLAPD
from incidents import diagnosed
from ldapdiag.analysis.indexes.plan import IndexPlan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOO, BAR = (f"uid={name},ou=services,dc=example,dc=com" for name in ("foo", "bar"))
DISABLED = f'limits dn.exact="{FOO}" size.unchecked=disabled\n'
REFUSED, SCANNED = "err=11 qtime=0.000010 etime=0.000050 nentries=0", "err=0 qtime=0.000010 etime=0.010000 nentries=1"
INDEXED = "err=0 qtime=0.000010 etime=0.000200 nentries=1"


def log(refused: int, *, searching: int = 0) -> Iterator[str]:
    """Yield slapd's log of scans by one account, and of refusals and searches by another."""
    number = 0
    kinds = (BAR, "uid", INDEXED, 20), (BAR, "description", SCANNED, 20)
    kinds += (FOO, "description", REFUSED, refused), (FOO, "description", SCANNED, searching)
    for name, attribute, result, times in kinds:
        for _ in range(times):
            number += 1
            begin = f"{0x6B02E5B9 + number:08x}.00000000 0x7f01 conn={number}"
            yield f"{begin} fd=12 ACCEPT from IP=10.0.0.5:{4000 + number % 60000} (IP=0.0.0.0:389)"
            yield f'{begin} op=0 BIND dn="{name}" method=128'
            yield f'{begin} op=0 BIND dn="{name}" mech=SIMPLE bind_ssf=0 ssf=0'
            yield f"{begin} op=0 RESULT tag=97 err=0 qtime=0.000001 etime=0.000100 text="
            yield f'{begin} op=1 SRCH base="dc=example,dc=com" scope=2 deref=0 filter="({attribute}=x)"'
            yield f"{begin} op=1 SEARCH RESULT tag=101 {result} text="
            yield f"{begin} op=2 UNBIND"
            yield f"{begin} fd=12 closed"


def planned(folder: Path, limits: str, lines: Iterator[str]) -> IndexPlan:
    (folder / "slapd.log").write_text("\n".join(lines) + "\n")
    (folder / "slapd.conf").write_text(SLAPD + limits)
    (plan,) = diagnosed(folder).facts.every(IndexPlan)
    return plan


def test_refusals_of_an_account_that_may_not_search_take_nothing_from_what_an_index_saves(tmp_path) -> None:
    plan = planned(tmp_path, DISABLED, log(3000))
    assert [row.attribute for row in plan.indexes] == ["description"]
    (row,) = plan.indexes
    assert row.refused == 0


@pytest.mark.parametrize(
    ("later", "searching", "refused"),
    [("limits users size.unchecked=500\n", 0, 200), ("", 3, 200), ("", 0, 0)],
    ids=["another rule may be in force", "it did search", "it may not search"],
)
def test_whether_it_may_not_search_has_to_be_certain(tmp_path, later, searching, refused) -> None:
    plan = planned(tmp_path, DISABLED + later, log(200, searching=searching))
    assert sum(row.refused for row in plan.indexes) == refused
