"""The verdicts of a report object: the first sentence where nothing wrong was found, and the evidence they lack."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from ldapdiag.finding import Acceptance, Judged, NotJudged, Severity, Standing
from ldapdiag.report.headline import NOTHING_WORSE, NOTHING_WRONG, Headline, is_reserved, reserved, without_finding
from ldapdiag.report.not_judged import lacks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ldapdiag.report.not_judged import Lack


def is_accepted(finding: Mapping[str, Any]) -> bool:
    """Return whether the site has accepted a finding, so that it counts for no gate."""
    acceptance = finding["acceptance"]
    return bool(acceptance) and acceptance["standing"] == Standing.IN_FORCE


def acceptance_of(finding: Mapping[str, Any]) -> str:
    """Return the sentence about an acceptance, as the text has it; empty without one."""
    if not (found := finding["acceptance"]):
        return ""
    return str(
        Acceptance(
            reason=found["reason"],
            until=date.fromisoformat(found["until"]),
            up_to=Severity[found["up_to"].upper()],
            standing=Standing(found["standing"]),
        )
    )


def nothing_found(document: Mapping[str, Any]) -> Headline | None:
    """Return the first sentence, by the rule of the text; None if something wrong was found."""
    return None if _worst(document) else _rest(document)


def reservation_of(document: Mapping[str, Any]) -> str:
    """Return that what was found is no all-clear of the rest, by the rule of the text; else an empty text."""
    worst = _worst(document)
    if worst is None or document["shortfall"] or not is_reserved(worst["severity"]):
        return ""
    return reserved(_rest(document, NOTHING_WORSE))


def _worst(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the worst finding that counts: they stand in the order of their severity."""
    return next((one for one in document["findings"] if one["severity"] != "info" and not is_accepted(one)), None)


def _rest(document: Mapping[str, Any], nothing: str = NOTHING_WRONG) -> Headline:
    """Return what the verdicts without a finding amount to."""
    accepted = [one for one in document["findings"] if is_accepted(one)]
    checks: dict[str, set[str]] = {}
    for one in document["verdicts"]:
        checks.setdefault(one["check"], set()).add(one["outcome"])
    judged = {name for name, outcomes in checks.items() if outcomes & {"clear", "finding"}}
    crashed = {name for name, outcomes in checks.items() if "crashed" in outcomes}
    unsettled = {name for name, outcomes in checks.items() if "not-judged" in outcomes and "storage" in document}
    disabled = {one["check"] for one in document["disabled"]}
    return without_finding(
        set(checks),
        judged,
        crashed,
        lacks(document["verdicts"]),
        gaps=len(document["gaps"]),
        unsettled=unsettled | disabled if "storage" in document else (),
        disabled=len(disabled),
        accepted=len(accepted),
        nothing=nothing,
    )


def lacks(verdicts: Iterable[Mapping[str, Any]]) -> Sequence[Lack]:
    """Return what was not judged, by the evidence that is lacking, as the text of a report groups it."""
    return lacks_of(_judged(one) for one in verdicts if one["outcome"] == "not-judged")


def _judged(one: Mapping[str, Any]) -> Judged:
    missing = tuple(one["missing"])
    verdict = NotJudged(subject=one["subject"], reason=one["reason"], missing=missing, how=one["how"])
    return Judged(check=one["check"], verdict=verdict)
