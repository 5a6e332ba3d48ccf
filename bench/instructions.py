"""Instructions per line of the native log scanner, by dialect: a busy or throttled machine does not change them.

valgrind counts those of the whole command on a log and on its first half; the difference, divided by the lines between,
leaves out starting and reporting. The recorded numbers are those of an earlier commit; another compiler or processor
without AVX2 changes them by a few percent. To record those of this tree:

    PYTHONPATH=tests python bench/instructions.py --record COMMIT
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from log_dialects import DIALECTS, rewritten
from log_runs import environment
from measure import HEADER, Figure

from ldapdiag.sources.logs.native import installed

if TYPE_CHECKING:
    from collections.abc import Iterator

GENERATOR = Path(__file__).resolve().parents[2] / "shared/lab/gen_access_log.py"
RECORD = Path(__file__).with_suffix(".json")
LINES = 400_000
GOAL = 1.15
"""Multiple of the recorded number."""
COUNTER = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
COUNTED = "I   refs:"


def figures(folder: Path) -> Iterator[Figure | str]:
    """Yield instructions per line against those recorded; or why they are not counted."""
    if reason := missing():
        yield f"instructions per line: not counted, {reason}"
        return
    recorded = json.loads(RECORD.read_text(encoding="ascii"))
    for name, ours in counted(folder):
        what = f"instructions per line, {name} / {recorded['commit']}"
        yield Figure(what=what, ours=ours, theirs=recorded["per_line"][name], goal=GOAL, unit="", digits=0)


def missing() -> str:
    """Return what is not at hand; empty: nothing."""
    if not GENERATOR.exists():
        return f"there is no {GENERATOR.parent.parent.name}/ beside this checkout"
    if installed().module is None:
        return "the native scanner is not installed (cargo builds it: make .venv/native)"
    return (
        "" if shutil.which(COUNTER[0]) else f"there is no {COUNTER[0]} to count with (Debian: apt-get install valgrind)"
    )


def counted(folder: Path) -> Iterator[tuple[str, float]]:
    """Yield each dialect and its instructions per line."""
    text = folder / "instructions"
    subprocess.run([sys.executable, GENERATOR, str(LINES), text], check=True)
    for name in ("text", *DIALECTS):
        log = text if name == "text" else rewritten(name, text)
        lines = log.read_bytes().splitlines(keepends=True)
        half = log.with_name("half")
        half.write_bytes(b"".join(lines[: len(lines) // 2]))
        if name == "text":
            _instructions(half)  # compiles the modules that changed
        yield name, (_instructions(log) - _instructions(half)) / (len(lines) - len(lines) // 2)


def _instructions(log: Path) -> int:
    command = [*COUNTER, sys.executable, "-m", "ldapdiag", "log", "--format", "json", "--scanner", "native", str(log)]
    fixed = {**environment(), "PYTHONHASHSEED": "0", "LC_ALL": "C"}
    ran = subprocess.run(command, env=fixed, capture_output=True, check=True)
    line = next(line for line in ran.stderr.decode().splitlines() if COUNTED in line)
    return int(line.partition(COUNTED)[2].replace(",", ""))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="ldapdiag-bench-") as name:
        if sys.argv[1:2] == ["--record"]:
            numbers = {dialect: round(count) for dialect, count in counted(Path(name))}
            record = {"commit": sys.argv[2], "per_line": numbers}
            RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="ascii")
        else:
            print(HEADER, flush=True)
            for figure in figures(Path(name)):
                print(figure, flush=True)
