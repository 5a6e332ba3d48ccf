"""A report object as Markdown."""

from __future__ import annotations

from typing import Any

from ldapdiag.report.markdown import diagnosis, history, log
from ldapdiag.report.markdown.writing import fenced

MOST_MADE = 2_000
"""Characters of the command."""

PAGES = {"ldapdiag.log": log.page, "ldapdiag.history": history.page}
"""By schema; all others are diagnoses."""


def render(document: dict[str, Any], made: str = "") -> str:
    """Return a report object as Markdown; `made`, when and by which command, is its last block."""
    text = PAGES.get(document["schema"].partition("/")[0], diagnosis.page)(document)
    return f"{text}\n{fenced(made[:MOST_MADE], 'text')}\n" if made else text
