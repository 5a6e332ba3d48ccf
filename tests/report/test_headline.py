"""What a report states first: counts, the worst finding or that nothing is wrong, and what to do."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING

import pytest

import diagnoses
import documents
import storage_site
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import diagnose
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.finding import NEXT, Clear, Crashed, NotJudged, Severity
from ldapdiag.remedy import Remedy, RemedyKind, Where
from ldapdiag.report.as_text import Screen
from ldapdiag.report.headline import CLEAR, CURED_BY, UNKNOWN, first_step, headline, outcomes
from ldapdiag.report.page import Page
from report.screens import situation

if TYPE_CHECKING:
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.finding import Verdict


class TestHeadline:
    def test_counts_are_of_all_verdicts(self) -> None:
        diagnosis = situation("incident")
        severities = [str(one.severity) for one in diagnosis.findings]
        kinds = {"clear": Clear, "not judged": NotJudged, "crashed": Crashed}
        for part in outcomes(documents.of(diagnosis)):
            number, _, name = part.partition(" ")
            counted = sum(isinstance(one.verdict, kinds[name]) for one in diagnosis.judged) if name in kinds else 0
            assert int(number) == (counted if name in kinds else severities.count(name))

    def test_thin_evidence_is_no_all_clear(self) -> None:
        first = headline(documents.of(situation("thin-evidence")))
        assert (first.label, "not an all-clear" in first.text) == (UNKNOWN, True)
        assert "whether the connections exist at both ends" in first.detail

    def test_what_to_collect_is_in_the_order_of_the_checks_that_it_closes(self) -> None:
        thin = documents.of(situation("thin-evidence"))
        step = first_step(thin, headline(thin))
        assert step is not None
        numbers = [int(number) for number in re.findall(r"\((\d+) checks?\)", step.text)]
        assert len(numbers) == 3
        assert numbers == sorted(numbers, reverse=True)

    def test_a_healthy_site_is_clear(self) -> None:
        assert headline(documents.of(situation("all-clear"))).label == CLEAR

    def test_an_all_clear_with_gaps_names_their_number(self) -> None:
        first = headline(documents.of(diagnoses.diagnosis(diagnoses.check("well", diagnoses.clear()))))
        assert (first.label, first.text) == (CLEAR, "Nothing wrong found by 1 check; 1 gap in the evidence")

    def test_a_small_part_that_is_not_judged_is_stated_beside_the_all_clear(self) -> None:
        document = documents.of(diagnoses.diagnosis(diagnoses.check("well", diagnoses.clear())))
        unjudged = {"searches": 1, "of_searches": 90, "etime_seconds": 0, "of_etime_seconds": 0}
        first = headline({**document, "gaps": [], "indexes": [{"server": "ds1", "unjudged": unjudged}]})
        assert (first.label, first.text) == (
            CLEAR, "Nothing wrong found by 1 check; 1 of 90 searches not judged at ds1",
        )  # fmt: skip

    def test_nothing_judged_is_no_all_clear(self) -> None:
        first = headline(documents.of(diagnoses.diagnosis()))
        assert (first.label, first.text) == (UNKNOWN, "No check had anything to judge: not an all-clear")

    def test_one_check_that_lacks_evidence_is_singular(self) -> None:
        first = headline(documents.of(diagnoses.diagnosis(diagnoses.check("open", diagnoses.not_judged()))))
        assert "1 of 1 check lacks evidence" in first.text

    @pytest.mark.parametrize("count", range(9))
    def test_removing_checks_that_judge_never_makes_it_clear(self, count: int) -> None:
        checks = [diagnoses.check(f"well{number}", diagnoses.clear()) for number in range(count)]
        checks += [diagnoses.check(f"open{number}", diagnoses.not_judged()) for number in range(2)]
        first = headline(documents.of(diagnoses.diagnosis(*checks)))
        assert (first.label == CLEAR) == (count >= 6)

    def test_the_cure_of_another_check_is_what_its_manual_page_refers_to(self) -> None:
        pages = {check.id: check.manual for check in installed_checks()}
        assert [
            check for check, cure in CURED_BY.items() if cure not in pages[check].partition("## What to do")[2]
        ] == []

    @pytest.mark.parametrize(
        ("helped", "expected"), [("(uid=*?*)", "Index uid"), ("(cn=?)", "ldapdiag indexes prints it")]
    )
    def test_the_first_step_of_a_search_is_an_index_that_helps_it(self, helped: str, expected: str) -> None:
        remedy = Remedy(
            title="Index uid",
            target="ldap",
            where=Where.SERVER,
            kind=RemedyKind.ADVICE,
            text="Index uid.",
            changes="",
            risk="",
            undo="",
            verify="",
        )
        slow = diagnoses.finding(
            severity=Severity.CRITICAL, observed={"shape": "(uid=*?*)"}, detail=f"{NEXT}ldapdiag indexes prints it"
        )
        index = diagnoses.finding("uid at ldap", observed={"shapes": [helped]}, remedies=(remedy,))
        site = diagnoses.diagnosis(diagnoses.check("costly-search", slow), diagnoses.check("missing-index", index))
        report = documents.of(site)
        step = first_step(report, headline(report))
        assert step is not None
        assert step.text == expected

    def test_a_finding_below_severity_is_no_headline_and_no_all_clear(self) -> None:
        low = diagnoses.diagnosis(diagnoses.check("wrong", diagnoses.finding(severity=Severity.LOW)))
        page = Page(StringIO(), 80)
        assert Screen(page, documents.of(low), verbose=False, at_least=Severity.HIGH).first() is None


class TestOfStorage:
    def test_an_open_question_about_a_power_cut_is_no_all_clear(self) -> None:
        diagnosis = of_storage(diagnoses.not_judged("no ext4-options in the evidence"))
        first = headline(documents.of(diagnosis))
        assert (first.label, first.text) == (
            UNKNOWN,
            "Nothing wrong found, but it is not known whether a power cut loses acknowledged changes",
        )

    def test_without_one_is_an_all_clear(self) -> None:
        assert label_of(of_storage()) == CLEAR

    def test_of_everything_it_is_one_check_of_many(self) -> None:
        assert label_of(replace(of_storage(diagnoses.not_judged()), kind=ReportKind.ALL)) == CLEAR


def of_storage(*more: Verdict) -> Diagnosis:
    """Return a diagnosis in which the check on power cuts, and three others, found nothing wrong."""
    checks = [diagnoses.check(name, diagnoses.clear()) for name in ("one", "two", "three")]
    decisive = diagnoses.check("unsafe-writes", diagnoses.clear(), *more)
    return diagnose(storage_site.bundle(), [*checks, decisive], kind=ReportKind.STORAGE)


def label_of(diagnosis: Diagnosis) -> str:
    return headline(documents.of(diagnosis)).label
