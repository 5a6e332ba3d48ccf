"""The promises every check keeps. A site that has every disease proves what their findings say."""

from __future__ import annotations

import inspect
import json
import re
import runpy
from functools import cache
from pathlib import Path
from types import NoneType

import pytest

import examples
import sick_site
from ldapdiag.baseline.comparison import measured
from ldapdiag.baseline.log_extent import LogExtent
from ldapdiag.catalogue import checks_named, installed_checks
from ldapdiag.check_setting import Value, ladders
from ldapdiag.diagnosis import Diagnosis, diagnose
from ldapdiag.evidence.bundle import Bundle
from ldapdiag.exempt_accounts import ExemptAccounts
from ldapdiag.finding import NEXT, NO_COMMAND, Crashed, Finding, Judged, Severity
from ldapdiag.sources.gathering import gather
from ldapdiag_checks.catalogue import CATALOGUE

HOUSE = Path(__file__).parent.parent
CHECKS = HOUSE / "checks" / "ldapdiag_checks"
INCIDENTS = HOUSE / "tests" / "captures" / "incidents"
HEADINGS = ["What it looks at", "Severity", "Why it matters", "What to do", "When it is harmless"]
SEVERITIES = ("critical", "high", "medium", "low", "info")
STATES = {
    "access-time-updates": "an option of a mount",
    "connection-share": "an answer to a question, never worse",
    "harmful-index": "a line of the configuration",
    "index-drift": "what differs between two configurations",
    "same-volume": "where files are; the changes a second are traffic",
    "unsafe-writes": "how a volume is mounted, and settings; the changes a second are traffic",
    "unused-index": "a line of the configuration",
}
"""The checks without a main number, and what they find."""
CURES = ("no", "disallow", "check", "fix", "set", "add", "use", "test", "lint")
"""A name that begins so is that of a cure; `allow ghost-connections` must make sense."""


@cache
def contract() -> dict[str, set[str]]:
    """Return the keys of `observed` that the schema, and with it docs/contract.md, promises, by check."""
    defined = json.loads((HOUSE / "ldapdiag" / "report" / "schemas" / "report.json").read_text())["$defs"]
    rows = ((one["if"]["properties"], one["then"]["properties"]) for one in defined["FindingRow"]["allOf"])
    refs = {known["check"]["const"]: has["observed"]["anyOf"][0]["$ref"].rpartition("/")[2] for known, has in rows}
    return {check: set(defined[name]["required"]) for check, name in refs.items()}


@cache
def sick() -> Diagnosis:
    return diagnose(sick_site.bundle(), installed_checks())


def as_written(default: Value) -> object:
    """Return a setting as a configuration file has it."""
    return list(default.accounts) if isinstance(default, ExemptAccounts) else default


@cache
def captured() -> tuple[Judged, ...]:
    """Return the verdicts on the captures of incidents."""
    folders = [*INCIDENTS.iterdir(), HOUSE / "examples" / "incident", HOUSE / "examples" / "storage"]
    return tuple(one for folder in folders if folder.is_dir() and folder.name != "truth" for one in judged_in(folder))


def judged_in(folder: Path) -> tuple[Judged, ...]:
    """Return the verdicts on a folder of evidence."""
    return diagnose(gather([str(folder)]), installed_checks()).judged


def findings(diagnosis: Diagnosis) -> set[tuple[str, str]]:
    """Return what was found, as check and subject."""
    return {(one.check, one.verdict.subject) for one in diagnosis.judged if isinstance(one.verdict, Finding)}


@pytest.mark.parametrize("check", installed_checks(), ids=lambda check: check.id)
class TestEveryCheck:
    def test_has_a_file_of_its_name(self, check) -> None:
        assert (CHECKS / f"{check.id.replace('-', '_')}.py").is_file()

    def test_is_named_after_the_disease(self, check) -> None:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", check.id)
        assert check.id.partition("-")[0] not in CURES

    def test_has_a_title_on_one_line(self, check) -> None:
        first, second, *_ = inspect.cleandoc(check.manual).splitlines()
        assert first.endswith(".")
        assert len(first) <= 100
        assert second == ""

    def test_has_a_manual_page_with_its_headings_in_order(self, check) -> None:
        assert re.findall(r"^## (.+)$", inspect.cleandoc(check.manual), re.MULTILINE) == HEADINGS

    def test_defines_its_severities_under_their_heading(self, check) -> None:
        listed = check.manual.partition("## Severity")[2].partition("## ")[0]
        assert any(re.search(rf"^ *- .*\b{severity}\b.*:", listed, re.MULTILINE) for severity in SEVERITIES)

    def test_has_a_test_of_its_name(self, check) -> None:
        assert (HOUSE / "tests" / "checks" / f"test_{check.id.replace('-', '_')}.py").is_file()

    def test_is_in_the_contract(self, check) -> None:
        assert check.id in contract()

    def test_observes_exactly_what_the_contract_says(self, check) -> None:
        found = [one.verdict for one in sick().judged if one.check == check.id and isinstance(one.verdict, Finding)]
        assert found, "tests/sick_site.py does not have this disease: add it"
        for finding in found:
            assert set(finding.observed) == contract()[check.id]
            assert json.loads(json.dumps(dict(finding.observed))) == finding.observed

    def test_names_a_number_that_shows_whether_it_is_worse(self, check) -> None:
        assert (check.number is None) is (check.id in STATES)
        for number in check.number.alternatives if check.number else ():
            assert type(number.name) is str  # no direction of `Worse` that took its place
            assert number.of or number.quantity not in {"spent", "share"}
            Severity[number.up_to.upper()]
            keys = [key for key in (number.key, number.of, *(key for key, _ in number.signs)) if key]
            assert set(keys) <= contract()[check.id]
            for one in (*sick().judged, *captured()):
                if one.check == check.id and isinstance(one.verdict, Finding):
                    values = [one.verdict.observed[key] for key in keys]
                    assert {type(value) for value in values} <= {int, float, NoneType}  # null: not known

    def test_a_finding_with_its_number_can_be_compared(self, check) -> None:
        log = LogExtent(seconds=60, operations=1_000)
        numbers = check.number.alternatives if check.number else ()
        for one in (*sick().judged, *captured()):
            if one.check == check.id and isinstance(one.verdict, Finding):
                observed = one.verdict.observed
                known = any(observed[number.key] is not None for number in numbers)
                assert not known or any(measured(number, observed, log) for number in numbers)

    def test_states_what_its_settings_are_by_default(self, check) -> None:
        assert ("by default" in check.manual.lower()) or not check.settings
        for higher, lower in ladders(check.settings):
            assert higher.default != lower.default
        for one in check.settings:
            assert re.fullmatch(r"[^.A-Z][^.]+", one.meaning)

    def test_defines_each_severity_it_uses(self, check) -> None:
        manual = check.manual.lower()
        for one in sick().judged:
            if one.check == check.id and isinstance(one.verdict, Finding):
                assert str(one.verdict.severity) in manual


def test_every_check_judges_the_same_with_its_defaults_as_a_configuration() -> None:
    written = [
        check.configured({one.name: as_written(one.default) for one in check.settings}) for check in installed_checks()
    ]
    assert diagnose(sick_site.bundle(), written).judged == sick().judged


def test_every_file_is_in_the_catalogue() -> None:
    files = {path.stem.replace("_", "-") for path in CHECKS.glob("[a-z]*.py")} - {
        "catalogue",
        "index-checks",
        "storage-checks",
    }
    assert files == {check.id for check in CATALOGUE}


def test_no_two_checks_share_a_name() -> None:
    ids = [check.id for check in installed_checks()]
    assert len(ids) == len(set(ids))


def test_the_catalogue_is_fresh() -> None:
    made = runpy.run_path(str(HOUSE / "checks" / "make_readme.py"))["readme"]() + "\n"
    written = (HOUSE / "checks" / "README.md").read_text()
    assert written == made, "checks/README.md is stale: run 'python checks/make_readme.py'"


def test_no_check_crashes_on_a_sick_site() -> None:
    assert [one for one in sick().judged if isinstance(one.verdict, Crashed)] == []


def test_no_two_findings_share_an_id() -> None:
    ids = [
        (one.check, one.verdict.key or one.verdict.subject) for one in sick().judged if isinstance(one.verdict, Finding)
    ]
    assert len(ids) == len(set(ids))


class TestRemovingEvidence:
    def test_never_adds_a_finding(self) -> None:
        """No parameters: each worker of a run would make the site, to know how many there are."""
        facts = sick_site.bundle().facts
        for left_out in examples.some(range(len(facts)), 12):
            poorer = diagnose(Bundle(facts=facts[:left_out] + facts[left_out + 1 :]), installed_checks())
            assert findings(poorer) - findings(sick()) == set(), left_out
            assert poorer.crashed == (), left_out

    def test_leaves_everything_unjudged_in_the_end(self) -> None:
        nothing = diagnose(Bundle(), installed_checks())
        assert findings(nothing) == set()
        assert {one.check for one in nothing.judged} == {check.id for check in installed_checks()}


def test_every_finding_that_is_not_info_ends_in_an_action_or_says_why_there_is_none(corpus: Path) -> None:
    folders = examples.some(sorted(folder for folder in corpus.iterdir() if folder.is_dir()), 4)
    cases = [one for folder in folders for one in judged_in(folder)]
    found = [
        (one.check, one.verdict)
        for one in (*sick().judged, *captured(), *cases)
        if isinstance(one.verdict, Finding) and one.verdict.severity > Severity.INFO
    ]
    assert len({check for check, _ in found}) >= len(installed_checks()) - len(STATES), "most checks find something"
    explained = {one.title: re.findall(f"^(?:{NEXT}|{NO_COMMAND})(.*)", one.detail, re.MULTILINE) for _, one in found}
    assert all(len(sentence) > 20 for sentences in explained.values() for sentence in sentences)
    without = {f"{check}: {one.title}" for check, one in found if not one.remedies and not explained[one.title]}
    assert without == set()
    assert not [
        (check, remedy.title) for check, one in found for remedy in one.remedies if not (remedy.text and remedy.target)
    ]


def test_a_named_check_is_that_of_the_catalogue() -> None:
    assert all(checks_named([one.id]) == (one,) for one in installed_checks())
    assert checks_named(["idle-timeout", "ghost-connections"]) == installed_checks()[:2]
