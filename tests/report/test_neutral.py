"""Neutral: no text from outside can command a terminal, whatever it holds."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ldapdiag.report.neutral import neutral

TEXTS = st.text(st.characters(exclude_categories=()), max_size=1000)
"""Any code points, lone surrogates and unassigned ones, too."""


def is_harmless(text: str) -> bool:
    return not any(unicodedata.category(one) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for one in text)


@given(TEXTS)
@example("\x1b" * 400)
@example("a" * 398 + "\x1b")
@example("a" * 401)
def test_the_output_holds_no_control_or_format_character_and_stays_as_it_is(text: str) -> None:
    shown = neutral(text)
    assert is_harmless(shown)
    assert len(shown) <= 400
    assert neutral(shown) == shown


@given(TEXTS)
def test_with_lines_only_line_feeds_stay(text: str) -> None:
    shown = neutral(text, lines=True, longest=10_000)
    assert is_harmless(shown.replace("\n", ""))
    assert shown.count("\n") == text.count("\n")


@given(st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), max_size=400))
def test_what_people_write_is_left_alone(text: str) -> None:
    assert neutral(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b2J", "\\x9b2J"),
        ("a\u202eb", "a\\u202eb"),
        ("one\ntwo", "one\\x0atwo"),
        ("\udcff", "\\udcff"),
        ("\U000e0041", "\\ue0041"),
        ("uid=Jürgen,ou=人", "uid=Jürgen,ou=人"),
    ],
)
def test_what_is_dangerous_is_spelled_out(text: str, shown: str) -> None:
    assert neutral(text) == shown


def test_what_is_cut_says_so() -> None:
    assert neutral("a" * 401) == "a" * 399 + "…"
    assert neutral("a" * 10, longest=4) == "aaa…"
