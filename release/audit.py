"""Ask the databases of vulnerabilities about what a release is built of, by pip-audit and cargo-audit.

    python release/audit.py

Ends with 1 where one is known. What was not asked, because a tool is missing or a database is out of reach, is a line.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HOUSE = Path(__file__).parents[1]
LOCKED = HOUSE / "release" / "locked.txt"
CRATES = HOUSE / "native" / "Cargo.lock"


def main() -> None:
    """Print a line for each vulnerability, and one for what was not audited."""
    known = [*_of_python(), *_of_rust()]
    print(*known, sep="\n", end="\n" if known else "")
    sys.exit(bool(known))


def _of_python() -> list[str]:
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCKED), "--no-deps", "--disable-pip"]
    answer = _asked(LOCKED, [*command, "--progress-spinner", "off", "--format", "json"])
    all_of_them = answer.get("dependencies", [])
    if skipped := [one["name"] for one in all_of_them if "vulns" not in one]:
        _not_audited(LOCKED, f"the database does not answer for {len(skipped)} of {len(all_of_them)} packages")
    return [f"{one['name']}: {each['id']}" for one in all_of_them for each in one.get("vulns", [])]


def _of_rust() -> list[str]:
    if not (tool := shutil.which("cargo-audit")):
        _not_audited(CRATES, "there is no cargo-audit here")
        return []
    answer = _asked(CRATES, [tool, "audit", "--file", str(CRATES), "--json"])
    found = answer.get("vulnerabilities", {}).get("list", [])
    return [f"{one['package']['name']}: {one['advisory']['id']}" for one in found]


def _asked(lock: Path, command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        _not_audited(lock, (done.stderr.strip().splitlines() or ["no answer"])[-1])
        return {}
    return answer


def _not_audited(lock: Path, why: str) -> None:
    print(f"not audited: {lock.relative_to(HOUSE)}: {why}")


if __name__ == "__main__":
    main()
