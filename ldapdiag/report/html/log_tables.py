"""The tables of the page of access logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.html.tables import PageTable, table
from ldapdiag.report.html.values import duration
from ldapdiag.report.log.fleet_rows import SEARCHES, SERVERS, search_rows, server_rows
from ldapdiag.report.log.limits import left_out
from ldapdiag.report.log.names import senders
from ldapdiag.wording import number, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
                senders(one["askers"]),
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
                senders(one["askers"]),
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
        ([one["code"], one["meaning"], one["nature"], number(one["count"])] for one in closes),
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
        ([one["client"], number(one["opened"]), number(one["operations"]), _idle(one["rests"])] for one in clients),
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
                number(one["server_lives"]),
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
