"""The property tests with twenty thousand examples each, and a seed of their own each time."""

from __future__ import annotations

import re
import secrets
import subprocess
import sys
from time import monotonic

from experiments.notebook import AS_EXPECTED, HOUSE, Experiment

TESTS = HOUSE / "tests"
DRAWN = re.compile(r"@given\(|examples\.rounds\(")
SMALLEST = "report/test_neutral.py"


def files() -> list[str]:
    """Return the test files that draw examples, the smallest first."""
    found = [path for path in TESTS.rglob("test_*.py") if DRAWN.search(path.read_text())]
    names = sorted(str(path.relative_to(TESTS)) for path in found if "experiments" not in path.parts)
    return sorted(names, key=lambda name: name != SMALLEST)


def pytest(file: str, profile: str) -> dict[str, str]:
    """Run a file of tests with a seed of its own."""
    seed, began = secrets.randbelow(1 << 32), monotonic()
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--numprocesses", "auto", f"tests/{file}",
         "--hypothesis-profile", profile, "--hypothesis-seed", str(seed)],
        cwd=HOUSE, capture_output=True, text=True, check=False,
    )  # fmt: skip
    passed = re.search(r"(\d+) passed", ran.stdout)
    wrong = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return {
        "seed": str(seed),
        "passed": passed[1] if passed else "0",
        "wall": f"{monotonic() - began:,.0f} s",
        "result": AS_EXPECTED if ran.returncode == 0 and passed else "; ".join(wrong) or f"exit code {ran.returncode}",
    }


def run(step: str, *, small: bool) -> dict[str, str]:
    """Run the tests of one file."""
    return pytest(step, "desk" if small else "experiment")


EXPERIMENT = Experiment(
    name="drawn-examples",
    title="Property tests with many examples",
    about=(
        "The profile `experiment` (tests/examples.py): each property test draws 20,000 examples, or a part of that\n"
        "where one is costly; the seed repeats it (`--hypothesis-seed`). Expected: every test passes."
    ),
    steps=tuple(files()),
    run=run,
    small=1,
)
