"""The values of the page of access logs, from the report object of `ldapdiag log`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag import __version__
from ldapdiag.report.html.figures import of_log
from ldapdiag.report.html.values import page_tables
from ldapdiag.report.log.caveats import limits, remarks
from ldapdiag.report.log.fleet_text import fleet_sentences
from ldapdiag.report.log.operations_text import load_sentences
from ldapdiag.report.log.tables import READ, SECTIONS, at_once, unusual
from ldapdiag.wording import counted, duration, number, shown_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REMARKS = 40


def log_values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the template of access logs prints."""
    return {
        "kind": "access log",
        "version": __version__,
        "scanner": document["scanner"],
        "names": ", ".join(stream["name"] for stream in document["streams"][:4]),
        "period": _period(document),
        "title": _title(document),
        "sentences": list(_sentences(document)),
        "numbers": list(_numbers(document)),
        "charts": of_log(document),
        "sections": [
            (anchor, name, tables) for anchor, name, each in SECTIONS if (tables := page_tables(document, each))
        ],
        "remarks": remarks(document)[:REMARKS],
        "evidence_tables": page_tables(document, READ),
    }


def _period(document: Mapping[str, Any]) -> str:
    if not document["first_time"]:
        return ""
    return f"{shown_time(document['first_time'])} to {shown_time(document['last_time'])}"


def _title(document: Mapping[str, Any]) -> str:
    """Return what the log contains, in one sentence."""
    searches = document["searches"]
    if not searches["total"]:
        if noticed := sum(notice["count"] for notice in document["noticed"]):
            return f"{counted(noticed, 'unindexed search', 'unindexed searches')} in the errors log"
        return f"{counted(sum(document['operations'].values()), 'operation')}, no search among them"
    title = f"{counted(searches['total'], 'search')} took {duration(searches['etime_seconds'])}"
    if not any(shape["answered"] for shape in searches["shapes"]):
        return f"{counted(searches['total'], 'search')}, none with a result: how long they took is not known"
    if not searches["unindexed"]:
        return f"{title}; none is logged as unindexed"
    return f"{title}; {number(searches['unindexed'])} of {number(searches['total'])} were unindexed"


def _sentences(document: Mapping[str, Any]) -> Iterator[str]:
    yield from limits(document)
    for what in unusual(document["searches"]):
        yield f"Of the searches, {what}."
    shapes = document["searches"]["shapes"]
    if shapes and (first := shapes[0])["etime_seconds"]:
        yield f"{100 * first['share']:.0f} % of the search time is that of {first['shape']}."
    yield from load_sentences(document)
    if document["fleet"]:
        yield from fleet_sentences(document)


def _numbers(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    connections = document["connections"]
    yield "lines", number(document["lines"])
    yield "operations", number(sum(document["operations"].values()))
    yield "connections opened", number(connections["opened"])
    yield f"connections {at_once(document)}, at most", number(connections["peak"])
    yield "failed BINDs", number(sum(bind["count"] for bind in document["failed_binds"]))
    yield "time in the longest search", duration(_longest(document))


def _longest(document: Mapping[str, Any]) -> float:
    return max(
        (shape["worst"]["etime_seconds"] for shape in document["searches"]["shapes"] if shape["worst"]), default=0.0
    )
