"""Diagnoses for the reports: a site with every kind of verdict, from checks written for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import facts
from ldapdiag.check import Check
from ldapdiag.diagnosis import Diagnosis, diagnose
from ldapdiag.evidence.bundle import Bundle, Gap, PassedOver
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Remedy, RemedyKind, Where

LDIF = "ldapmodify -H ldap://ldap <<'LDIF'\ndn: cn=config\nchangetype: modify\nreplace: nsslapd-idletimeout\nLDIF"

REMEDY = Remedy(
    title="drain: set the idle timeout",
    target="ldap",
    where=Where.SERVER,
    kind=RemedyKind.LDIF,
    text=LDIF,
    changes="Connections that rest are closed.",
    risk="living ones may be cut",
    undo="undo-command --with " + "a-very-long-argument " * 12,
    verify="verify-command",
)


def finding(subject: str = "app1 -> ldap", **told: Any) -> Finding:
    """Return a finding about a subject."""
    said: dict[str, Any] = {
        "severity": Severity.HIGH,
        "confidence": Confidence.LIKELY,
        "title": f"something is wrong with {subject}",
        "detail": "What it means.\nHow it is known.",
        "observed": {},
        "origins": ("app1/ss.txt", "ldap/ss.txt"),
    }
    return Finding(subject=subject, **said | told)


def clear(subject: str = "app2 -> ldap") -> Clear:
    """Return a verdict that all is well."""
    return Clear(subject=subject, reason="a healthy pool")


def not_judged(reason: str = "no access log", how: str | None = "add the access log") -> NotJudged:
    """Return a verdict that names what is missing."""
    return NotJudged(subject=None, reason=reason, missing=("access-log",), how=how)


def check(name: str, *verdicts: Verdict) -> Check[[]]:
    """Return a check that speaks these verdicts."""

    def judge() -> Iterator[Verdict]:
        yield from verdicts

    return named(name, judge)


def crashing(name: str = "stumbling-block") -> Check[[]]:
    """Return a check that has a bug."""

    def judge() -> Iterator[Verdict]:
        raise ZeroDivisionError("of \x1b[31mall things")
        yield clear()

    return named(name, judge)


def named(name: str, judge: Callable[[], Iterator[Verdict]]) -> Check[[]]:
    """Return a judgement as a check with this id."""
    judge.__module__ = f"checks.{name.replace('-', '_')}"
    return Check(judge)


def diagnosis(*checks: Check[[]]) -> Diagnosis:
    """Return the diagnosis of a site with gaps, notes and skipped files by these checks."""
    rows = [facts.listening(), *facts.at_server(3)]
    return diagnose(
        Bundle(
            facts=(facts.table(rows), facts.table(facts.at_client(3), "app1")),
            gaps=(Gap(target="incident/locked", reason="cannot read it: permission denied", how="ask its owner"),),
            passed_over=(PassedOver(target="incident/fifo", reason="neither a file nor a folder"),),
        ),
        checks,
    )
