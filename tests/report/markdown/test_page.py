"""Reports as Markdown: complete, in a size that trackers accept, and without an element that evidence would add."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from command import INCIDENT, ldapdiag
from ldapdiag.report.markdown.page import render
from ldapdiag.report.markdown.writing import MOST_BYTES

ACCESS_LOG = Path(__file__).parents[2] / "captures" / "access-logs" / "389-pools.head500.access"
AUDIT = INCIDENT.parent / "audit"
STORAGE = INCIDENT.parent / "storage"
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
ELEMENTS = {"p", "h3", "h4", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code", "strong"}


@pytest.fixture(
    scope="module",
    params=[("diagnose", INCIDENT), ("indexes", AUDIT), ("storage", STORAGE), ("log", ACCESS_LOG)],
    ids=str,
)
def document(request: pytest.FixtureRequest) -> dict[str, Any]:
    return ldapdiag(*request.param, "--format", "json").report


def elements(markdown: str) -> set[str]:
    tokens = [one for token in PARSER.parse(markdown) for one in (token, *(token.children or ()))]
    assert not any(token.type.startswith("html") for token in tokens)
    return {token.tag for token in tokens if token.tag}


def with_text(value: Any, text: str, key: str = "") -> Any:
    """Return a report with a text in the place of each text that may come from outside."""
    match value:
        case dict():
            return {name: with_text(one, text, name) for name, one in value.items()}
        case list():
            return [with_text(one, text, key) for one in value]
        case str() if key not in {"schema", "severity", "confidence", "outcome", "kind", "needs"}:
            return text
    return value


def test_all_commands_are_there_unchanged_with_the_risk_above() -> None:
    report = ldapdiag("diagnose", INCIDENT, "--format", "json").report
    told = ldapdiag("diagnose", INCIDENT, "--format", "markdown").text
    fences = [token.content for token in PARSER.parse(told) if token.type == "fence"]
    remedies = [one for finding in report["findings"] for one in finding["remedies"] if one["kind"] != "advice"]
    assert remedies
    for one in remedies:
        for name in ("text", "verify", "undo"):
            assert not one[name] or f"{one[name]}\n" in fences
        assert told.index("Risk: ", told.index(one["title"])) < told.index(
            one["text"].split("\n")[0], told.index(one["title"])
        )


def test_it_fits_and_has_only_the_elements_of_a_report(document: dict[str, Any]) -> None:
    told = render(document)
    assert len(told.encode()) <= MOST_BYTES
    assert elements(told) <= ELEMENTS
    assert told.startswith("### ")


@given(text=st.sampled_from(["<img src=x>", "`", "```\n# x", "|", "[a](b)", "\n\n- x", "&copy;", "# ", "🙈" * 500]))
def test_evidence_adds_no_element(document: dict[str, Any], text: str) -> None:
    told = render(with_text(document, text))
    assert len(told.encode()) <= MOST_BYTES
    assert elements(told) <= ELEMENTS


def test_what_does_not_fit_is_said() -> None:
    report = ldapdiag("diagnose", INCIDENT, "--format", "json").report
    many = report | {"findings": [copy.deepcopy(one) for one in report["findings"] for _ in range(50)]}
    told = render(many)
    assert len(told.encode()) <= MOST_BYTES
    assert "Cut to 60 kB: " in told
    assert " findings left out. The report as JSON contains all." in told
    assert "### Not judged" in told


def test_nothing_found_is_a_heading() -> None:
    report = ldapdiag("diagnose", INCIDENT, "--format", "json").report
    told = render(report | {"findings": [], "shortfall": {"reason": "no log", "how": "name one"}})
    assert told.startswith("### No finding\n\n**NOT READ:** no log; name one\n")


def test_a_plan_states_how_much_log_it_is_from_and_whether_the_configuration_was_read() -> None:
    report = ldapdiag("indexes", AUDIT, "--format", "json").report
    plan = report["indexes"][0] | {"log_seconds": 172.8}
    told = [render(report | {"indexes": [plan | {"configured": one}]}) for one in (True, False)]
    assert ["This is possible only: " in one for one in told] == [False, True]
    assert all(" in 2 min 52 s of log, " in one for one in told)
