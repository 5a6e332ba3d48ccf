"""CSV: any reader gets the values back, and no spreadsheet computes one."""

from __future__ import annotations

import csv
import re
from io import StringIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ldapdiag.report.neutral import neutral
from ldapdiag.report.table import Table, only_csv, render, rows_at

ROWS = Table(tuple(only_csv("a b.c")), rows_at("rows"))
FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " =1",
    "a;=1",
    "a; @x",
    "＝1",
    '=cmd|"/c calc"!A1',
    "'=1",
    '"=1',
    'a;"=1',
]


def read(*rows: tuple[object, object]) -> list[list[str]]:
    text = render({"rows": [{"a": a, "b": {"c": c}} for a, c in rows]}, ROWS)
    assert text.count("\r\n") == len(rows) + 1
    return list(csv.reader(StringIO(text, newline=""), strict=True))


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
@example([("=1", '"'), ("a;=1", ",")])
def test_a_reader_gets_every_text_but_for_the_marks_before_formulas(rows: list[tuple[str, str]]) -> None:
    header, *values = read(*rows)
    assert header == ["a", "b_c"]
    for row, told in zip(rows, values, strict=True):
        for one, cell in zip(row, told, strict=True):
            shown = neutral(one.replace("\n", " "), longest=10**6)
            assert cell == shown or cell.replace("'", "") == shown.replace("'", "")


@given(st.one_of(st.sampled_from(FORMULAS), st.text(alphabet="=+-@;\t\r\n '\"＝＋－＠x1")))
def test_no_cell_begins_as_a_formula_does(text: str) -> None:
    _, (told, listed) = read((text, [text, "b"]))
    for cell in (told, listed):
        for part in cell.split(";"):
            assert not re.match(r"[\s\"]*[=+@\-\t\r＝＋－＠]", part)
    assert not re.search(r"[\x00-\x1f]", told)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, ""),
        (True, "true"),
        (-1, "-1"),
        (0.25, "0.25"),
        ([], ""),
        (["a", "b"], "a; b"),
        ({"49": 3, "32": 1}, "49: 3; 32: 1"),
        ("-1", "'-1"),
        ("uid=joe,dc=x", "uid=joe,dc=x"),
        ("two\nlines", "two lines"),
        ("\x1b[31m", "\\x1b[31m"),
        ("Müller", "Müller"),
    ],
)
def test_values_are_written(value: object, told: str) -> None:
    assert read((value, "x"))[1] == [told, "x"]


def test_a_table_without_rows_has_its_header() -> None:
    assert read() == [["a", "b_c"]]
    assert render({}, ROWS) == "a,b_c\r\n"
