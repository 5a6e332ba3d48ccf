"""The page for the network team: ghosts with sample connections, at the client, the middlebox and the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ldapdiag.report.html.tables import PageTable, table
from ldapdiag.report.html.values import duration, shown_time
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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
    found = (one for one in findings if one["check"] == "ghost-connections" and one["observed"].get("ghost_samples"))
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
        samples=table(caption, columns, (_row(observed, one) for one in samples)),
        ports=observed["ghost_client_ports"] or (),
    )


def _row(observed: Mapping[str, Any], sample: Mapping[str, Any]) -> list[str]:
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
