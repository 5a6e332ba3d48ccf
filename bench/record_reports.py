"""Record the report of every command on every captured case, to compare them before and after a change.

    .venv/bin/python bench/record_reports.py FOLDER [CORPUS ...]

writes one file per command, case and format into FOLDER; `diff -r BEFORE AFTER` shows what a change altered. Without
CORPUS it reads the project's own captures and the incident in examples.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HOUSE = Path(__file__).parent.parent
OWN = (HOUSE / "examples", HOUSE / "tests" / "captures", HOUSE / "tests" / "captures" / "incidents")
TAKEN_AT = re.compile(rb'"taken_at": "[^"]*Z",\n "tool"')
LOGS = re.compile(r"access|audit|slapd\.stderr|syslog|\.json$|\.csv$|\.xml$|docker|k8s|journal|dsjson")
COLUMNS = "100"


def cases(root: Path) -> list[Path]:
    """Return the folders directly below a root."""
    return sorted(path for path in root.iterdir() if path.is_dir())


def logs(root: Path) -> list[Path]:
    """Return the files below a root that may be access logs by their names."""
    return sorted(path for path in root.rglob("*") if path.is_file() and LOGS.search(path.name))


def record(folder: Path, root: Path, arguments: tuple[str, ...], path: Path) -> None:
    """Write what one command prints of one path, its errors and its exit code."""
    name = "_".join((*arguments, root.name, *path.relative_to(root).parts)).replace("--format", "").replace(" ", "")
    ran = subprocess.run(
        [sys.executable, "-m", "ldapdiag", *arguments, str(path.relative_to(root))],
        cwd=root,
        env=os.environ | {"COLUMNS": COLUMNS, "NO_COLOR": "1"},
        capture_output=True,
        check=False,
        timeout=600,
    )
    shown = TAKEN_AT.sub(b'"tool"', ran.stdout)
    (folder / name).write_bytes(shown + b"\n--- errors\n" + ran.stderr + b"\n--- exit code %d\n" % ran.returncode)


def main() -> None:
    """Record every case of every root."""
    folder, *named = (Path(argument).resolve() for argument in sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    jobs = []
    for root in named or OWN:
        for command in ("diagnose", "indexes"):
            jobs += [(root, (command, "--format", form), path) for path in cases(root) for form in ("text", "json")]
        jobs += [(root, ("log", "--format", form), path) for path in logs(root) for form in ("text", "json")]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: record(folder, *job), jobs))


if __name__ == "__main__":
    main()
