"""Read a report object (ldapdiag.report/1, docs/contract.md) as far as it is compared: an earlier one, or the present.

The file of an earlier report is not trusted: what has not the form of a report is refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ldapdiag.baseline.chance import Measure, Measured, number_of
from ldapdiag.baseline.log_extent import log_extents, time_of
from ldapdiag.baseline.reported import KeptNumber, Reported, ReportedFinding, ReportedHost, ReportedVerdict
from ldapdiag.errors import UsageError
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.finding import Confidence, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.baseline.reported import Source

FAMILY, MAJOR = "ldapdiag.report/", "1"
OUTCOMES = frozenset({"finding", "clear", "not-judged", "crashed"})
Plain = Mapping[str, Any]
Kind = TypeVar("Kind")


def report_of(document: object) -> Reported:
    """Return the report that a JSON object contains. Raises UsageError if it is none, or one of another version."""
    if not isinstance(document, dict):
        raise UsageError(f"it is no JSON report: {type(document).__name__} instead of an object")
    _check_version(document.get("schema"))
    tool = _get(document, "tool", dict)
    evidence = [_of(one, dict, "evidence") for one in _get(document, "evidence", list)]
    by_origin: dict[str, set[Source]] = defaultdict(set)
    for one in evidence:
        by_origin[_get(one, "origin", str)].add(_source(one))
    shortfall = document.get("shortfall")
    return Reported(
        kind=_kind(document),
        taken_at=time_of(document.get("taken_at")),
        version=_get(tool, "version", str),
        shortfall=_get(_of(shortfall, dict, "shortfall"), "reason", str) if shortfall else None,
        hosts=[_host(_of(one, dict, "hosts"), evidence) for one in _get(document, "hosts", list)],
        findings=[_finding(_of(one, dict, "findings"), by_origin) for one in _get(document, "findings", list)],
        verdicts=[_verdict(_of(one, dict, "verdicts")) for one in _get(document, "verdicts", list)],
        sources=frozenset(_source(one) for one in evidence),
        settings=_settings(tool),
        disabled=dict(_disabled(document)),
        logs=log_extents(document.get("series")),
    )


def _check_version(schema: object) -> None:
    if not isinstance(schema, str) or not schema.startswith(FAMILY):
        raise UsageError("it is no report of ldapdiag in JSON; ldapdiag diagnose --format json writes one")
    major = schema.removeprefix(FAMILY).partition(".")[0]
    if major != MAJOR:
        raise UsageError(
            f"its schema is {schema[:40]}, and this version compares {FAMILY}{MAJOR}: write a new baseline"
        )


def _kind(document: Plain) -> ReportKind:
    if "storage" in document:
        return ReportKind.STORAGE
    return ReportKind.INDEXES if "indexes" in document else ReportKind.ALL


def _of(value: object, kind: type[Kind], name: str) -> Kind:
    if not isinstance(value, kind):
        raise UsageError(f"it is no report of ldapdiag: {name} is {type(value).__name__}, not {kind.__name__}")
    return value


def _get(values: Plain, name: str, kind: type[Kind]) -> Kind:
    return _of(values.get(name), kind, name)


def _source(one: Plain) -> Source:
    return _get(one, "fact", str), str(one.get("server") or one.get("host") or "")


def _host(one: Plain, evidence: Sequence[Plain]) -> ReportedHost:
    name = _get(one, "name", str)
    return ReportedHost(
        name=name,
        addresses=frozenset(map(str, _get(one, "addresses", list))),
        contents=frozenset(str(file["sha256"]) for file in evidence if file.get("host") == name and file.get("sha256")),
        is_server="server" in _get(one, "roles", list),
    )


def _finding(one: Plain, by_origin: Mapping[str, set[Source]]) -> ReportedFinding:
    try:
        severity = Severity[_get(one, "severity", str).upper()]
    except KeyError:
        raise UsageError(f"it is no report of ldapdiag: severity {str(one['severity'])[:40]!r} is unknown") from None
    server = one.get("server")
    origins = [origin for origin in _get(one, "origins", list) if isinstance(origin, str)]
    return ReportedFinding(
        id=_get(one, "id", str),
        check=_get(one, "check", str),
        severity=severity,
        subject=_get(one, "subject", str),
        title=_get(one, "title", str),
        server=None if server is None else _of(server, str, "server"),
        hosts=tuple(_of(host, str, "hosts") for host in _get(one, "hosts", list)),
        sources=frozenset(source for origin in origins for source in by_origin.get(origin, ())),
        observed=_get(one, "observed", dict),
        confidence=_confidence(one),
        reference=_reference(one.get("before")),
    )


def _confidence(one: Plain) -> Confidence:
    try:
        return Confidence(_get(one, "confidence", str))
    except ValueError:
        raise UsageError(f"it is no report of ldapdiag: confidence {one['confidence'][:40]!r} is unknown") from None


def _reference(before: object) -> KeptNumber | None:
    """Return what a finding was compared with, if later reports are compared with that, too."""
    known = before.get("reference") if isinstance(before, dict) else None
    if known is None:
        return None
    known = _of(known, dict, "reference")
    measures = [_of(one, dict, "measures") for one in _get(known, "measures", list)]
    numbers = [tuple(number_of(one, key) for key in ("value", "events", "scatter")) for one in measures]
    if not numbers or any(value is None or not scatter for value, _, scatter in numbers):
        raise UsageError("it is no report of ldapdiag: a reference without numbers")
    return KeptNumber(
        number=Measured(
            key=_get(known, "key", str),
            measures=tuple(
                Measure(value=value or 0.0, events=events, scatter=scatter or 1.0) for value, events, scatter in numbers
            ),
        ),
        taken_at=time_of(known.get("taken_at")),
    )


def _verdict(one: Plain) -> ReportedVerdict:
    outcome, subject = _get(one, "outcome", str), one.get("subject")
    if outcome not in OUTCOMES:
        raise UsageError(f"it is no report of ldapdiag: outcome {outcome[:40]!r} is unknown")
    return ReportedVerdict(
        check=_get(one, "check", str),
        outcome=outcome,
        subject=None if subject is None else _of(subject, str, "subject"),
        reason=str(one.get("reason") or ""),
        about=str(one.get("about") or ""),
    )


def _settings(tool: Plain) -> dict[str, Plain]:
    config = tool.get("config")
    settings = config.get("thresholds") if isinstance(config, dict) else None
    known = settings if isinstance(settings, dict) else {}
    return {str(check): values for check, values in known.items() if isinstance(values, dict)}


def _disabled(document: Plain) -> Iterator[tuple[str, str]]:
    disabled = document.get("disabled")
    for one in disabled if isinstance(disabled, list) else ():
        if isinstance(one, dict):
            yield str(one.get("check")), str(one.get("reason") or "")
