"""A report object as Markdown."""

from __future__ import annotations

from typing import Any

from ldapdiag.report.markdown import diagnosis, history, log

PAGES = {"ldapdiag.log": log.page, "ldapdiag.history": history.page}
"""By schema; all others are diagnoses."""


def render(document: dict[str, Any]) -> str:
    """Return a report object as Markdown."""
    return PAGES.get(document["schema"].partition("/")[0], diagnosis.page)(document)
