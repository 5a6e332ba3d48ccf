"""What holds for every format of storage: no text crashes it, and none takes long or much memory."""

from __future__ import annotations

import importlib
from time import process_time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import CAPTURES
from ldapdiag.evidence.document import Document
from ldapdiag.evidence.formats import MODULES, head_of

if TYPE_CHECKING:
    from ldapdiag.evidence.format import Format

OTHERS = frozenset({"storage.probe_file"})
"""Modules whose own tests show the same."""
ALL = [
    importlib.import_module(f"ldapdiag.evidence.{module}").FORMAT
    for module in MODULES
    if module.startswith("storage.") and module not in OTHERS
]
LINES = sorted(
    {line for path in sorted((CAPTURES / "storage").rglob("*.txt")) for line in path.read_text().splitlines()[:8]}
)
"""Real lines, which the tests cut, join and lengthen."""

UNITS = (
    " ",
    "\t",
    "a",
    "0",
    "/",
    ":",
    ",",
    '"',
    "\\",
    "(",
    "[",
    " on /",
    " type ",
    "a=",
    "-> ",
    ". ",
    "1..",
    "\\040",
    "é",
)
LONG = 16_384
SECONDS = 4.0


@pytest.mark.parametrize("form", ALL, ids=lambda form: form.name)
@given(
    data=st.lists(
        st.sampled_from(LINES) | st.text(max_size=60) | st.binary(max_size=60).map(lambda b: b.decode("latin-1"))
    )
)
def test_no_text_crashes_any(form: Format, data: list[str]) -> None:
    document = Document(path="x", source=[line for text in data for line in text.split("\n")])
    assert form.read
    list(form.read(document))
    assert 0 <= document.missed <= document.seen
    form.recognises(head_of("x", "\n".join(data).encode(errors="replace"), whole=True))


@pytest.mark.parametrize("form", ALL, ids=lambda form: form.name)
def test_no_long_line_takes_long(form: Format) -> None:
    starts = ["", *(line[: len(line) // 2] for line in LINES[:: max(1, len(LINES) // 40)]), *LINES[::80]]
    lines = [start + unit * (LONG // len(unit)) for start in starts for unit in UNITS]
    began = process_time()
    assert form.read
    list(form.read(Document(path="x", source=lines)))
    form.recognises(head_of("x", "\n".join(lines).encode(), whole=True))
    assert process_time() - began < SECONDS, f"{len(lines)} lines"
