"""The columns of a text are those that rich measures, whether or not rich is asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich import cells as theirs

from ldapdiag.report import neutral as cells

TEXTS = st.text(st.sampled_from([*"ab …·█▏─", "é", "漢", "\u0301", "\u200d", "😀"]), max_size=30) | st.text(max_size=30)


@given(text=TEXTS, columns=st.integers(1, 40))
def test_texts_are_measured_and_cut_as_rich_does(text: str, columns: int) -> None:
    assert cells.cell_len(text) == theirs.cell_len(text)
    assert cells.chop_cells(text, columns) == theirs.chop_cells(text, columns)
    assert cells.set_cell_size(text, columns) == theirs.set_cell_size(text, columns)


@pytest.mark.parametrize("character", sorted(cells.NARROW))
def test_each_narrow_character_has_one_column(character: str) -> None:
    assert theirs.cell_len(character) == 1
