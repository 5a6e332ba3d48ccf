"""A report object as Markdown."""

from __future__ import annotations

from typing import Any

from ldapdiag.report.markdown import diagnosis, log


def render(document: dict[str, Any]) -> str:
    """Return a report object as Markdown."""
    return log.page(document) if document["schema"].startswith("ldapdiag.log/") else diagnosis.page(document)
