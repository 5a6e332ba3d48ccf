"""Random mutants of the product: one operator, constant or condition changed each, against the tests of its subject.

A mutant whose tests fail, or need more than a minute of processor time, is killed. What survives is printed by its
place: a test is missing there, or the change makes no difference.
"""

from __future__ import annotations

import ast
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from experiments.notebook import AS_EXPECTED, HOUSE, Experiment

MUTANTS, SEED = 60, 1
"""Per subject."""
PATIENCE = 60
"""Seconds of processor time for the tests of one mutant; ten times as long on the clock, for tests that wait."""
SUBJECTS = {
    "pairing": ("ldapdiag/analysis/pairing", "tests/analysis/pairing"),
    "idle": ("ldapdiag/analysis/idle", "tests/analysis/idle"),
    "indexes": ("ldapdiag/analysis/indexes", "tests/analysis/indexes"),
    "log": ("ldapdiag/analysis/log", "tests/analysis/log"),
    "servers": ("ldapdiag/servers", "tests/servers"),
}
COPIED = ("ldapdiag", "checks", "tests", "examples", "docs", "pyproject.toml", "README.md", "CONTRIBUTING.md")
PAIRS = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)),
    *((ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.And, ast.Or)),
)
SWAPPED = {**dict(PAIRS), **{right: left for left, right in PAIRS}}


def places(tree: ast.Module) -> list[ast.AST]:
    """Return the nodes of functions that can be changed: comparisons, sums, conditions, numbers and truth values."""
    bodies = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return list(dict.fromkeys(node for body in bodies for node in ast.walk(body) if _is_place(node)))


def _is_place(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[operator]) | ast.BinOp(op=operator) | ast.BoolOp(op=operator):
            return type(operator) in SWAPPED
        case ast.Constant(value=bool() | int()) | ast.UnaryOp(op=ast.Not()) | ast.IfExp():
            return True
    return False


def change(node: ast.AST) -> None:
    """Change one node, in its tree."""
    match node:
        case ast.Compare(ops=[operator]):
            node.ops = [SWAPPED[type(operator)]()]
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator):
            node.op = SWAPPED[type(operator)]()
        case ast.Constant(value=bool(value)):
            node.value = not value
        case ast.Constant(value=int(value)):
            node.value = value + 1
        case ast.UnaryOp():
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case ast.IfExp():
            node.body, node.orelse = node.orelse, node.body


def drawn(folder: str, number: int) -> Iterator[tuple[Path, int]]:
    """Yield files below a folder of the product and the number of a place in each, every place as likely as another."""
    files = sorted(path.relative_to(HOUSE) for path in (HOUSE / folder).rglob("*.py"))
    every = [(path, index) for path in files for index in range(len(places(ast.parse((HOUSE / path).read_text()))))]
    yield from Random(f"{SEED} {folder}").sample(every, number)  # noqa: S311  a sample that can be repeated, no secret


def passes(copy: Path, tests: str) -> bool:
    """Return whether the tests of a subject pass in a copy of the house, in time."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", tests]
    ours = {"PYTHONPATH": f"{copy}:{copy / 'checks'}", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ran = subprocess.run(
            command,
            cwd=copy,
            env=os.environ | ours,
            timeout=10 * PATIENCE,
            check=False,
            capture_output=True,
            preexec_fn=_limit,
        )
    except subprocess.TimeoutExpired:
        return False
    return ran.returncode == 0


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))


def survivors(copy: Path, folder: str, tests: str, number: int) -> Iterator[str]:
    """Put one mutant after the other into a copy, and yield the place of each whose tests pass."""
    for path, index in drawn(folder, number):
        text = (HOUSE / path).read_text()
        tree = ast.parse(text)
        node = places(tree)[index]
        change(node)
        (copy / path).write_text(ast.unparse(tree))
        if passes(copy, tests):
            yield f"{path.relative_to(folder)}:{getattr(node, 'lineno', 0)}"
        (copy / path).write_text(text)


def run(step: str, *, small: bool) -> dict[str, str]:
    """Try the mutants of one subject."""
    folder, tests = SUBJECTS[step]
    number = 2 if small else MUTANTS
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        for one in COPIED:
            source = HOUSE / one
            (shutil.copytree if source.is_dir() else shutil.copy)(source, copy / one)
        is_sound = passes(copy, tests)
        alive = list(survivors(copy, folder, tests, number)) if is_sound else []
    return {
        "mutants": str(number),
        "killed": f"{(number - len(alive)) / number:.0%}",
        "survivors": " ".join(alive),
        "result": AS_EXPECTED if is_sound else "the tests do not pass in that time as it is",
    }


EXPERIMENT = Experiment(
    name="mutants",
    title="Random mutants, against the tests of their subject",
    about=(
        "One operator, constant or condition is changed at a time; the tests of its subject get 60 s of a processor.\n"
        "Expected: the share that is killed is no lower than in the table before."
    ),
    steps=tuple(SUBJECTS),
    run=run,
    small=1,
)
