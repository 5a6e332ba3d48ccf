"""A report as JUnit XML, for the test pages of CI systems (GitLab, Jenkins): a test case for each verdict.

What makes the exit code 1 is a failure, a crashed check an error; a check that could not judge is skipped. Other
findings are passed tests with their text as output. The form is the one that these systems read; no standard exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ldapdiag.baseline.changes import GROWN
from ldapdiag.finding import Severity
from ldapdiag.report.neutral import neutral
from ldapdiag.report.verdicts import acceptance_of, is_accepted, severity_of

if TYPE_CHECKING:
    from collections.abc import Mapping

COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}
"""Elements of test cases that have not passed, and the attribute that counts them."""
LONGEST = 20_000


def render(report: Mapping[str, Any], *, fail_on: Severity | None, only_new: bool = False, strict: bool = False) -> str:
    """Return the report; `fail_on`: the lowest severity that fails, None: none does; `only_new`: since the baseline.

    `strict`: what was not judged fails, too.
    """
    suite = Element("testsuite", name="ldapdiag", timestamp=report["taken_at"])
    for one in report["findings"]:
        case = _case(suite, one["check"], one["server"], one["subject"])
        if fail_on is not None and _fails(one, fail_on, only_new=only_new):
            _end(case, "failure", one["title"], type=one["severity"]).text = _text(one["detail"])
        else:
            words = (f"{one['severity']}: {one['title']}", one["detail"], acceptance_of(one))
            SubElement(case, "system-out").text = _text("\n".join(filter(None, words)))
    ends: Mapping[str, str] = {"crashed": "error", "not-judged": "failure" if strict else "skipped"}
    for one in report["verdicts"]:
        if one["outcome"] != "finding":
            case = _case(suite, one["check"], one["about"], one["subject"])
            if end := ends.get(one["outcome"]):
                _end(case, end, one["reason"] or one["outcome"])
    if report["shortfall"]:
        _end(_case(suite, "evidence", None, "was not read"), "error", report["shortfall"]["reason"])
    suite.set("tests", str(len(suite)))
    for name, attribute in COUNTED.items():
        suite.set(attribute, str(len(suite.findall(f"*/{name}"))))
    indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suite, encoding="unicode")}\n'


def _end(case: Element, name: str, message: str, **attributes: str) -> Element:
    return SubElement(case, name, {"message": neutral(message), **attributes})


def _case(suite: Element, check: str, server: str | None, subject: str | None) -> Element:
    name = neutral(subject or check)
    return SubElement(suite, "testcase", classname=f"{neutral(server)}.{check}" if server else check, name=name)


def _fails(finding: Mapping[str, Any], fail_on: Severity, *, only_new: bool) -> bool:
    counts = severity_of(finding) >= fail_on and not is_accepted(finding)
    # What could not be compared (null) counts as new, as in cli.judging.exit_code.
    return counts and (not only_new or finding["change"] in {None, *GROWN} or bool(finding["acceptance"]))


def _text(text: str) -> str:
    return neutral(text, lines=True, longest=LONGEST)
