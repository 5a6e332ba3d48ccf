"""The JSON Schemas in the package: whatever ldapdiag writes is valid, and a key that they lack is not."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

import examples
import sick_site
import storage_documents
import storage_site
from command import INCIDENT, ldapdiag
from histories import found, run, server
from ldapdiag.catalogue import installed_checks
from ldapdiag.cli.schema import NAMES
from ldapdiag.diagnosis import diagnose
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.history import History
from ldapdiag.evidence.origin import Origin, Span
from ldapdiag.report import as_json
from ldapdiag.report.history import as_json as history_json
from ldapdiag.report.indexes import as_data
from ldapdiag.report.storage import as_data as storage_data
from ldapdiag.sources.captures import manifest
from ldapdiag.sources.captures.manifest import ClockOffset, Manifest, ManifestEntry

if TYPE_CHECKING:
    from collections.abc import Iterator

HOUSE = Path(__file__).parents[2]
CAPTURES = HOUSE / "tests" / "captures"
AUDIT = INCIDENT.parent / "audit"
NOW = datetime(2026, 11, 23, tzinfo=UTC)

DIAGNOSED = [INCIDENT, AUDIT, *sorted(one for one in CAPTURES.iterdir() if one.is_dir())]
DIAGNOSED += [one for one in sorted((CAPTURES / "incidents").iterdir()) if one.is_dir() and one.name != "truth"]
LOGS = sorted(one for one in (CAPTURES / "access-logs").iterdir() if one.suffix != ".md")
CORPUS = [
    "1-389ds-unindexed",
    "2-openldap-unindexed",
    "3-opendj-unindexed",
    "5a-ghost-389ds",
    "6e-churn-skew",
    "7-traps",
]


@cache
def validator(name: str) -> Draft202012Validator:
    document = json.loads(ldapdiag("schema", name).out)
    Draft202012Validator.check_schema(document)
    return Draft202012Validator(document)


def problems(document: dict[str, Any]) -> list[str]:
    """Return why a document is not valid, by the schema that it names."""
    name = document["schema"].removeprefix("ldapdiag.").removesuffix("/1")
    return [f"{one.json_path}: {one.message[:300]}" for one in validator(name).iter_errors(document)]


def sick() -> dict[str, Any]:
    diagnosis = diagnose(sick_site.bundle(), installed_checks())
    return as_json.document(diagnosis, NOW) | {"indexes": as_data.plans(diagnosis)} | storage_data.storage(diagnosis)


def storage() -> dict[str, Any]:
    return storage_documents.document(storage_site.probe(), storage_site.settings())


def history() -> dict[str, Any]:
    runs = (
        run(0, server(0, "ds1", log_seconds=50.0, opened=2)),
        run(1, server(1, "ds1", [found(4)]), findings=[found(1)]),
    )
    return history_json.document(History(origin=Origin(path="history.db", lines=5), runs=runs))


def capture() -> dict[str, Any]:
    entries = (
        ManifestEntry(path="a/b", folder="a", asked="ss", taken=Span(start=NOW, end=NOW), size_bytes=1),
        ManifestEntry(path="a/c", folder="a"),
    )
    gaps = (Gap(target="a", reason="b", how=None), Gap(target="a", reason="b", how="c"))
    offsets = {"ssh://a": ClockOffset(seconds=0.5, uncertainty_seconds=1.0)}
    document: dict[str, Any] = json.loads(manifest.as_json(Manifest(entries=entries, gaps=gaps), NOW, offsets))
    return document


def log() -> dict[str, Any]:
    return ldapdiag("log", LOGS[0], "--format", "json").report


class TestValid:
    @pytest.mark.parametrize("evidence", examples.some(DIAGNOSED, 6), ids=lambda path: path.name)
    def test_is_the_report_of_each_capture(self, evidence: Path) -> None:
        ran = ldapdiag("diagnose", evidence, "--format", "json")
        assert not ran.out or problems(ran.report) == []

    @pytest.mark.parametrize("evidence", [AUDIT, INCIDENT], ids=lambda path: path.name)
    def test_is_an_index_audit(self, evidence: Path) -> None:
        assert problems(ldapdiag("indexes", evidence, "--format", "json").report) == []

    def test_is_a_report_on_storage(self) -> None:
        assert problems(ldapdiag("storage", INCIDENT.parent / "storage", "--format", "json").report) == []

    @pytest.mark.parametrize("file", LOGS, ids=lambda path: path.name)
    def test_is_the_report_of_each_log(self, file: Path) -> None:
        ran = ldapdiag("log", file, "--format", "json")
        assert not ran.out or problems(ran.report) == []

    def test_is_a_report_of_selected_operations(self) -> None:
        options = ("--client", "10.0.0.0/8", "--account", "anonymous", "--code", "0", "--conn", "1")
        for some in (options, ("--client", "10.0.0.0/8", "--show-lines", "3"), ("--since", "2030-01-01")):
            assert problems(ldapdiag("log", LOGS[0], *some, "--format", "json").report) == []

    @pytest.mark.parametrize("name", examples.some(CORPUS, 6))
    @pytest.mark.parametrize("command", ["diagnose", "indexes", "log"])
    def test_is_every_report_on_the_corpus(self, command: str, name: str, corpus: Path) -> None:
        ran = ldapdiag(command, corpus / name, "--format", "json")
        assert not ran.out or problems(ran.report) == []

    def test_are_the_findings_of_every_check(self) -> None:
        document = sick()
        assert {one["check"] for one in document["findings"]} == {check.id for check in installed_checks()}
        assert problems(document) == []

    def test_are_a_history_and_a_manifest(self) -> None:
        assert problems(history()) == problems(capture()) == []

    def test_is_a_finding_of_a_check_that_ldapdiag_does_not_have(self) -> None:
        document = sick()
        document["findings"][0] |= {"check": "acme-own", "observed": {"anything": 1}}
        assert problems(document) == []


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every object."""
    if isinstance(value, dict):
        yield path
        for key, one in value.items():
            yield from objects(one, (*path, key))
    elif isinstance(value, list):
        for place, one in enumerate(value[:1]):
            yield from objects(one, (*path, place))


def shortened(value: Any) -> Any:
    """Return a document with one member of each list, which are those that `objects` enters."""
    if isinstance(value, dict):
        return {key: shortened(one) for key, one in value.items()}
    return [shortened(one) for one in value[:1]] if isinstance(value, list) else value


def with_key(document: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    at: Any = changed
    for key in path:
        at = at[key]
    at["undocumented key"] = {"unknown": True}
    return changed


@pytest.mark.parametrize("make", [sick, storage, log, history, capture])
def test_an_undocumented_key_is_not_valid_anywhere(make: Any) -> None:
    document = make()
    assert problems(document) == []
    document = shortened(document)
    assert problems(document) == []
    accepted = [path for path in objects(document) if not problems(with_key(document, path))]
    assert accepted == []


class TestCommand:
    def test_the_list_of_checks_is_valid(self) -> None:
        assert list(validator("checks").iter_errors(ldapdiag("checks", "--format", "json").report)) == []

    def test_lists_the_schemas(self) -> None:
        lines = ldapdiag("schema").text.splitlines()
        assert [line.split()[0] for line in lines] == list(NAMES)
        assert (
            lines[0]
            == "report    ldapdiag.report/1: the report of ldapdiag diagnose, ldapdiag indexes and ldapdiag storage"
        )

    @pytest.mark.parametrize("name", list(NAMES))
    def test_prints_one_as_the_package_has_it(self, name: str) -> None:
        text = (HOUSE / "ldapdiag" / "report" / "schemas" / f"{name}.json").read_text()
        assert ldapdiag("schema", name).text == text == json.dumps(json.loads(text), indent=1) + "\n"

    def test_every_file_has_a_name(self) -> None:
        assert {one.stem for one in (HOUSE / "ldapdiag" / "report" / "schemas").glob("*")} == set(NAMES)
