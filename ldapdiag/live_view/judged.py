"""What the last diagnosis says, for the rows of a live view: by client of one server, and as a whole."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.report.headline import headline, outcomes
from ldapdiag.report.verdicts import is_accepted

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_SOCKETS = "no sockets of a server were read"
LOOPBACK = frozenset({"127.0.0.1", "::1"})
AUDIT = "missing-index"
"""The check that says of every log whether an index is missing."""
GHOSTS = "ghost-connections"
WRONG = ("ghosts", "severed", "stranded")


@dataclass(frozen=True, slots=True)
class BothEnds:
    """The connections of one client, as the sockets of both ends show them. None: not judged."""

    server_count: int
    client_count: int | None
    held: int | None
    ghosts: int | None
    severed: int | None
    stranded: int | None

    @property
    def wrong(self) -> int:
        """Return how many are known to be wrong."""
        return sum(getattr(self, name) or 0 for name in WRONG)


@dataclass(frozen=True, slots=True)
class LastDiagnosis:
    """The last diagnosis, as one server sees it."""

    headline: str
    outcomes: str
    findings: Mapping[str, str]
    """Titles by the id of the finding, the worst first; without those that are accepted."""
    clients: Mapping[str, BothEnds]
    taken_at: datetime | None = None
    used: int | None = None
    limit: int | None = None
    limits_connections: bool = False
    waiting: int | None = None
    """To be accepted."""
    most_waiting: int | None = None
    ghosts: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    """What the findings on ghosts have observed, by client."""
    plans: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Titles of the findings on searches by filter shape."""
    audit: str = ""
    """What the index audit says of all other filter shapes."""
    not_matched: str = ""
    """Why the sockets of this report are not shown at this server; empty: they are."""


def judged(report: Mapping[str, Any], endpoint: tuple[str, int] | str | None, *, is_only: bool = True) -> LastDiagnosis:
    """Return what a report says of the server at an address and port, or of this name there.

    None: a local socket, where one server is. `is_only`: no other server is watched; else the only server of a report
    may be any of them.
    """
    first = headline(report)
    is_alone = is_only and len(report["servers"]) == 1
    of_server, why = rows_of_server(report["directions"], endpoint, is_alone=is_alone)
    names = {one["server"] for one in of_server} or {one["name"] for one in report["servers"]}
    names = {endpoint} if isinstance(endpoint, str) else names
    numbers = [one["numbers"] for one in report["servers"] if one["name"] in names and one["numbers"]]
    is_own = not why or (why == NO_SOCKETS and (is_alone or isinstance(endpoint, str)))
    own = numbers[0] if len(numbers) == 1 and is_own else {}
    return LastDiagnosis(
        headline=f"{first.label}  {first.text}",
        outcomes=" · ".join(outcomes(report)),
        findings={one["id"]: one["title"] for one in report["findings"] if not is_accepted(one)},
        clients=by_client(of_server),
        taken_at=datetime.fromisoformat(report["taken_at"]),
        used=own.get("descriptors_used"),
        limit=own.get("descriptors_limit"),
        limits_connections=bool(own.get("limits_connections")),
        waiting=own.get("accept_queue"),
        most_waiting=own.get("accept_queue_limit"),
        ghosts=_ghosts(report["findings"], {one["endpoint"] for one in of_server}),
        plans=_plans(report["findings"]),
        audit=_audit(report["verdicts"]),
        not_matched=why,
    )


def rows_of_server(
    rows: list[dict[str, Any]], endpoint: tuple[str, int] | str | None, *, is_alone: bool
) -> tuple[list[dict[str, Any]], str]:
    """Return the rows of one server, and why there are none where that is no zero."""
    if isinstance(endpoint, str):
        rows = [one for one in rows if one["server"] == endpoint]
        return rows, "" if rows else NO_SOCKETS
    if not rows:
        return [], NO_SOCKETS
    if endpoint is None or endpoint[0] in LOOPBACK:
        owners = {one["server"] for one in rows} if is_alone else set()
    else:
        address = f"[{endpoint[0]}]" if ":" in endpoint[0] else endpoint[0]
        at_address = [one for one in rows if one["endpoint"].rpartition(":")[0] == address]
        at_port = [one for one in at_address if one["endpoint"] == f"{address}:{endpoint[1]}"]
        owners = {one["server"] for one in at_port or at_address}
    if len(owners) == 1 and None not in owners:
        return [one for one in rows if one["server"] in owners], ""
    return [], "the sockets that were read are not known to be this server's"


def by_client(rows: list[dict[str, Any]]) -> dict[str, BothEnds]:
    """Return the sums over the endpoints of each client; one that is not judged leaves its sum unknown."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        grouped.setdefault(row["client"], []).append(row)
    return {client: _sum(several) for client, several in grouped.items()}


def _sum(rows: list[dict[str, Any]]) -> BothEnds:
    is_judged = all(row["client_count"] is not None for row in rows)
    sums = {name: sum(row[name] for row in rows) for name in (*WRONG, "held")}
    is_tracked = is_judged and all(row["middleboxes"] for row in rows)
    return BothEnds(
        server_count=sum(row["server_count"] or 0 for row in rows),
        client_count=sum(row["client_count"] for row in rows) if is_judged else None,
        # What is proven counts; a zero without the other end is no all-clear.
        **{
            name: value if value or (is_tracked if name == "severed" else is_judged) else None
            for name, value in sums.items()
        },
    )


def plans_of(judged: LastDiagnosis | None, shape: str) -> tuple[str, ...]:
    """Return what the last diagnosis says of the indexes of a filter shape."""
    if judged is None:
        return ("not judged, because no diagnosis has ended yet",)
    return judged.plans.get(shape) or (judged.audit,)


def _ghosts(findings: list[dict[str, Any]], endpoints: set[str]) -> dict[str, tuple[Mapping[str, Any], ...]]:
    found: dict[str, tuple[Mapping[str, Any], ...]] = {}
    for one in findings:
        if one.get("check") == GHOSTS and one["observed"]["server"] in endpoints:
            client = one["observed"]["client"]
            found[client] = (*found.get(client, ()), one["observed"])
    return found


def _plans(findings: list[dict[str, Any]]) -> dict[str, tuple[str, ...]]:
    plans: dict[str, tuple[str, ...]] = {}
    for one in findings:
        for shape in one["observed"].get("shapes") or ():
            plans[shape] = (*plans.get(shape, ()), one["title"])
    return plans


def _audit(verdicts: list[dict[str, Any]]) -> str:
    """Return why no finding names a filter."""
    found = next((one for one in verdicts if one["check"] == AUDIT), None)
    if found is None:
        return "not judged, because the last diagnosis has no log"
    if found["outcome"] == "finding":
        return "no finding names this filter"
    return found["reason"] if found["outcome"] == "clear" else f"not judged, because {found['reason']}"
