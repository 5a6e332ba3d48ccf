"""Candidate idle timeouts: those that the log is long enough to judge, the recommended one by name."""

from __future__ import annotations

from typing import Any

from ldapdiag.report.html.diagnosis import MOST, candidate_tables


def candidate(seconds: int, **more: Any) -> dict[str, Any]:
    counts = {"cut_per_day": 0.5, "most_cut_per_day": 0.5, "peak": 12, "freed_seconds": 7200}
    return {"timeout_seconds": seconds, "first_client": None, "first_account": None} | counts | more


def observed(*rows: dict[str, Any], log_seconds: float | None = 86_400) -> dict[str, Any]:
    return {"observed": {"replay": rows, "log_seconds": log_seconds, "recommended_seconds": 300}}


def test_each_candidate_below_the_length_of_the_log_is_a_row() -> None:
    cut = {"first_client": "10.0.0.1", "first_account": "uid=x", "most_cut_per_day": 3.0, "peak": None}
    ((table,),) = candidate_tables([observed(candidate(60, **cut), candidate(300), candidate(86_400))])
    assert table.rows == [
        ["60 s", "0.5 to 3", "not known", "2.0", "uid=x from 10.0.0.1"],
        ["300 s (recommended)", "0.5", "12", "2.0", ""],
    ]


def test_without_a_log_there_is_no_table() -> None:
    assert candidate_tables([observed(candidate(60), log_seconds=None), {"observed": {}}]) == [(), ()]


def test_of_many_findings_the_first_few_have_a_table() -> None:
    tables = candidate_tables([{"observed": {}}, *[observed(candidate(60))] * 20])
    assert [len(one) for one in tables] == [0, *[1] * MOST, *[0] * (20 - MOST)]
