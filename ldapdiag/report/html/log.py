"""The values of the page of access logs, from the report object of `ldapdiag log`.

The tables of the page of access logs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag import __version__
from ldapdiag.report.html.figures import of_log
from ldapdiag.report.html.values import PageTable, duration, shown_time, table
from ldapdiag.report.log.caveats import left_out, limits
from ldapdiag.report.log.fleet_rows import SEARCHES, SERVERS, search_rows, server_rows
from ldapdiag.report.log.quantities import senders
from ldapdiag.wording import counted, number, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

REMARKS = 40


def log_values(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the template of access logs prints."""
    sections = (
        ("servers", "Servers side by side", fleet_tables(document)),
        ("searches", "Searches", search_tables(document)),
        ("operations", "Other operations", operation_tables(document)),
        ("problems", "Failures and connections", problem_tables(document)),
    )
    return {
        "kind": "access log",
        "version": __version__,
        "scanner": document["scanner"],
        "names": ", ".join(one["name"] for one in document["streams"][:4]),
        "period": _period(document),
        "title": _title(document),
        "sentences": list(_sentences(document)),
        "numbers": list(_numbers(document)),
        "charts": of_log(document),
        "sections": [(anchor, name, tables) for anchor, name, each in sections if (tables := _filled(each))],
        "remarks": list(document["remarks"])[:REMARKS],
        "evidence_tables": _filled(evidence_tables(document)),
    }


def _filled(tables: Iterator[PageTable]) -> Sequence[PageTable]:
    return [one for one in tables if one.rows]


def _period(document: Mapping[str, Any]) -> str:
    if not document["first_time"]:
        return ""
    return f"{shown_time(document['first_time'])} to {shown_time(document['last_time'])}"


def _title(document: Mapping[str, Any]) -> str:
    """Return what the log contains, in one sentence."""
    searches = document["searches"]
    if not searches["total"]:
        return f"{counted(sum(document['operations'].values()), 'operation')}, no search among them"
    title = f"{counted(searches['total'], 'search')} took {duration(searches['etime_seconds'])}"
    if not searches["unindexed"]:
        return f"{title}; none is logged as unindexed"
    return f"{title}; {number(searches['unindexed'])} of {number(searches['logical'])} were unindexed"


def _sentences(document: Mapping[str, Any]) -> Iterator[str]:
    yield from limits(document)
    if shapes := document["searches"]["shapes"]:
        first = shapes[0]
        yield f"{100 * first['share']:.0f} % of the search time is that of {first['shape']}."


def _numbers(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    connections = document["connections"]
    yield "lines", number(document["lines"])
    yield "operations", number(sum(document["operations"].values()))
    yield "connections opened", number(connections["opened"])
    yield "connections at once, at most", number(connections["peak"])
    yield "failed BINDs", number(sum(one["count"] for one in document["failed_binds"]))
    yield "time in the longest search", duration(_longest(document))


def _longest(document: Mapping[str, Any]) -> float:
    return max((one["worst"]["etime_seconds"] for one in document["searches"]["shapes"] if one["worst"]), default=0.0)


SHAPES = 50
ROWS = 20

QUANTILES = [("Half took", True), ("95 % took", True), ("99 % took", True)]


def fleet_tables(document: Mapping[str, Any]) -> Iterator[PageTable]:
    """Yield the servers side by side, if they were compared, and the searches that differ."""
    if (fleet := document["fleet"]) is not None:
        yield table("Servers, those that differ first", SERVERS, server_rows(fleet), most=SHAPES, what="servers are")
        yield table("Searches that one server answers in another way", SEARCHES, search_rows(fleet), most=SHAPES)


def search_tables(document: Mapping[str, Any]) -> Iterator[PageTable]:
    """Yield the filter shapes with the most search time."""
    columns = [("Filter", False), ("Base", False), ("Searches", True), ("Time", True), ("Share", True), *QUANTILES]
    yield table(
        "Filter shapes (values replaced by ?), the most search time first",
        [*columns, ("Unindexed", True), ("Sent by", False)],
        (
            [
                one["shape"],
                f"{one['base'] or '(root)'} {one['scope']}",
                number(one["count"]),
                *_times(one),
                number(one["unindexed"]),
                senders(one["requesters"]),
            ]
            for one in document["searches"]["shapes"]
        ),
        most=SHAPES,
        what="filter shapes are",
    )


def _times(one: Mapping[str, Any]) -> list[str]:
    quantiles = (duration(one[key]) for key in ("p50_seconds", "p95_seconds", "p99_seconds"))
    return [duration(one["etime_seconds"]), percent(one["share"]), *quantiles]


def operation_tables(document: Mapping[str, Any]) -> Iterator[PageTable]:
    """Yield the operations besides searches, and the waits of the slowest."""
    yield table(
        "Operations and what they are about, the most time first",
        [
            *(("Operation", False), ("Target", False), ("Requests", True), ("Time", True), ("Share", True)),
            *QUANTILES,
            ("Sent by", False),
        ],
        (
            [
                *(one["operation"], one["name"] or one["target"], number(one["count"])),
                *_times(one),
                senders(one["requesters"]),
            ]
            for one in document["targets"]
        ),
        most=ROWS,
    )


def problem_tables(document: Mapping[str, Any]) -> Iterator[PageTable]:
    """Yield results with an error code, failed BINDs, how connections ended, and the clients with the most."""
    yield table(
        "Results with an error code, the most frequent first",
        [
            ("Operation", False),
            ("Target", False),
            ("Client", False),
            ("Account", False),
            ("Code", True),
            ("Results", True),
        ],
        (
            [one["operation"], one["target"], one["client"], one["account"], number(one["err"]), number(one["count"])]
            for one in document["failures"]
        ),
        most=ROWS,
    )
    yield table(
        "Failed BINDs",
        [("Account", False), ("Client", False), ("Code", True), ("BINDs", True)],
        ([one["dn"], one["client"], number(one["err"]), number(one["count"])] for one in document["failed_binds"]),
        most=ROWS,
    )
    closes = document["connections"]["closes"]
    yield table(
        "Why connections ended",
        [("Close code", False), ("Meaning", False), ("Kind", False), ("Connections", True)],
        ([one["code"], one["meaning"], one["kind"], number(one["count"])] for one in closes),
        most=ROWS,
    )
    clients = sorted(document["connections"]["clients"], key=lambda one: (-one["opened"], one["client"]))
    yield table(
        "Clients that opened the most connections",
        [
            ("Client", False),
            ("Connections opened", True),
            ("Operations", True),
            ("Longest idle time, used again", True),
        ],
        (
            [one["client"], number(one["opened"]), number(one["operations"]), _idle(one["used_again"])]
            for one in clients
        ),
        most=ROWS,
        what="clients are",
    )


def _idle(rests: Mapping[str, Any]) -> str:
    return duration(rests["longest_seconds"]) if rests["count"] else ""


def evidence_tables(document: Mapping[str, Any]) -> Iterator[PageTable]:
    """Yield what was read, and what was not."""
    yield table(
        "Access logs",
        [
            ("Log", False),
            ("Dialect", False),
            ("Files", False),
            ("Server processes", True),
            ("Connections at once", True),
        ],
        (
            [
                one["name"],
                one["dialect"],
                ", ".join(one["files"][:ROWS]),
                number(one["server_processes"]),
                number(one["peak"]),
            ]
            for one in document["streams"]
        ),
    )
    columns = [("File", False), ("Reason", False)]
    yield table("Left out: not counted", columns, map(list, left_out(document)), what="files are")
    yield table(
        "Gaps: evidence that was not collected or not readable",
        [("Not collected", False), ("Reason", False), ("What to do", False)],
        ([one["target"], one["reason"], one["how"] or ""] for one in document["gaps"]),
    )
    yield table(
        "Files that are no access log",
        [("File", False), ("Reason", False)],
        ([one["target"], one["reason"]] for one in document["files_not_logs"]),
    )
    samples = document["lines_not_understood_samples"]
    yield table(
        "Lines that were not understood, samples", [("Line", False)], ([str(one)] for one in samples), most=ROWS
    )
