"""Every reader survives every capture with marks, quotes, cuts and repetitions where they do not belong."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import CAPTURES
from ldapdiag.evidence.formats import HEAD_BYTES, head_of, recognise
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.evidence.format import Format

MARKS = (
    *(
        '"',
        "'",
        "\\",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "=",
        ",",
        ":",
        "::",
        "$",
        "#",
        "*",
        "|",
        "&",
        "!",
        "\t",
        "\n",
        "\n ",
    ),
    *('""', "(|", "[INDEX:", "[COUNT:1]", "-1", "9" * 20, "\0", "\x1b", "é", "dn: ", "x" * 300),
)
LARGEST, LINES = 1 << 17, 40


@cache
def samples() -> dict[str, list[tuple[Path, Format]]]:
    """Return captures by the name of the format that reads them."""
    found: dict[str, list[tuple[Path, Format]]] = {}
    for path in sorted(path for path in CAPTURES.rglob("*") if path.is_file()):
        form = recognise(head_of(path.name, path.read_bytes()[:HEAD_BYTES], whole=path.stat().st_size <= HEAD_BYTES))
        if form is not None and form.read is not None:
            found.setdefault(form.name, []).append((path, form))
    return found


@st.composite
def damaged(draw: st.DrawFn, name: str) -> tuple[Format, str]:
    """Return some lines of a capture with a few changes, and the format that reads it."""
    path, form = draw(st.sampled_from(samples()[name]))
    lines = path.read_bytes()[:LARGEST].decode(errors="replace").split("\n")
    begin = draw(st.integers(0, max(0, len(lines) - LINES)))
    text = "\n".join([*lines[:3], *lines[begin : begin + LINES]])
    for _ in range(draw(st.integers(1, 5))):
        at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 20))
        piece = draw(st.sampled_from(MARKS) | st.just(text[at : at + length] * 2) | st.just(""))
        text = text[:at] + piece + text[at + length :]
    return form, text


@pytest.mark.parametrize("name", sorted(samples()))
@given(data=st.data())
def test_no_damage_crashes_a_reader(name: str, data: st.DataObject) -> None:
    form, text = data.draw(damaged(name))
    facts_of(text, form=form)
