"""Record every report on every captured case, in every format, to compare them before and after a change.

    PYTHONPATH=tests .venv/bin/python bench/record_reports.py FOLDER [CORPUS ...]

writes one folder per command and case into FOLDER, with one file per format, table and script; `diff -r BEFORE AFTER`
shows what a change altered. Without CORPUS it reads the examples and the project's own captures. The time at which a
report was made is replaced by a word.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import command
from command import ldapdiag
from ldapdiag.cli.diagnose import DiagnosisTable
from ldapdiag.cli.indexes import IndexTable
from ldapdiag.cli.log import LogTable
from ldapdiag.cli.storage import StorageTable

HOUSE = Path(__file__).parent.parent
OWN = (HOUSE / "examples", HOUSE / "tests" / "captures", HOUSE / "tests" / "captures" / "incidents")
NOW = re.compile(rb'(?<="taken_at": ")[^"]*|(?<=Report of )\S+Z|(?<=Made )[0-9-]+ [0-9:]+(?= UTC)')
LOGS = re.compile(r"access|audit|slapd\.stderr|syslog|\.json$|\.csv$|\.xml$|docker|k8s|journal|dsjson")
SEVERAL = ("report.txt", "report.json", "report.html", "report.md")
TABLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "diagnose": tuple(DiagnosisTable),
        "indexes": tuple(IndexTable),
        "storage": tuple(StorageTable),
        "log": tuple(LogTable),
    }
)
ALONE: Mapping[str, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        "diagnose": (("-v",), ("--script",)),
        "indexes": (("-v",), ("--script",), ("--ldif",)),
        "storage": (("-v",), ("--script",)),
        "log": (("--by", "client"), ("--by", "account"), ("--by", "server")),
    }
)
"""What is printed beside the reports of SEVERAL."""


@dataclass(frozen=True, slots=True)
class Case:
    """A command on a file or folder below a root."""

    root: Path
    path: Path
    command: str

    def record(self, folder: Path) -> None:
        """Write what the command prints, its errors and its exit code."""
        named = self.path.relative_to(self.root)
        kept = folder / self.command / "_".join((self.root.name, *named.parts))
        kept.mkdir(parents=True, exist_ok=True)
        os.chdir(self.root)
        self._run(kept, "reports", *(f"--output={kept / name}" for name in SEVERAL), str(named))
        for arguments in ALONE[self.command]:
            self._run(kept, "".join(arguments).strip("-"), *arguments, str(named))
        for table in TABLES[self.command]:
            self._run(kept, f"{table}.csv", "--format=csv", f"--table={table}", str(named))
        for written in kept.iterdir():
            written.write_bytes(NOW.sub(b"NOW", written.read_bytes()).replace(os.fsencode(kept), b"OUTPUT"))

    def _run(self, kept: Path, name: str, *arguments: str) -> None:
        ran = ldapdiag(self.command, *arguments)
        (kept / name).write_bytes(ran.out + b"\n--- errors\n" + ran.err + b"\n--- exit code %d\n" % ran.code)


def cases(root: Path) -> Iterator[Case]:
    """Yield every command on the folders directly below a root, and `log` on what may be access logs by their names."""
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        for name in ("diagnose", "indexes", "storage"):
            yield Case(root, folder, name)
    for path in sorted(path for path in root.rglob("*") if path.is_file() and LOGS.search(path.name)):
        yield Case(root, path, "log")


def main() -> None:
    """Record every case of every root."""
    folder, *named = (Path(argument).resolve() for argument in sys.argv[1:])
    command.PATIENCE = 600
    command.LOGIN.update(COLUMNS="100", NO_COLOR="1")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for recorded in [pool.submit(case.record, folder) for root in named or OWN for case in cases(root)]:
            recorded.result()


if __name__ == "__main__":
    main()
