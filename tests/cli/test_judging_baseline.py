"""--baseline and --fail-on-new: exit codes, every format, and files that are no report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from command import INCIDENT, diagnose, ldapdiag

if TYPE_CHECKING:
    from collections.abc import Callable

    from command import Ran

GHOSTS = "ghost-connections|10.77.2.2|10.77.1.2:389"


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the report object of the incident."""
    path = tmp_path_factory.mktemp("baseline") / "before.json"
    assert diagnose(INCIDENT, "--output", path).code == 1
    return json.loads(path.read_text())


def written(document: object, folder: Path) -> Path:
    """Return the file of a baseline."""
    path = folder / "before.json"
    path.write_text(json.dumps(document))
    return path


def without_ghosts(document: dict[str, Any]) -> dict[str, Any]:
    """Return the report as it would be if the ghosts had come later."""
    findings = [one for one in document["findings"] if one["check"] != "ghost-connections"]
    return document | {"findings": findings}


def with_reference(document: dict[str, Any], reference: object) -> dict[str, Any]:
    """Return the report whose first finding was compared with that."""
    first, *others = document["findings"]
    return document | {"findings": [first | {"before": {"reference": reference}}, *others]}


class TestGates:
    def test_alone_a_baseline_changes_no_exit_code(self, before, tmp_path) -> None:
        assert diagnose(INCIDENT, "--baseline", written(before, tmp_path)).code == 1

    def test_what_was_there_before_does_not_count_with_fail_on_new(self, before, tmp_path) -> None:
        assert diagnose(INCIDENT, "--baseline", written(before, tmp_path), "--fail-on-new").code == 0

    def test_a_new_finding_counts(self, before, tmp_path) -> None:
        path = written(without_ghosts(before), tmp_path)
        assert diagnose(INCIDENT, "--baseline", path, "--fail-on-new").code == 1
        assert diagnose(INCIDENT, "--baseline", path, "--fail-on-new", "--fail-on", "never").code == 0

    def test_a_worse_finding_counts(self, before, tmp_path) -> None:
        milder = json.loads(json.dumps(before))
        next(one for one in milder["findings"] if one["id"] == GHOSTS)["observed"]["ghosts"] = 100
        said = diagnose(INCIDENT, "--baseline", written(milder, tmp_path), "--fail-on-new")
        assert said.code == 1
        assert "worse: ghost connections (100 before, 268 now, +168 %)" in said.text

    def test_the_last_lines_are_what_is_worse(self, before, tmp_path) -> None:
        milder = json.loads(json.dumps(before))
        next(one for one in milder["findings"] if one["id"] == GHOSTS)["observed"]["ghosts"] = 100
        said = diagnose(INCIDENT, "--baseline", written(milder, tmp_path), environment={"COLUMNS": "200"})
        assert said.text.splitlines()[-1] == (
            "worse       critical: 10.77.2.2 -> 10.77.1.2:389: ghost connections (100 before, 268 now, +168 %) "
            "(ghost-connections)"
        )

    def test_a_report_of_an_earlier_version_is_read(self, before, tmp_path) -> None:
        older = {"severity": "critical", "key": "ghosts", "number": 250, "now": 268}
        old = before | {"findings": [one | {"change": "same", "before": older} for one in before["findings"]]}
        assert diagnose(INCIDENT, "--baseline", written(old, tmp_path), "--fail-on-new").code == 0


class TestFormats:
    def test_json_has_the_change_of_each_finding(self, before, tmp_path) -> None:
        said = diagnose(INCIDENT, "--baseline", written(without_ghosts(before), tmp_path), "--format", "json")
        document = json.loads(said.text)
        assert {one["check"]: one["change"] for one in document["findings"]}["ghost-connections"] == "new"
        assert document["baseline"]["counts"] == {
            "new": 1,
            "worse": 0,
            "better": 0,
            "same": 3,
            "gone": 0,
            "not seen as well": 0,
            "not seen": 0,
        }

    def test_without_a_baseline_there_is_none(self, before) -> None:
        assert before["baseline"] is None
        assert {one["change"] for one in before["findings"]} == {None}

    @pytest.mark.parametrize("form", ["text", "markdown", "html"])
    def test_what_was_not_read_again_is_not_seen(self, before, tmp_path, form) -> None:
        path = written(before, tmp_path)
        said = diagnose(INCIDENT / "app2", "--baseline", path, "--format", form)
        assert "not seen" in said.text
        assert "no evidence of" in said.text

    def test_csv_has_the_change_in_a_column(self, before, tmp_path) -> None:
        said = diagnose(INCIDENT, "--baseline", written(before, tmp_path), "--format", "csv")
        assert said.text.splitlines()[0].endswith("change,before_name,before_unit,before_number,before_now")


class TestRefusedFiles:
    def refused(self, path: Path, reason: str) -> Ran:
        said = diagnose(INCIDENT, "--baseline", path)
        assert said.code == 2
        assert reason in said.err.decode()
        assert "Traceback" not in said.err.decode()
        return said

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (lambda one: one | {"schema": "ldapdiag.report/2"}, "ldapdiag.report/2"),
            (lambda one: one | {"schema": "ldapdiag.log/1"}, "no report of ldapdiag"),
            (lambda one: one | {"indexes": []}, "is of `ldapdiag indexes`"),
            (lambda one: one | {"findings": {}}, "findings is dict"),
            (lambda one: one | {"findings": [one["findings"][0] | {"severity": "grave"}]}, "severity 'grave'"),
            (
                lambda one: with_reference(one, {"key": "ghosts", "taken_at": None, "measures": [{"value": "9"}]}),
                "numbers",
            ),
            (
                lambda one: with_reference(one, {"key": "ghosts", "taken_at": None, "measures": []}),
                "a reference without numbers",
            ),
            (
                lambda one: with_reference(one, {"key": 7, "taken_at": None, "measures": [{"value": 9, "scatter": 1}]}),
                "key is int",
            ),
            (lambda one: with_reference(one, [1]), "reference is list"),
            (lambda one: one | {"verdicts": [one["verdicts"][0] | {"outcome": 7}]}, "outcome is int"),
            (lambda _: [], "list instead of an object"),
            (lambda _: None, "NoneType instead of an object"),
        ],
    )
    def test_another_document(self, before, tmp_path, change: Callable[[dict], object], reason) -> None:
        self.refused(written(change(before), tmp_path), reason)

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"", "no JSON"),
            (b"\xff\xfe", "no JSON"),
            (b"[" * 200_000, "nested too deeply"),
            (b'{"schema": 1}', "no report"),
        ],
    )
    def test_another_content(self, tmp_path, content, reason) -> None:
        path = tmp_path / "before.json"
        path.write_bytes(content)
        self.refused(path, reason)

    def test_no_file(self, tmp_path) -> None:
        self.refused(tmp_path / "none.json", "No such file")
        self.refused(tmp_path, "no regular file")

    def test_a_gate_without_a_baseline(self) -> None:
        said = ldapdiag("diagnose", INCIDENT, "--fail-on-new")
        assert said.code == 2
        assert "--fail-on-new needs --baseline" in said.err.decode()
