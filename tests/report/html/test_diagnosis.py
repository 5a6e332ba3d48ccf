"""The head of a page: what is missing comes before what is wrong, and neither looks like an all-clear."""

from __future__ import annotations

from typing import Any

import pytest

import documents
from ldapdiag.report.html.diagnosis import actions, counts, first_of, key_numbers, lead
from ldapdiag.report.html.listing import IN_FULL, listing

NO_EVIDENCE = {"subject": None, "reason": "no table", "missing": [], "how": None}


def verdicts(**outcomes: int) -> list[dict[str, Any]]:
    """Return so many verdicts of each outcome, each of a check of its own."""
    return [
        {"check": f"{outcome}-{number}", "outcome": outcome.replace("_", "-")} | NO_EVIDENCE
        for outcome, many in outcomes.items()
        for number in range(many)
    ]


def document(*findings: dict[str, Any], shortfall: Any = None, **outcomes: int) -> dict[str, Any]:
    return {"findings": findings, "gaps": [], "disabled": [], "shortfall": shortfall, "verdicts": verdicts(**outcomes)}


def test_the_worst_finding_is_the_title_with_the_first_sentence_of_its_detail() -> None:
    first = documents.incident()["findings"][0]
    shown = lead(documents.incident())
    assert (shown.badge, shown.title) == ("critical", first["title"])
    assert shown.sentences == [first["detail"].split("\n")[0]]
    assert shown.is_finding


@pytest.mark.parametrize(
    ("report", "badge"),
    [
        (document(clear=30, not_judged=4), "clear"),
        (document(clear=3, not_judged=31), "unknown"),
        (document(clear=6, not_judged=4), "unknown"),
        (document(clear=30, crashed=1), "crashed"),
        (document(documents.incident()["findings"][0], shortfall={"reason": "no table", "how": "run ss"}), "not read"),
        (document(documents.incident()["findings"][-1], clear=30), "clear"),
    ],
    ids=["clear", "thin", "much is lacking", "crashed", "not read", "info alone"],
)
def test_what_is_missing_is_the_verdict_before_what_is_clear(report: dict[str, Any], badge: str) -> None:
    assert lead(report).badge == badge


def test_counts_lead_to_the_first_finding_of_each_severity() -> None:
    report = documents.sick()
    found = {one.text.split()[1]: one for one in counts(report)}
    for severity in ("critical", "high", "medium", "low", "info"):
        first = [one["severity"] for one in report["findings"]].index(severity) + 1
        assert found[severity].anchor == (f"finding-{first}" if first <= IN_FULL else "findings")
        assert found[severity].text == f"{sum(one['severity'] == severity for one in report['findings'])} {severity}"


def test_actions_are_the_remedies_in_the_order_of_the_findings_each_once() -> None:
    report = documents.incident()
    titles = [remedy["title"] for finding in report["findings"] for remedy in finding["remedies"]]
    steps = actions(listing(report["findings"]), first_of(report))
    shown = [one for step in steps for one in step]
    assert [one.title for one in shown] == list(dict.fromkeys(titles))[:7]
    assert [[one.is_alternative for one in step] for step in steps if len(step) > 1] == [[False, True]] * 2
    assert (shown[0].title, shown[2].needs) == (
        "drain: close the 268 dead connections from 10.77.2.2 now",
        "reaches connections opened, or bound, from now on",
    )


def test_numbers_to_quote_are_those_of_the_report() -> None:
    assert dict(key_numbers(documents.incident())) == {
        "a middlebox drops its state after": "30 s",
        "longest idle time of a connection not known to be dead": "8.12 s",
        "a ghost connection lasts": "975 s",
        "recommended idle timeout of the server": "300 s",
    }
    assert key_numbers(documents.incident() | {"findings": []}) == []
