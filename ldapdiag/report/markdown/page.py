"""A report object as Markdown: a diagnosis, the contents of access logs, or a history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ldapdiag.report.history.rows import LASTING, RUNS, lasting_rows, period, remarks, run_rows, title
from ldapdiag.report.log.caveats import left_out, limits
from ldapdiag.report.log.caveats import remarks as log_remarks
from ldapdiag.report.log.fleet_text import fleet_sentences
from ldapdiag.report.log.operations_text import load_sentences
from ldapdiag.report.log.tables import SEARCHES, SECTIONS, at_once, unusual
from ldapdiag.report.markdown import diagnosis
from ldapdiag.report.markdown.writing import ROOM, fenced, fitted, listed, part, parts, prose, table
from ldapdiag.wording import counted, duration, number

if TYPE_CHECKING:
    from collections.abc import Iterator

Plain = Mapping[str, Any]

SENTENCES = 1000
LONG_TABLE = 10_000
"""Bytes of the table of searches."""


def access_logs(document: Plain) -> str:
    """Return a report object as Markdown."""
    return fitted(list(_head(document)), [], list(_tables(document)))


def _head(document: Plain) -> Iterator[str]:
    servers = ", ".join(stream["name"] for stream in document["streams"])
    yield f"### Access log of {prose(servers)}"
    if stated := " ".join(limits(document)):
        yield f"**{prose(stated, SENTENCES)}**"
    searches, connections = document["searches"], document["connections"]
    yield table(
        ["searches", "search time", "unindexed", "connections opened", f"open {at_once(document)}"],
        [
            [
                number(searches["total"]),
                duration(searches["etime_seconds"]),
                number(searches["unindexed"]),
                number(connections["opened"]),
                number(connections["peak"]),
            ]
        ],
    )
    apart = [f"Of the searches, {what}." for what in unusual(searches)]
    if sentences := [*apart, *load_sentences(document), *(fleet_sentences(document) if document["fleet"] else ())]:
        yield prose(" ".join(sentences), SENTENCES)
    covered = f"{document['first_time']} to {document['last_time']}" if document["first_time"] else "no record"
    yield (
        f"{prose(', '.join(document['versions']) or 'Version unknown')}, {prose(covered)}, "
        f"{counted(document['lines'], 'line')}, {number(document['lines_not_understood'])} not understood."
    )


def _tables(document: Plain) -> Iterator[str]:
    for _, _, tables in SECTIONS:
        for one in tables:
            yield from parts(document, [one], LONG_TABLE if one is SEARCHES else ROOM)
    gaps = [f"{one['target']}: {one['reason']}" for one in (*document["gaps"], *document["files_not_logs"])]
    copies = [f"{target} {reason}; it is left out" for target, reason in left_out(document)]
    if stated := [*log_remarks(document), *copies, *gaps]:
        yield f"### Remarks\n\n{listed(stated)}"


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

PAGES = {"ldapdiag.log": access_logs, "ldapdiag.history": history}
"""By schema; all others are diagnoses."""


def render(document: Mapping[str, Any], made: str = "") -> str:
    """Return a report object as Markdown; `made`, when and by which command, is its last block."""
    text = PAGES.get(document["schema"].partition("/")[0], diagnosis.page)(document)
    return f"{text}\n{fenced(made[:MOST_MADE], 'text')}\n" if made else text
