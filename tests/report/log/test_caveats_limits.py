"""Limits of the numbers of an access log stand at the head of every page that is made from the report object."""

from __future__ import annotations

from typing import Any

import pytest

import documents
from ldapdiag.report.html import page as html_page
from ldapdiag.report.log.caveats import left_out, limits
from ldapdiag.report.markdown import page as markdown_page

WILD = (documents.log()["timeline"] or {}) | {
    "left_out": [{"records": 1, "from": "1999-01-01T00:00:00Z", "to": "1999-01-01T00:00:01Z"}]
}
LIMITED: dict[str, dict[str, Any]] = {
    "Interrupted: ": {"stopped": True},
    "Only selected operations are counted": {"selection": {"clients": ["10.0.0.1"]}},
    "The log reports 3 lost lines": {"lost_lines": 3},
    "Too many different filters, clients: ": {"caps_hit": ["shapes", "clients"]},
    "1 record is of 1999-01-01, far from all others": {"timeline": WILD},
    "2 of 360 lines not understood": {"lines_not_understood": 2, "lines": 360},
}


def test_a_whole_log_has_no_limits() -> None:
    assert list(limits(documents.log())) == []


@pytest.mark.parametrize("sentence", LIMITED)
def test_each_limit_is_stated_before_the_numbers(sentence: str) -> None:
    report = documents.log() | LIMITED[sentence]
    page, told = html_page.render(report), markdown_page.render(report)
    assert 0 < page.index(sentence) < page.index("<section")
    assert 0 < told.index(sentence) < told.index("| searches |")


def test_a_file_that_is_not_counted_is_named_with_the_reason() -> None:
    report = documents.log()
    copy = {"target": "ds1/copy", "reason": "has the same records as ds1/access, which is read"}
    streams = [report["streams"][0] | {"copies_left_out": [copy]}, *report["streams"][1:]]
    assert list(left_out(report | {"streams": streams})) == [(copy["target"], copy["reason"])]
    assert copy["reason"] in html_page.render(report | {"streams": streams})
    assert f"- ds1/copy {copy['reason']}; it is left out" in markdown_page.render(report | {"streams": streams})
