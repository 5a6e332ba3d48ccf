"""Markdown from hostile text: a parser of CommonMark sees the text, and no element that it would add."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ldapdiag.report.markdown.writing import BACKTICKS, JOINER, fenced, listed, prose, size, table
from ldapdiag.report.neutral import neutral

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])

HOSTILE = [
    "# heading",
    "- item",
    "1. item",
    "=====",
    "---",
    "***bold*** _em_ ~~gone~~ `code`",
    "``` \n```",
    "~~~",
    "[link](http://evil.example/)",
    "![image](http://evil.example/x.png)",
    "<script>alert(1)</script>",
    "<!-- comment",
    "<http://evil.example>",
    "&lt;b&gt; &#64;",
    "| a | b |",
    "a\n\n# b",
    "a\r\nb\u2028c",
    "    indented",
    "> quoted",
    "\\# \\",
    "trailing \\",
    "two spaces  \nbreak",
    "[ref]: http://evil.example",
    "(cn=*)(uid=a_b_c)",
    "\x1b[31mred\u202e",
    "\udcff",
    "$x$ ^y^",
]
texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.lists(st.sampled_from([*HOSTILE, *"`*_[]<>|@#&\\~-+=.)! \n\tx1"]), max_size=8).map("".join),
    st.text(max_size=60),
)


def elements(markdown: str) -> list[str]:
    """Return the types of all tokens, those of inline text among them."""
    return [
        kind
        for token in PARSER.parse(markdown)
        for kind in (token.type, *(child.type for child in token.children or () if child.type != "text"))
    ]


def shown(markdown: str) -> list[str]:
    """Return the text of each piece of inline text."""
    return [
        "".join(child.content for child in token.children or ()).replace(JOINER, "")
        for token in PARSER.parse(markdown)
        if token.type == "inline"
    ]


def expected(text: str, longest: int = 400) -> str:
    return neutral(text, longest=longest).strip()


@given(texts.filter(expected))
def test_prose_is_shown_as_it_is_wherever_it_stands(text: str) -> None:
    for before, after in (("", ""), ("### ", ""), ("- ", ""), ("Risk: ", "; end"), ("**NOT READ:** ", "")):
        told, harmless = (f"{before}{one}{after}" for one in (prose(text), "x"))
        assert elements(told) == elements(harmless)
        assert shown(told)[0].endswith(expected(text) + after)


@given(st.lists(texts.filter(expected), min_size=2, max_size=2))
def test_cells_and_rows_stay_as_many(cells: list[str]) -> None:
    told = table(["a", "b"], [cells, ["c", "d"]])
    assert elements(told) == elements(table(["a", "b"], [["x", "x"], ["c", "d"]]))
    assert shown(told)[2:4] == [expected(one, 200) for one in cells]
    assert shown(listed(cells)) == [expected(one) for one in cells]


@given(texts)
def test_commands_end_where_their_fence_ends(text: str) -> None:
    tokens = PARSER.parse(f"{fenced(text, 'sh')}\n\nafter")
    assert [one.type for one in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert tokens[0].content.rstrip("\n") == neutral(text, lines=True, longest=10**6).rstrip("\n")
    assert len(BACKTICKS.match(fenced(text))[0]) > max(map(len, BACKTICKS.findall(text)), default=2)  # type: ignore[index]


@given(texts)
def test_nothing_is_left_that_a_tracker_makes_a_mention_or_a_link_of(text: str) -> None:
    assert not re.search(r"[@#]\w|(?i:https?|ftp)://|(?i:www)\.", prose(text))


@pytest.mark.parametrize("text", ["@root", "see #12", "http://evil.example", "WWW.evil.example", "mailto:a@b"])
def test_references_are_broken_and_their_text_is_not(text: str) -> None:
    assert JOINER in prose(text)
    assert shown(prose(text)) == [text]


def test_a_table_with_too_many_rows_counts_the_others() -> None:
    told = table(["a"], ([str(row)] for row in range(1000)), room=500)
    assert size(told) < 600
    rows = told.count("|\n") - 2
    assert told.endswith(f"\n\nand {1000 - rows} more")


@pytest.mark.parametrize("text", ["8.12 s", "uid=joe,dc=x", "10.77.1.2:389", "(displayName!joe)"])
def test_plain_text_is_readable_as_it_is_written(text: str) -> None:
    assert prose(text) == text
