"""The notebook of an experiment: a row for each step, kept at once, so that it goes on where it was interrupted."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Row = dict[str, str]

HOUSE = Path(__file__).parents[2]
NOTES = HOUSE / ".experiments"
TABLES = HOUSE / "docs" / "experiments"
AS_EXPECTED = "as expected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Steps of minutes each, which do not depend on each other; in a small case each takes seconds."""

    name: str
    title: str
    about: str
    """What is tried, and what is expected."""
    steps: tuple[str, ...]
    run: Callable[..., Row]
    """Run a step, `small` or not, and return its row, with a `result`: AS_EXPECTED, or what was not."""
    small: int | None = None
    """Steps that are enough for a small case; None: all of them."""


def go_on(experiment: Experiment, notes: Path = NOTES, tables: Path = TABLES) -> Iterator[Row]:
    """Run the steps that have no row yet and yield their rows; after the last one, add a dated table of all rows."""
    notes.mkdir(exist_ok=True)
    journal = notes / f"{experiment.name}.jsonl"
    rows = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    for step in experiment.steps[len(rows) :]:
        row = {"step": step, **experiment.run(step, small=False), "commit": _commit()}
        with journal.open("a") as stream:
            stream.write(json.dumps(row) + "\n")
        rows.append(row)
        yield row
    _add_table(experiment, rows, tables / f"{experiment.name}.md")
    journal.unlink()


def _commit(house: Path = HOUSE) -> str:
    """Return the commit whose programs ran, `-dirty` if they were changed: by more than the tables of experiments."""
    git = partial(subprocess.run, cwd=house, capture_output=True, check=False)
    commit = git(["git", "describe", "--always"]).stdout.decode().strip()
    changed = git(["git", "diff", "--quiet", "HEAD", "--", ".", ":!docs/experiments"]).returncode
    return f"{commit}{'-dirty' * bool(changed)}" if commit else "unknown"


def _add_table(experiment: Experiment, rows: list[Row], file: Path) -> None:
    """Write a section below the older ones."""
    file.parent.mkdir(exist_ok=True)
    before = file.read_text() if file.exists() else f"# {experiment.title}\n\n{experiment.about}\n"
    columns = list(rows[0])
    machine = f"Python {platform.python_version()}, {os.cpu_count()} processors, Linux {platform.release()}."
    lines = [f"\n## {datetime.now(UTC):%Y-%m-%d}\n", machine + "\n"]
    lines += [_line(columns), _line(["---"] * len(columns)), *(_line([row[name] for name in columns]) for row in rows)]
    file.write_text(before + "\n".join(lines) + "\n")


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
