"""The tables of an index plan: each planned index with its saving and bounds, and no table without rows."""

from __future__ import annotations

import documents
from ldapdiag.report.html.diagnosis import index_tables
from ldapdiag.wording import duration


def test_each_planned_index_is_a_row_with_its_saving_and_bounds() -> None:
    plan = documents.sick()["indexes"][0]
    first = index_tables([plan])[0]
    assert [row[0] for row in first.rows] == [one["attribute"] for one in plan["plan"]]
    for row, one in zip(first.rows, plan["plan"], strict=True):
        assert row[1:3] == [", ".join(one["types"]), one["backend"]]
        assert row[3:6] == [duration(one["saves_seconds"]), *(duration(one["saves"][end]) for end in ("least", "most"))]


def test_a_plan_without_the_index_configuration_is_a_possible_one() -> None:
    plan = documents.sick()["indexes"][0]
    captions = [index_tables([plan | {"configured": one}])[0].caption for one in (True, False)]
    assert ["Possible" in caption for caption in captions] == [False, True]


def test_a_table_without_rows_is_left_out() -> None:
    empty = {
        "server": "ldap",
        "configured": True,
        "plan": [],
        "no_index_helps": [],
        "perhaps_pages": [],
        "not_built": [],
        "not_worth_an_index": [],
        "not_used": [],
    }
    assert index_tables([empty]) == []
    unused = [{"attribute": "cn", "types": ["eq"], "backend": "userroot"}]
    (table,) = index_tables([empty | {"not_used": unused}])
    assert table.rows == [["cn", "eq", "userroot"]]
