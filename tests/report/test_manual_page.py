"""The manual page of a check: readable on a terminal of any width, with nothing of its source left in it."""

from __future__ import annotations

import re

import pytest

from ldapdiag.catalogue import installed_checks
from ldapdiag.check import Check, check
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.report.manual_page import manual_page


@check
def judge(kernel: KernelSettings | None = None) -> tuple[()]:
    """Sockets that nobody reads.

    ## What it looks at
    The queue of `ss -tan`, and a word-with-hyphens that is never broken at its hyphens, however narrow the page is.

    A second paragraph.

    ## Severity
    - high: 100 or more, of which each one has had unread data for longer than a minute.
    - low: fewer.
    """
    return ()


def test_headings_are_at_the_left_edge_and_texts_behind_a_margin() -> None:
    assert manual_page(judge, 60).splitlines() == [
        judge.id,
        "    Sockets that nobody reads.",
        "",
        "WHAT IT LOOKS AT",
        "    The queue of ss -tan, and a word-with-hyphens that is",
        "    never broken at its hyphens, however narrow the page is.",
        "",
        "    A second paragraph.",
        "",
        "SEVERITY",
        "    - high: 100 or more, of which each one has had unread",
        "      data for longer than a minute.",
        "    - low: fewer.",
        "",
        "EVIDENCE",
        "    kernel settings (optional)",
        "        on that host: sysctl -a > sysctl.txt",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("one", installed_checks(), ids=lambda one: one.id)
def test_every_page_fits_the_terminal_and_shows_no_markup(one: Check[...], width: int) -> None:
    page = manual_page(one, width)

    assert [line for line in page.splitlines() if len(line) > min(width, 80) and " " in line.strip()] == []
    assert [sign for sign in ("`", "##", "**", "](") if sign in page] == []


CLASS_NAME = re.compile(r"\b[A-Z][a-z]+[A-Z]\w+")
"""A name in camel case."""


@pytest.mark.parametrize("one", installed_checks(), ids=lambda one: one.id)
def test_no_page_names_a_python_class(one: Check[...]) -> None:
    assert {need.fact.__name__ for need in one.needs}.isdisjoint(CLASS_NAME.findall(manual_page(one, 80)))
