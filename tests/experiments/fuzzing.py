"""A hundred million inputs for the native scanner; each step begins with what the one before found worth keeping."""

from __future__ import annotations

import os
import re
import subprocess

from experiments.notebook import AS_EXPECTED, HOUSE, Experiment

STEPS = 100
SHORT, LONG = (200, 1_120_000), (8192, 100_000)
"""Bytes of an input at most, and inputs: ten short ones take the time of a long one; each tenth step is long."""


def run(step: str, *, small: bool) -> dict[str, str]:
    """Fuzz with a number of inputs."""
    longest, runs = LONG if small or step.partition(" ")[0].endswith("0") else SHORT
    amount = "-max_total_time=15" if small else f"-runs={runs}"
    ran = subprocess.run(
        ["sh", "native/fuzz/run.sh", amount, f"-max_len={longest}"],
        cwd=HOUSE, capture_output=True, text=True, check=False,
        env=os.environ | {"CARGO_TARGET_DIR": str(HOUSE / ".venv" / "native-target")},
    )  # fmt: skip
    figures = dict(re.findall(r"^fuzz: (\w+): *(\d+)$", ran.stdout, re.MULTILINE))
    return {
        "executions": f"{int(figures.get('number_of_executed_units', 0)):,}",
        "new inputs kept": figures.get("new_units_added", "0"),
        "peak memory": f"{figures.get('peak_rss_mb', '?')} MiB",
        "result": AS_EXPECTED if ran.returncode == 0 else f"exit code {ran.returncode}: {ran.stderr[-300:].strip()}",
    }


EXPERIMENT = Experiment(
    name="fuzzing",
    title="Fuzzing of the native scanner",
    about=(
        "libFuzzer (native/fuzz/), in steps of 1,120,000 inputs of at most 200 bytes, each tenth of 100,000 of at\n"
        "most 8,192. Expected: no crash, no input that takes a minute, and never 1 GiB of memory."
    ),
    steps=tuple(f"{number} of {STEPS}" for number in range(1, STEPS + 1)),
    run=run,
    small=1,
)
