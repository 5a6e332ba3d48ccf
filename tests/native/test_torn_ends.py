"""A log without a final newline, because it is being written or was cut: both scanners give the same Segment."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest

import examples
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.sources.logs.access_log import read
from log.comparable import plain
from log.scanners import need_native
from log.vectors import LOGS, label, text

if TYPE_CHECKING:
    from pathlib import Path

THEMES = {"story", "crlf", "last-line", "pretty", "quotes", "wrappers"}
LAST_LINES = 3
ENDS = (b"\r", b"\r\r", b" ", b"\t", b"\n", b"\n\r", b"\n ", b"\n\t\r\n", b"\0", b"\n\n  x", b"\rx", b"\n\rx")
"""What may come last without a newline, and is a line of its own or goes on with the one before."""


@pytest.fixture(autouse=True)
def _installed() -> None:
    need_native()


def said(path: Path, scanner: Scanner) -> Any:
    """Return the report of a scanner on a file, if that is a log."""
    reading = read([str(path)], workers=1, scanner=scanner)
    assert [one.scanner for one in reading.streams] in ([scanner], [])
    return [(plain(one.counts.finished()), one.gaps, one.notes) for one in reading.streams]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("vector", examples.some([path for path in LOGS if path.stem in THEMES], 3), ids=label)
def test_a_log_cut_anywhere_near_its_end_is_read_alike(vector: Path, tmp_path: Path, *, packed: bool) -> None:
    lines = text(vector).splitlines(keepends=True)
    whole = len(b"".join(lines[:-LAST_LINES]))
    data = text(vector)
    cuts = [data[:end] for end in range(whole, len(data), 31 if packed else 7)]
    borders = [end for end in range(whole, len(data)) if b"\n" in data[end - 1 : end + 2]]
    torn = [*examples.some(cuts, 4), *(data[:end] for end in borders), *(data.rstrip(b"\r\n") + end for end in ENDS)]
    for number, one in enumerate(torn):
        log = tmp_path / f"{number}{'.gz' if packed else ''}"
        log.write_bytes(gzip.compress(one, 1) if packed else one)
        assert said(log, Scanner.NATIVE) == said(log, Scanner.PYTHON), one[whole - 200 :]
