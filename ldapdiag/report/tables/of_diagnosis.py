"""The tables of `ldapdiag diagnose`, `ldapdiag indexes` and `ldapdiag storage`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.tables.names import DiagnosisTable, IndexTable, StorageTable
from ldapdiag.report.tables.table import TableColumns, rows_at, rows_within

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PORTS = {
    "ghost_client_ports": "ghost",
    "ghost_client_ports_possible": "possible ghost",
    "stranded_client_ports": "stranded",
    "severed_client_ports": "severed",
}
"""The sockets that findings list, and what they are called in the table."""
SEARCHES = ("not_built", "no_index_helps", "not_worth_an_index", "harmless")


def _findings(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the findings, with what the site has decided: accepted, exceeded or over."""
    for one in document["findings"]:
        decision = one["acceptance"] or {}
        yield one | {
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


def _searches(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the searches that the plan does not change, with the list that they are in."""
    for plan in document["indexes"]:
        for name in SEARCHES:
            for row in plan[name]:
                yield {"server": plan["server"], "list": name} | row


def _files(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the files of each volume."""
    for storage in document["storage"]:
        for volume in storage["volumes"]:
            for row in volume["files"]:
                yield {"server": storage["server"], "mount_point": volume["mount_point"]} | row


def _measurements(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what each probe measured: latencies of a sync, commits of several committers, small files."""
    for probe in document["probes"]:
        place = {name: probe[name] for name in ("host", "directory", "mount_point", "fs_type", "begun")}
        for row in probe["syncs"]:
            yield place | {"measured": f"{row['write']}, {row['call']}"} | row | row["sync"]
        for row in probe["commits"]:
            rate = _rate(row, "commits")
            yield (
                place | {"measured": "group commit", "per_second": rate, "count": row["commits"]} | row | row["commit"]
            )
        for row in probe["files"]:
            rate = _rate(row, "count")
            yield place | {"measured": f"{row['operation']} small files", "per_second": rate} | row


def _rate(row: dict[str, Any], name: str) -> float | None:
    return row[name] / row["seconds"] if row["seconds"] else None


FINDINGS = TableColumns(
    _findings,
    "severity confidence check server hosts subject title detail origins id acceptance until reason "
    "change before.number before.now",
)
VERDICTS = TableColumns(_verdicts, "check about subject outcome reason missing how")
GAPS = TableColumns(rows_at("gaps"), "target reason how")
EVIDENCE = TableColumns(rows_at("evidence"), "origin fact host server taken_at lines lines_not_understood sha256 notes")

TABLES = {
    DiagnosisTable.FINDINGS: FINDINGS,
    DiagnosisTable.GHOSTS: TableColumns(_ghosts, "check confidence state listener client port id"),
    DiagnosisTable.ACCOUNTS: TableColumns(_accounts, "server bind_dn connections"),
    DiagnosisTable.VERDICTS: VERDICTS,
    DiagnosisTable.GAPS: GAPS,
    DiagnosisTable.EVIDENCE: EVIDENCE,
}
INDEX_TABLES = {
    IndexTable.PLAN: TableColumns(
        rows_within("indexes", "plan"),
        "server backend attribute types sure saves_seconds saves.least saves.most after_seconds.least "
        "after_seconds.most searches shapes slows clients accounts configured",
    ),
    IndexTable.SEARCHES: TableColumns(
        _searches, "server list shape base scope searches etime_seconds noted cause part reason"
    ),
    IndexTable.UNUSED: TableColumns(rows_within("indexes", "not_used"), "server backend attribute types log_hours"),
    IndexTable.FINDINGS: FINDINGS,
    IndexTable.VERDICTS: VERDICTS,
    IndexTable.GAPS: GAPS,
    IndexTable.EVIDENCE: EVIDENCE,
}
STORAGE_TABLES = {
    StorageTable.VOLUMES: TableColumns(
        rows_within("storage", "volumes"),
        "server host mount_point source fs_type roles options hidden_options disks write_cache in_memory durable local "
        "total_bytes used_bytes free_bytes",
    ),
    StorageTable.SETTINGS: TableColumns(
        rows_within("storage", "settings"),
        "server backend setting value is_default window window_seconds loss corrupts survives_kill effective why "
        "flushes_per_write tested",
    ),
    StorageTable.FILES: TableColumns(_files, "server mount_point path bytes allocated_bytes extents compressed reason"),
    StorageTable.PROBES: TableColumns(
        _measurements,
        "host directory mount_point fs_type begun measured block_bytes committers count per_second p10_seconds "
        "p50_seconds p90_seconds p99_seconds worst_seconds",
    ),
    StorageTable.FINDINGS: FINDINGS,
    StorageTable.VERDICTS: VERDICTS,
    StorageTable.GAPS: GAPS,
    StorageTable.EVIDENCE: EVIDENCE,
}
