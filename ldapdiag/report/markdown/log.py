"""The contents of access logs as Markdown: totals, and tables of searches, other operations, failures and clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ldapdiag.report.log.caveats import left_out, limits, remarks
from ldapdiag.report.log.fleet_text import fleet_sentences
from ldapdiag.report.log.operations_text import load_sentences
from ldapdiag.report.log.tables import SEARCHES, SECTIONS, at_once, unusual
from ldapdiag.report.markdown.writing import ROOM, fitted, listed, parts, prose, table
from ldapdiag.wording import counted, duration, number

if TYPE_CHECKING:
    from collections.abc import Iterator

Plain = Mapping[str, Any]

SENTENCES = 1000
LONG_TABLE = 10_000
"""Bytes of the table of searches."""


def page(document: Plain) -> str:
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
    period = f"{document['first_time']} to {document['last_time']}" if document["first_time"] else "no record"
    yield (
        f"{prose(', '.join(document['versions']) or 'Version unknown')}, {prose(period)}, "
        f"{counted(document['lines'], 'line')}, {number(document['lines_not_understood'])} not understood."
    )


def _tables(document: Plain) -> Iterator[str]:
    for _, _, tables in SECTIONS:
        for one in tables:
            yield from parts(document, [one], LONG_TABLE if one is SEARCHES else ROOM)
    gaps = [f"{one['target']}: {one['reason']}" for one in (*document["gaps"], *document["files_not_logs"])]
    copies = [f"{target} {reason}; it is left out" for target, reason in left_out(document)]
    if stated := [*remarks(document), *copies, *gaps]:
        yield f"### Remarks\n\n{listed(stated)}"
