"""Refusals by rules of slapd that allow an account no search, beside scans of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from analysis.indexes.test_predictions import SLAPD
from incidents import diagnosed, findings
from ldapdiag.analysis.indexes.plan import IndexPlan
from ldapdiag.servers.openldap import account_limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOO, BAR = (f"uid={name},ou=services,dc=example,dc=com" for name in ("foo", "bar"))
DISABLED = f'limits dn.exact="{FOO}" size.unchecked=disabled\n'
REFUSED, SCANNED = "err=11 qtime=0.000010 etime=0.000050 nentries=0", "err=0 qtime=0.000010 etime=0.010000 nentries=1"
INDEXED = "err=0 qtime=0.000010 etime=0.000200 nentries=1"


def log(refused: int, *, searching: int = 0, result: str = REFUSED) -> Iterator[str]:
    """Yield slapd's log of scans by one account, and of refusals and searches by another."""
    number = 0
    kinds = (BAR, "uid", INDEXED, 20), (BAR, "description", SCANNED, 20)
    kinds += (FOO, "description", result, refused), (FOO, "description", SCANNED, searching)
    for name, attribute, ending, times in kinds:
        for _ in range(times):
            number += 1
            begin = f"{0x6B02E5B9 + number:08x}.00000000 0x7f01 conn={number}"
            yield f"{begin} fd=12 ACCEPT from IP=10.0.0.5:{4000 + number % 60000} (IP=0.0.0.0:389)"
            yield f'{begin} op=0 BIND dn="{name}" method=128'
            yield f'{begin} op=0 BIND dn="{name}" mech=SIMPLE bind_ssf=0 ssf=0'
            yield f"{begin} op=0 RESULT tag=97 err=0 qtime=0.000001 etime=0.000100 text="
            yield f'{begin} op=1 SRCH base="dc=example,dc=com" scope=2 deref=0 filter="({attribute}=x)"'
            yield f"{begin} op=1 SEARCH RESULT tag=101 {ending} text="
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


ENDED = "err={code} qtime=0.000010 etime=2.000000 nentries=0"
UNKNOWN = "group=cn=g,dc=x time=1"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (
            "limits users time=2\n",
            f"rule {{0}} of the limits of {{1}}mdb (users) applies to {FOO}; its time limit is 2 s.",
        ),
        ("timelimit 2\n", "no rule of the limits of {1}mdb matches " + FOO + "; its time limit is 2 s."),
        ("limits users time.soft=2 time.hard=9\n", "its time limit is 2 s, and longer for clients that ask for it."),
        ("limits users time=unlimited\n", "it has no time limit: the client asked for one."),
        (
            "timelimit 9\nlimits users size=5\n",
            "whether it has the time limit of the database depends on which",
        ),
        (f"limits {UNKNOWN}\n", "Which time limit applies is not judged: rule {0}"),
        ("", ""),
    ],
)
@pytest.mark.parametrize("code", [3, 4])
def test_the_time_limit_that_ends_a_scan_is_traced_to_its_rule(tmp_path, limits, said, code) -> None:
    """A size limit is no question of indexes: the scan would have returned more."""
    (tmp_path / "slapd.log").write_text("\n".join(log(30, result=ENDED.format(code=code))) + "\n")
    (tmp_path / "slapd.conf").write_text(SLAPD + limits)
    (found,) = findings(diagnosed(tmp_path), "missing-index").values()
    ended = "30 of them ended before the scan did, at a time limit of the server or the client (code 3)."
    assert (ended in found.detail) is (code == 3)
    assert ("time limit" in found.detail) is (code == 3)
    if code == 3:
        assert said in found.detail
        assert said or "By the configuration" not in found.detail


def test_the_limits_of_an_account_are_looked_up_once(tmp_path, monkeypatch) -> None:
    asked: list[tuple[str, str]] = []
    original = account_limits._matches

    def counting(rule, account, base):
        asked.append((rule.selector, account))
        return original(rule, account, base)

    monkeypatch.setattr(account_limits, "_matches", counting)
    lines = list(log(30))
    more = [line.replace('"(description=', '"(title=').replace("0x7f01 conn=", "0x7f01 conn=9") for line in lines]
    (tmp_path / "slapd.log").write_text("\n".join([*lines, *more]) + "\n")
    (tmp_path / "slapd.conf").write_text(SLAPD + "limits anonymous size.unchecked=1\nlimits users size.unchecked=2\n")
    assert findings(diagnosed(tmp_path), "missing-index")
    assert sorted(asked) == sorted(set(asked))
    assert asked
