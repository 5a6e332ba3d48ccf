"""The page: its width where no terminal shows it, and texts that are cut."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ldapdiag.report.page import MARGIN, NARROWEST, PIPED, WIDEST, Page, page_for


@pytest.mark.parametrize(
    ("columns", "width"),
    [
        (None, PIPED),
        ("80", 80),
        ("120", 120),
        ("1000", WIDEST),
        ("0", MARGIN + NARROWEST),
        ("", PIPED),
        ("-80", PIPED),
        ("wide", PIPED),
    ],
)
def test_piped_text_has_the_width_of_columns_or_100(
    monkeypatch: pytest.MonkeyPatch, columns: str | None, width: int
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert page_for(StringIO()).width == width


def shown(most: int | None, text: str) -> list[str]:
    stream = StringIO()
    Page(stream, 40).labelled("label", text, "", most=most)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("text", ["word " * 50, "x" * 300, "汉字" * 100])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_long_text_is_cut_to_so_many_lines_and_the_cut_shows(text: str, most: int) -> None:
    lines = shown(most, text)
    assert len(lines) == most
    assert lines[-1].endswith("…")
    assert max(map(cell_len, lines)) <= 40


@pytest.mark.parametrize("most", [None, 1, 5])
def test_a_short_text_is_whole(most: int | None) -> None:
    assert shown(most, "one two") == ["label       one two"]


@given(st.text("ab  ·━…汉☺\u0301\ufe0f\u3000", max_size=120), st.integers(32, 50))
def test_a_text_is_wrapped_as_rich_wraps_it(text: str, width: int) -> None:
    stream = StringIO()
    Page(stream, width).indented(text)
    wrapped = Text(text).wrap(Console(file=StringIO()), width - MARGIN)
    assert stream.getvalue().split("\n") == [*(" " * MARGIN + line.plain.rstrip() for line in wrapped or [Text()]), ""]
