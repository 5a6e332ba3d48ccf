"""Report objects as the formats receive them: of a site with every disease, of the incident, and of an access log."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sick_site
from conversations import founding_story, read_log
from ldapdiag.catalogue import installed_checks
from ldapdiag.diagnosis import Diagnosis, diagnose
from ldapdiag.report import as_json
from ldapdiag.report.indexes.as_data import plans
from ldapdiag.report.log import as_json as log_as_json
from ldapdiag.report.storage.as_data import storage
from ldapdiag.sources.gathering import gather

if TYPE_CHECKING:
    from collections.abc import Callable

INCIDENT = Path(__file__).parent.parent / "examples" / "incident"
NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)

INTERVALS = 240
"""The most values of a series or timeline."""

OURS = frozenset(
    {"schema", "severity", "outcome", "confidence", "kind", "needs", "where", "taken_at", "last_received_at"}
    | {"from", "to", "name", "unit", "first_time", "last_time"}
)
"""Keys whose values are terms and times that ldapdiag itself writes, never text of the evidence."""


def of(diagnosis: Diagnosis, **more: Any) -> dict[str, Any]:
    """Return the report object of a diagnosis, as JSON has it."""
    document: dict[str, Any] = json.loads(json.dumps(as_json.document(diagnosis, NOW) | more))
    return document


@cache
def sick() -> dict[str, Any]:
    """Return the report on a site in which every check finds something, with its index plan."""
    diagnosis = diagnose(sick_site.bundle(), installed_checks())
    return of(diagnosis, indexes=plans(diagnosis), **storage(diagnosis))


@cache
def incident() -> dict[str, Any]:
    """Return the report on the incident in examples/."""
    return of(diagnose(gather([str(INCIDENT)]), installed_checks()))


@cache
def log() -> dict[str, Any]:
    """Return the report on an access log."""
    talk = founding_story()
    talk.bind(2, b"uid=x", err=49)
    document: dict[str, Any] = json.loads(json.dumps(log_as_json.document(read_log(talk.segment()))))
    return document


def long_log() -> dict[str, Any]:
    """Return the report of a log with the most intervals, whose values have as many digits as there can be."""
    document = log()
    values = [1000 / 7 * (1 + place % 17) for place in range(INTERVALS)]
    timeline = document["timeline"] | {"search_seconds": values, "operations": values, "open": values}
    return document | {"timeline": timeline}


def long_diagnosis() -> dict[str, Any]:
    """Return a report with series of the most intervals, with a limit and a forecast, and 5,000 rows of evidence."""
    document = sick()
    forecast = {"rate_per_hour": 100 / 7, "hours_left": 7.0, "hours_left_earliest": 3.0, "hours_left_latest": 9.0}
    series = {
        "server": "ldap",
        "source": "its access log",
        "name": "connections",
        "unit": "connections",
        "step_seconds": 60,
        "from": "2026-11-20T08:00:00Z",
        "values": [None if place == 100 else 1000 / 7 + place for place in range(INTERVALS)],
        "limit": 500,
        "forecast": forecast,
    }
    (source, *_) = document["evidence"]
    evidence = [source | {"origin": f"host{number}/ss.txt"} for number in range(5000)]
    return document | {"series": [series], "evidence": evidence}


def changed(value: Any, change: Callable[[str], str], key: str = "") -> Any:
    """Return a report object with every text of the evidence changed, names of keys that are evidence included."""
    match value:
        case dict():
            foreign = key in {"accounts", "by_client", "by_account", "closed_by_code"}
            return {change(name) if foreign else name: changed(one, change, name) for name, one in value.items()}
        case list():
            return [changed(one, change, f"{key}[]") for one in value]
        case str() if key not in OURS:
            return change(value)
        case _:
            return value
