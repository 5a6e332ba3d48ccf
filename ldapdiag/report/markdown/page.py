"""A report object as Markdown.

A history as Markdown: per server its lasting findings and its latest runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.history.rows import LASTING, RUNS, lasting_rows, period, remarks, run_rows, title
from ldapdiag.report.markdown import diagnosis, log
from ldapdiag.report.markdown.writing import fenced, fitted, listed, part, prose

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def history(document: Mapping[str, Any]) -> str:
    """Return a report object as Markdown."""
    return fitted(
        [f"### History {prose(document['file'])}", f"{prose(title(document))}, {period(document)}."],
        [],
        list(_parts(document)),
    )


def _parts(document: Mapping[str, Any]) -> Iterator[str]:
    lasting, runs = ([f"{name[0].lower()}{name[1:]}" for name, _ in columns] for columns in (LASTING, RUNS))
    for server in document["servers"]:
        yield from part(f"{server}: findings of the last run", lasting, lasting_rows(document, server))
        yield from part(f"{server}: runs, the latest first", runs, run_rows(document, server))
    yield from part("Findings about no single server", lasting, lasting_rows(document, None))
    if notes := remarks(document):
        yield f"### Remarks\n\n{listed(notes)}"


MOST_MADE = 2_000
"""Characters of the command."""

PAGES = {"ldapdiag.log": log.page, "ldapdiag.history": history}
"""By schema; all others are diagnoses."""


def render(document: Mapping[str, Any], made: str = "") -> str:
    """Return a report object as Markdown; `made`, when and by which command, is its last block."""
    text = PAGES.get(document["schema"].partition("/")[0], diagnosis.page)(document)
    return f"{text}\n{fenced(made[:MOST_MADE], 'text')}\n" if made else text
