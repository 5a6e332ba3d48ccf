"""The captured incidents, the expected results, and the verdicts on them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import Diagnosis, diagnose
from ldapdiag.evidence.bundle import Bundle
from ldapdiag.finding import Clear, Finding, NotJudged, Severity
from ldapdiag.sources.gathering import gather

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.finding import Judged, Verdict

INCIDENTS = Path(__file__).parent / "captures" / "incidents"
CASES = ("5a-ghost-389ds", "6b-symmetric-leak", "6c-snat-ports-kept", "6e-churn-skew", "6f-idletimeout-90-above-fw-30")
GHOSTS, LEAK, SNAT, CHURN, TIMEOUT = CASES
DURING = "5a-during"
EXHAUSTION = "5c-fd-exhaustion-openldap"

APP1, APP2 = "10.77.2.2 -> 10.77.1.2:389", "10.77.3.2 -> 10.77.1.2:389"
XYZ = "uid=application_xyz,ou=services,dc=example,dc=com"
FOO = "uid=application_foo,ou=services,dc=example,dc=com"
SHIZZLE = "uid=application_shizzle,ou=services,dc=example,dc=com"


@cache
def truth(case: str) -> dict[str, Any]:
    """Return the records of the programs that generated the load of a case."""
    known: dict[str, Any] = json.loads((INCIDENTS / "truth" / f"{case}.json").read_text())
    return known


def ghost_ports(case: str) -> list[int]:
    """Return the client ports of a case's ghosts, ascending."""
    ports: list[int] = truth(case)["ghost_client_ports"]
    return ports


@cache
def facts_in(path: Path) -> tuple[Any, ...]:
    """Return the facts of one file, read once."""
    return gather([str(path)]).facts


def files_of(*paths: Path) -> list[Path]:
    """Return the files of folders and their sub-folders, ground truth aside, as gathering finds them."""
    found = [path for path in paths if path.is_file()]
    for folder in (path for path in paths if path.is_dir()):
        inside = (path for path in sorted(folder.rglob("*")) if path.is_file())
        found.extend(path for path in inside if "groundtruth" not in path.parts)
    return found


def diagnosed(*evidence: Path) -> Diagnosis:
    """Return the diagnosis of files and folders, with every check."""
    return diagnosed_facts(fact for path in files_of(*evidence) for fact in facts_in(path))


def diagnosed_facts(facts: Iterable[Any]) -> Diagnosis:
    """Return the diagnosis of facts, with every check; none may crash."""
    diagnosis = diagnose(Bundle(facts=tuple(facts)), installed_checks())
    assert diagnosis.crashed == ()
    return diagnosis


def judged(diagnosis: Diagnosis, check: str) -> dict[str | None, Verdict]:
    """Return the verdicts of a check, by subject."""
    said: list[Judged] = [one for one in diagnosis.judged if one.check == check]
    by_subject = {one.verdict.subject: one.verdict for one in said}
    assert len(by_subject) == len(said), "one verdict per subject"
    return by_subject


def findings(diagnosis: Diagnosis, check: str) -> dict[str | None, Finding]:
    """Return what a check finds, by subject."""
    said = judged(diagnosis, check)
    return {subject: verdict for subject, verdict in said.items() if isinstance(verdict, Finding)}


def finding(diagnosis: Diagnosis, check: str) -> Finding:
    """Return the only thing a check finds."""
    (found,) = findings(diagnosis, check).values()
    return found


def not_judged(diagnosis: Diagnosis, check: str, subject: str) -> NotJudged:
    """Return why a check does not judge a subject."""
    verdict = judged(diagnosis, check)[subject]
    assert isinstance(verdict, NotJudged), verdict
    return verdict


def clear(diagnosis: Diagnosis, check: str, subject: str) -> Clear:
    """Return a check's claim that nothing is wrong with a subject."""
    verdict = judged(diagnosis, check)[subject]
    assert isinstance(verdict, Clear), verdict
    return verdict


def ids(diagnosis: Diagnosis) -> set[str]:
    """Return the ids of what is wrong, as the JSON report gives them.

    Findings of severity info accuse nobody, and tell of the latest look: without it, of the one before.
    """
    return {f"{check}|{one.key or one.subject}" for check, one in diagnosis.found if one.severity > Severity.INFO}


def ghosts(diagnosis: Diagnosis) -> int:
    """Return how many ghosts are claimed in all."""
    return sum(one.observed["ghosts"] for one in findings(diagnosis, "ghost-connections").values())
