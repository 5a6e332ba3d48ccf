"""The evidence appendix: hosts, sources with what was read of them, gaps, and files that were passed over.

The page for the network team: ghosts with sample connections, at the client, the middlebox and the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.report.html.values import PageTable, page_tables, table
from ldapdiag.report.tables.of_diagnosis import APPENDIX
from ldapdiag.report.verdicts import lines_not_understood
from ldapdiag.wording import counted, duration, number, shown_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SOURCES = 150


@dataclass(slots=True)
class Source:
    """One file or answer, with all facts that were read from it."""

    origin: str
    host: str
    taken_at: str
    lines: int
    not_understood: int
    sha256: str
    facts: dict[str, None]
    notes: dict[str, None]


def sources(evidence: Sequence[Mapping[str, Any]]) -> Sequence[Source]:
    """Return the sources in their order; lines of a source count once, whatever the number of facts in it."""
    found: dict[str, Source] = {}
    unread = lines_not_understood(evidence)
    for one in evidence:
        path, taken_at = one["origin"], one["taken_at"] or ""
        new = Source(path, one["host"] or "", taken_at, 0, unread[path], one["sha256"] or "", {}, {})
        source = found.setdefault(path, new)
        source.lines = max(source.lines, one["lines"])
        source.facts[one["fact"]] = None
        source.notes |= dict.fromkeys(one["notes"])
    return list(found.values())


def period(read: Iterable[Source]) -> str:
    """Return when the evidence was taken; empty where no source has a time."""
    times = sorted(one.taken_at for one in read if one.taken_at)
    if not times:
        return ""
    begin, end = shown_time(times[0]), shown_time(times[-1])
    return begin if begin == end else f"{begin} to {end}"


def appendix(document: Mapping[str, Any], read: Sequence[Source]) -> Iterator[PageTable]:
    """Yield the tables of the appendix; empty ones are left out, except that of the sources."""
    yield table(
        "Sources",
        [
            ("Source", False),
            ("Host", False),
            ("Facts", False),
            ("Taken", False),
            ("Lines", True),
            ("Not understood", True),
        ],
        (_row(one) for one in read),
        most=SOURCES,
        what="sources are",
    )
    if checked := [[one.origin, one.sha256] for one in read if one.sha256]:
        columns = [("Source", False), ("SHA-256 of its content, decompressed", False)]
        yield table("Checksums", columns, checked, most=SOURCES, what="checksums are")
    yield from page_tables(document, APPENDIX)


def _row(source: Source) -> list[str]:
    facts = [", ".join(source.facts), *source.notes]
    taken = shown_time(source.taken_at)
    return [source.origin, source.host, "; ".join(facts), taken, number(source.lines), number(source.not_understood)]


SHEETS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What the network team needs to know of one direction."""

    title: str
    sentences: Sequence[str]
    samples: PageTable
    ports: Sequence[int]


def sheets(findings: Iterable[Mapping[str, Any]]) -> Sequence[Sheet]:
    """Return a sheet per direction with sampled ghosts, the most severe first."""
    found = (
        finding
        for finding in findings
        if finding["check"] == "ghost-connections" and finding["observed"].get("ghost_samples")
    )
    return [_sheet(one) for one, _ in zip(found, range(SHEETS), strict=False)]


def _sheet(finding: Mapping[str, Any]) -> Sheet:
    observed = finding["observed"]
    samples = observed["ghost_samples"]
    client = ", ".join(observed["client_hosts"]) or observed["client"]
    columns = [
        ("Connection", False),
        (f"At the client, {client}", False),
        *((f"At the middlebox, {box['host']}", False) for box in samples[0]["boxes"]),
        (f"At the server, {finding['server'] or observed['server']}", False),
        ("Last data from the client", False),
    ]
    caption = "Sample connections, from the shortest idle time to the longest, as each table contains them"
    return Sheet(
        title=finding["title"],
        sentences=finding["detail"].split("\n"),
        samples=table(caption, columns, (_sample_row(observed, sample) for sample in samples)),
        ports=observed["ghost_client_ports"] or (),
    )


def _sample_row(observed: Mapping[str, Any], sample: Mapping[str, Any]) -> list[str]:
    server = sample["server"]
    return [
        f"{_endpoint(observed['client'], sample['client_port'])} → {observed['server']}",
        sample["client"]["state"] or "no socket",
        *(box["state"] or "no entry" for box in sample["boxes"]),
        ", ".join(_at_server(server)),
        shown_time(server["last_received_at"]),
    ]


def _endpoint(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _at_server(server: Mapping[str, Any]) -> Iterator[str]:
    yield server["state"]
    if server["idle_seconds"] is not None:
        yield f"idle {duration(server['idle_seconds'])}"
    if probes := server["unanswered_probes"]:
        yield counted(probes, "unanswered probe")
