"""The tables of `ldapdiag diagnose`, and those that every diagnosis has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.table import COUNT, NAMES, Column, Table, only_csv, rows_at, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PORTS = {
    "ghost_client_ports": "ghost",
    "ghost_client_ports_possible": "possible ghost",
    "stranded_client_ports": "stranded",
    "severed_client_ports": "severed",
}
"""The sockets that findings list, and what they are called in the table."""


def _findings(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the findings, with what the site has decided: accepted, exceeded or over."""
    for finding in document["findings"]:
        decision = finding["acceptance"] or {}
        yield finding | {
            "acceptance": decision.get("standing"),
            "until": decision.get("until"),
            "reason": decision.get("reason"),
        }


def _verdicts(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the verdicts, and a row for each check that the site has disabled."""
    yield from document["verdicts"]
    for one in document["disabled"]:
        yield {"outcome": "disabled", **one}


def _ghosts(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the sockets that a finding lists by their port at the client."""
    for finding in document["findings"]:
        observed = finding["observed"]
        ends = {"client": observed.get("client"), "listener": observed.get("server")}
        for key, state in PORTS.items():
            for port in observed.get(key) or ():
                yield finding | ends | {"state": state, "port": port}


def _accounts(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for finding in document["findings"]:
        for row in finding["observed"].get("by_account") or ():
            if "bind_dn" in row:
                yield {"server": finding["server"]} | row


def _roles(roles: list[str]) -> str:
    return ", ".join("middlebox" if role == "box" else role for role in roles)


FINDINGS = Table(
    tuple(
        only_csv(
            "severity confidence check server hosts subject title detail origins id acceptance until reason "
            "change before.name before.unit before.number before.now"
        )
    ),
    _findings,
)
VERDICTS = Table(tuple(only_csv("check about subject outcome reason missing how")), _verdicts)
GAPS = Table(
    (Column("target", "Not collected"), Column("reason", "Reason"), Column("how", "What to do")),
    rows_at("gaps"),
    title="Gaps: evidence that was not collected or not readable",
    most=100,
    what="gaps are",
)
EVIDENCE = Table(
    tuple(only_csv("origin fact host server taken_at lines lines_not_understood sha256 notes")), rows_at("evidence")
)
COMMON = {"findings": FINDINGS, "verdicts": VERDICTS, "gaps": GAPS, "evidence": EVIDENCE}
"""Tables of all diagnoses."""
TABLES = {
    **COMMON,
    "ghosts": Table(tuple(only_csv("check confidence state listener client port id")), _ghosts),
    "accounts": Table(tuple(only_csv("server bind_dn connections")), _accounts),
}

APPENDIX = (
    Table(
        (
            Column("name", "Host"),
            Column("roles", "Roles", words(_roles)),
            Column("addresses", "Addresses", NAMES),
            Column("looks", "Snapshots", COUNT),
            Column("merged_because", "Merged because"),
        ),
        rows_at("hosts"),
        title="Hosts",
        most=100,
        what="hosts are",
    ),
    GAPS,
    Table(
        (Column("target", "File"), Column("reason", "Reason")),
        rows_at("passed_over"),
        title="Passed over: no evidence for a diagnosis",
        most=100,
    ),
)
"""What was read beside the sources, and what was not, at the end of a page."""
