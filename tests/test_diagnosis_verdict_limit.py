"""The verdict limit: what is not kept is counted, and the most severe findings are kept."""

from __future__ import annotations

from diagnoses import clear, finding, not_judged
from ldapdiag.diagnosis import VerdictLimit
from ldapdiag.finding import Clear, Crashed, Finding, Judged, NotJudged, Severity, Verdict


def kept_of(*verdicts: Verdict, most: int = 2) -> list[Verdict]:
    """Return what is kept of these verdicts."""
    limit = VerdictLimit(most)
    limit.take(Judged(check="toy", verdict=one) for one in verdicts)
    return [one.verdict for one in limit.judged("toy")]


def test_up_to_the_limit_all_verdicts_are_kept_in_their_order() -> None:
    """The normal case: a report of a few clients."""
    verdicts = [not_judged(), finding("a"), clear("b"), finding("c"), clear("d"), not_judged("else")]
    assert kept_of(*verdicts) == verdicts


def test_clear_subjects_beyond_the_limit_are_counted_in_one_verdict() -> None:
    """A silent cut would look like a complete list."""
    *kept, more = kept_of(*(clear(str(number)) for number in range(1_236)))
    assert [one.subject for one in kept] == ["0", "1"]
    assert isinstance(more, Clear)
    assert more.subject == "1,234 more"


def test_subjects_not_judged_beyond_the_limit_name_the_first_reason_and_what_is_missing() -> None:
    """The next step is needed for them, too."""
    *kept, more = kept_of(*(not_judged(f"no table of app{number}", how=f"on app{number}: ss") for number in range(5)))
    assert len(kept) == 2
    assert more == NotJudged(
        subject=None,
        reason="3 more are not judged; of the first of them: no table of app2",
        missing=("access-log",),
        how="on app2: ss",
    )


def test_the_most_severe_findings_are_kept_wherever_they_come() -> None:
    """Ten thousand small findings must not hide a critical one."""
    severities = [Severity.INFO, Severity.MEDIUM, Severity.LOW, Severity.CRITICAL, Severity.MEDIUM]
    *kept, more = kept_of(*(finding(str(at), severity=severity) for at, severity in enumerate(severities)))
    assert [one.subject for one in kept] == ["1", "3"]
    assert isinstance(more, Finding)
    assert more.severity is Severity.MEDIUM
    assert more.observed == {"more_findings": 3}
    assert more.title == "3 more findings of this check, of severity medium or lower"


def test_a_crash_is_always_kept() -> None:
    """A bug is reported, however much the check yielded before it."""
    crashed = Crashed(subject=None, reason="ZeroDivisionError")
    assert crashed in kept_of(*[clear()] * 5, crashed)
