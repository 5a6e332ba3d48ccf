"""The JSON report of `ldapdiag log` on a log, and of a Segment."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

from command import ldapdiag
from ldapdiag.analysis.log.workload import Workload
from ldapdiag.cli.log import content_of
from ldapdiag.report.log import as_json
from ldapdiag.report.log.content import LogContent

if TYPE_CHECKING:
    from pathlib import Path

    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.sources.logs.access_log import ScannedLogs

Report = dict[str, Any]


@cache
def report_of(*logs: Path) -> Report:
    """Return the report of the real command; it is cached and must not be changed."""
    ran = ldapdiag("log", *logs, "--format", "json")
    assert ran.code == 0, ran.err
    return ran.report


def rendered(segment: Segment, family: Family | None = None) -> str:
    """Return the JSON of a finished Segment, without streams."""
    read = LogContent(
        workload=Workload(segment, family),
        streams=(),
    )
    return as_json.render(as_json.document(read))


def document_of(reading: ScannedLogs) -> Report:
    """Return the document on a reading, which can go on."""
    return dict(as_json.document(content_of(reading, [one.counted(goes_on=True) for one in reading.streams])))


def searches_by_shape(report: Report) -> Counter[tuple[str, str, str]]:
    """Return the searches by shape, base and scope."""
    return Counter({(one["shape"], one["base"], one["scope"]): one["count"] for one in report["searches"]["shapes"]})


def results_by_requester(report: Report) -> Counter[tuple[str, str, str]]:
    """Return the answered searches by client, account (lower case) and shape."""
    requesters = {one["shape"]: one["requesters"] for one in report["searches"]["shapes"]}
    counts: Counter[tuple[str, str, str]] = Counter()
    for shape, rows in requesters.items():
        for row in rows:
            counts[row["client"], row["account"].lower(), shape] += row["count"]
    return counts


def closes(report: Report) -> dict[str, dict[str, int]]:
    """Return the closes by code and client."""
    return {one["code"]: one["by_client"] for one in report["connections"]["closes"]}


def failed_binds(report: Report) -> dict[tuple[str, str, int], int]:
    """Return the failed BINDs by client, DN (lower case) and result code."""
    return {(one["client"], one["dn"].lower(), one["err"]): one["count"] for one in report["failed_binds"]}


def client(report: Report, address: str) -> dict[str, Any]:
    """Return the row of one client."""
    return next(one for one in report["connections"]["clients"] if one["client"] == address)
