"""Gauges: what a parser of somebody else reads of them, that nothing is 0 which was not judged, and hostile names."""

from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import documents
from command import INCIDENT, diagnose, ldapdiag
from ldapdiag.report.monitoring.gauges import GAUGES, LONGEST_LABEL, MOST, OTHER, render
from ldapdiag.report.neutral import neutral

if TYPE_CHECKING:
    from pathlib import Path

GHOSTS = 268
"""Of app1, by the load that made the incident (examples/README.md)."""


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Return the numbers by name and labels; the parser refuses a row that stands twice."""
    found = [one for family in text_string_to_metric_families(text) for one in family.samples]
    numbers = {(one.name.removeprefix("ldapdiag_"), *sorted(one.labels.values())): one.value for one in found}
    assert len(numbers) == len(found)
    return numbers


def direction(client: str, **told: Any) -> dict[str, Any]:
    row = {"client": client, "client_count": 1, "client_hosts": [], "endpoint": "10.0.0.1:389", "ghosts": 0, "held": 0}
    row |= {"live": 0, "middleboxes": ["fw"], "server": "ldap", "server_count": 1, "severed": 0, "stranded": 0}
    return row | told


def verdict(check: str, outcome: str, subject: str) -> dict[str, Any]:
    row = {"about": "ldap", "check": check, "outcome": outcome, "subject": subject}
    return row | {"how": None, "missing": [], "reason": ""}


def test_the_numbers_of_the_incident() -> None:
    found = samples(diagnose(INCIDENT, "--format", "openmetrics", "--fail-on", "never").text)
    assert found["ghost_connections", "10.77.2.2", "ldap"] == GHOSTS
    assert found["ghost_connections", "10.77.3.2", "ldap"] == 0
    assert found["connections", "10.77.2.2", "ldap"] == GHOSTS + 2
    assert found["file_descriptors_limit", "ldap"] == 20_000
    assert sum(value for name, value in found.items() if name[0] == "verdicts") == len(documents.incident()["verdicts"])


@pytest.mark.parametrize("outcomes", [("not-judged",), ("crashed",), (), ("not-judged", "clear")], ids=str)
def test_what_was_not_judged_is_absent(outcomes: tuple[str, ...]) -> None:
    subjects = "10.0.0.2 -> 10.0.0.1:389", "10.0.0.2 -> 10.0.0.9:389"
    verdicts = [
        verdict(check, outcome, subject)
        for check in ("ghost-connections", "stranded-connections", "severed-connections")
        for outcome, subject in zip(outcomes, subjects, strict=False)
    ]
    endpoints = ("10.0.0.1:389", "10.0.0.9:389")
    document = documents.incident() | {
        "directions": [direction("10.0.0.2", endpoint=endpoint) for endpoint in endpoints],
        "findings": [],
        "verdicts": verdicts,
    }
    names = {name[0] for name in samples(render(document))}
    assert names.isdisjoint({"ghost_connections", "stranded_connections", "severed_connections", "findings"})
    assert "connections" in names


def test_without_a_flow_table_no_severed_connection_is_no_zero(tmp_path: Path) -> None:
    shutil.copytree(INCIDENT, tmp_path, ignore=shutil.ignore_patterns("fw"), dirs_exist_ok=True)
    found = samples(diagnose(tmp_path, "--format", "openmetrics", "--fail-on", "never").text)
    assert found["ghost_connections", "10.77.2.2", "ldap"] == GHOSTS
    assert "severed_connections" not in {name[0] for name in found}
    some = documents.incident() | {"directions": [direction("10.0.0.2", middleboxes=[], severed=3)], "findings": []}
    assert samples(render(some))["severed_connections", "10.0.0.2", "ldap"] == 3


def test_connections_that_may_be_dead_are_no_zero() -> None:
    """A finding without a certain ghost: the client was not read, and its connections do not answer."""
    subject = "10.0.0.2 -> 10.0.0.1:389"
    checks = ("ghost-connections", "stranded-connections", "severed-connections")
    document = documents.incident() | {
        "directions": [direction("10.0.0.2")],
        "verdicts": [verdict(check, "finding", subject) for check in checks],
    }
    names = {name[0] for name in samples(render(document))}
    assert names.isdisjoint({"ghost_connections", "stranded_connections", "severed_connections"})


def test_no_check_is_clear_of_which_a_part_was_not_judged() -> None:
    for document in (documents.incident(), documents.sick()):
        unjudged = {(one["about"] or "", one["check"]) for one in document["verdicts"] if one["outcome"] != "clear"}
        rows = next(one for one in GAUGES if one.name == "findings").rows(document)
        clear = {labels[:2] for labels, value in rows.items() if not value}
        assert clear
        assert clear.isdisjoint(unjudged)


@given(names=st.lists(st.text(max_size=300), max_size=60), endpoint=st.text(max_size=20))
def test_hostile_names_are_labels_and_bounded(names: list[str], endpoint: str) -> None:
    document = documents.incident() | {"directions": [direction(name, endpoint=endpoint, ghosts=1) for name in names]}
    accounts = [{"bind_dn": name, "connections": 1} for name in dict.fromkeys(names)]
    shares = {"server": "ldap", "by_account": accounts, "by_client": []}
    document["findings"] = [
        one | ({"observed": shares} if one["check"] == "connection-share" else {}) for one in document["findings"]
    ]
    found = samples(render(document))
    rows = Counter(name[0] for name in found)
    assert rows["ghost_connections"] <= MOST + 1
    assert rows["account_connections"] <= MOST + 1
    assert sum(value for name, value in found.items() if name[0] == "ghost_connections") == len(names)
    assert all(part == neutral(part, longest=LONGEST_LABEL) for name in found for part in name)


def test_those_beyond_the_most_are_one_row() -> None:
    document = documents.incident() | {"directions": [direction(f"10.0.1.{number}", ghosts=2) for number in range(50)]}
    beyond = {"directions": 9, "ghosts": 70, "server": "ldap", "server_count": 99, "severed": 0, "stranded": 0}
    document["directions_beyond"] = [beyond, beyond | {"server": "other", "stranded": 4, "ghosts": 0}]
    found = samples(render(document))
    assert found["ghost_connections", "ldap", OTHER] == 2 * (50 - MOST) + 70
    assert found["stranded_connections", OTHER, "other"] == 4


def test_accounts_are_left_out_where_asked() -> None:
    text = ldapdiag("diagnose", INCIDENT, "--format", "openmetrics", "--no-accounts", "--fail-on", "never").text
    assert "uid=" not in text
    assert "account_connections" not in text


def test_without_the_library_nothing_is_collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldapdiag.extras.find_spec", lambda _: None)
    ran = ldapdiag("diagnose", tmp_path / "none", "-o", tmp_path / "report.json", "-o", tmp_path / "ldapdiag.prom")
    assert ran.code == 2
    assert ["needs prometheus_client" in one for one in ran.complaints] == [True]


def test_the_documentation_lists_each_metric() -> None:
    page = (INCIDENT.parent.parent / "docs" / "monitoring.md").read_text()
    for one in GAUGES:
        assert f"| `ldapdiag_{one.name}` | {', '.join(one.labels)} | {one.help} |" in page
