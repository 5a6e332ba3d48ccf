"""Each vector, read by each scanner, gives the answer that a person has found right, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from log.scanners import NATIVE, SCANNERS, need_native, scanned
from log.vectors import HINTS, LOGS, VECTORS, answer, dialect_of, label, text

LEAST = {"389-text": 20, "389-json": 10, "openldap-stderr": 8, "openldap-syslog": 5}
"""Themes of the dialects that have the most."""


@pytest.mark.parametrize("scanner", SCANNERS)
@pytest.mark.parametrize("path", LOGS, ids=label)
def test_it_gives_the_answer_that_was_read(path: Path, scanner: str) -> None:
    if scanner == "native":
        need_native()
    dialect = dialect_of(path)
    expected = path.with_suffix(".json").read_text(encoding="ascii")
    assert answer(scanned(scanner, dialect, text(path), HINTS), dialect) + "\n" == expected


def test_the_native_scanner_has_the_dialects_that_it_must_read() -> None:
    assert set(need_native().DIALECTS) == set(NATIVE)


def test_each_dialect_has_vectors() -> None:
    count = {name: len(list((VECTORS / name).glob("*.log"))) for name in NATIVE}
    assert {name: least for name, least in LEAST.items() if count[name] < least} == {}
    assert min(count.values()) > 0
    assert {path.with_suffix(".log") for path in VECTORS.glob("*/*.json")} == set(LOGS)
