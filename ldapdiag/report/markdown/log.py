"""The contents of access logs as Markdown: totals, and tables of searches, other operations, failures and clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ldapdiag.report.log.caveats import left_out, limits
from ldapdiag.report.log.fleet_rows import SEARCHES, SERVERS, search_rows, server_rows
from ldapdiag.report.log.quantities import senders
from ldapdiag.report.markdown.writing import fitted, listed, part, prose, table
from ldapdiag.wording import counted, number, percent, seconds

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
    servers = ", ".join(one["name"] for one in document["streams"])
    yield f"### Access log of {prose(servers)}"
    if stated := " ".join(limits(document)):
        yield f"**{prose(stated, SENTENCES)}**"
    searches, connections = document["searches"], document["connections"]
    yield table(
        ["searches", "search time", "unindexed", "connections opened", "open at once"],
        [
            [
                number(searches["total"]),
                seconds(searches["etime_seconds"]),
                number(searches["unindexed"]),
                number(connections["opened"]),
                number(connections["peak"]),
            ]
        ],
    )
    period = f"{document['first_time']} to {document['last_time']}" if document["first_time"] else "no record"
    yield (
        f"{prose(', '.join(document['versions']) or 'Version unknown')}, {prose(period)}, "
        f"{counted(document['lines'], 'line')}, {number(document['lines_not_understood'])} not understood."
    )


def _tables(document: Plain) -> Iterator[str]:
    if (fleet := document["fleet"]) is not None:
        yield from part("Servers", [name.lower() for name, _ in SERVERS], server_rows(fleet))
        differing = [name.lower() for name, _ in SEARCHES]
        yield from part("Searches that one server answers in another way", differing, search_rows(fleet))
    yield from part(
        "Searches",
        ["filter", "base", "scope", "count", "time", "share", "p95", "worst", "notes", "sent by"],
        (
            [
                *(one[key] for key in ("shape", "base", "scope")),
                number(one["count"]),
                seconds(one["etime_seconds"]),
                percent(one["share"]),
                seconds(one["p95_seconds"]),
                seconds(one["worst"]["etime_seconds"]) if one["worst"] else "",
                _counts(one["notes"]),
                senders(one["requesters"]),
            ]
            for one in document["searches"]["shapes"]
        ),
        LONG_TABLE,
    )
    yield from part(
        "Other operations",
        ["operation", "target", "count", "time", "p95", "errors"],
        (
            [
                one["operation"],
                one["name"] or one["target"],
                number(one["count"]),
                seconds(one["etime_seconds"]),
                seconds(one["p95_seconds"]),
                _counts(one["errors"]),
            ]
            for one in document["targets"]
        ),
    )
    yield from part(
        "Results with an error",
        ["operation", "target", "client", "account", "code", "count"],
        (
            [one[key] for key in ("operation", "target", "client", "account", "err", "count")]
            for one in document["failures"]
        ),
    )
    yield from part(
        "Clients",
        ["client", "connections opened", "operations"],
        (
            [one["client"], number(one["opened"]), number(one["operations"])]
            for one in document["connections"]["clients"]
        ),
    )
    yield from part(
        "Closes",
        ["code", "meaning", "count"],
        ([one["code"], one["meaning"], number(one["count"])] for one in document["connections"]["closes"]),
    )
    gaps = [f"{one['target']}: {one['reason']}" for one in (*document["gaps"], *document["files_not_logs"])]
    copies = [f"{target} {reason}; it is left out" for target, reason in left_out(document)]
    if remarks := [*document["remarks"], *copies, *gaps]:
        yield f"### Remarks\n\n{listed(remarks)}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name}: {number(count)}" for name, count in counts.items())
