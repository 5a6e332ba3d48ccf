"""A small case of each experiment, and the notebook: what was interrupted goes on with the next step."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from experiments.notebook import AS_EXPECTED, HOUSE, Experiment, _commit, go_on

NAMES = (
    "active-directory",
    "hostile-logs",
    "distinct-fields",
    "drawn-examples",
    "fuzzing",
    "index-incident",
    "client-pools",
    "brackets",
    "idle-pools",
    "connection-cases",
    "fleet-on-cluster",
    "index-life",
    "needed-indexes",
    "nights",
    "reader-fuzzing",
    "side-by-side",
    "top",
)
LENT = ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_small_case_is_as_expected(name: str) -> None:
    ours = {key: value for key, value in os.environ.items() if key not in LENT}
    ran = subprocess.run(
        [sys.executable, "-m", "experiments", "--small", name],
        cwd=HOUSE, env=ours | {"PYTHONPATH": "tests:bench"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert AS_EXPECTED in ran.stdout


def test_the_files_of_drawn_filters_exist() -> None:
    """They are run as they are, by the laboratory tier, too."""
    from experiments import drawn_filters  # noqa: PLC0415  it reads every test file

    assert all((HOUSE / "tests" / file).is_file() for file in drawn_filters.SERVERS.values())


def experiment(*steps: str, failing: str = "") -> Experiment:
    def run(step: str, *, small: bool) -> dict[str, str]:
        if step == failing:
            raise KeyboardInterrupt
        return {"result": f"{small} | {step}"}

    return Experiment(name="tried", title="Tried", about="Nothing.", steps=steps, run=run)


def test_it_goes_on_where_it_was_interrupted(tmp_path) -> None:
    with pytest.raises(KeyboardInterrupt):
        list(go_on(experiment("one", "two", "three", failing="two"), tmp_path, tmp_path / "tables"))
    kept = [json.loads(line)["step"] for line in (tmp_path / "tried.jsonl").read_text().splitlines()]
    assert kept == ["one"]
    rest = go_on(experiment("one", "two", "three"), tmp_path, tmp_path / "tables")
    assert [row["step"] for row in rest] == ["two", "three"]


def test_a_finished_one_adds_a_dated_table_and_begins_anew(tmp_path) -> None:
    for _ in range(2):
        assert len(list(go_on(experiment("one", "two"), tmp_path, tmp_path))) == 2
    table = (tmp_path / "tried.md").read_text().splitlines()
    assert table[:3] == ["# Tried", "", "Nothing."]
    assert sum(line.startswith("## 20") for line in table) == 2
    assert sum(line.startswith("| one | False \\| one | ") for line in table) == 2


def test_a_table_of_another_experiment_is_no_change_of_the_programs(tmp_path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x", *arguments], cwd=tmp_path, check=True)

    table, program = tmp_path / "docs" / "experiments" / "tried.md", tmp_path / "program"
    table.parent.mkdir(parents=True)
    git("init", "-q")
    for file in (table, program):
        file.write_text("one")
    git("add", ".")
    git("commit", "-q", "-m", "x")
    commit = _commit(tmp_path)
    table.write_text("two")
    assert _commit(tmp_path) == commit
    program.write_text("two")
    assert _commit(tmp_path) == f"{commit}-dirty"
