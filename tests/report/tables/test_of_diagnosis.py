"""The tables of each command: their rows are those of the JSON."""

from __future__ import annotations

import csv
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import storage_documents
from command import INCIDENT, ldapdiag
from ldapdiag.cli.diagnose import DiagnosisTable
from ldapdiag.cli.indexes import IndexTable
from ldapdiag.cli.log import OF_SERVERS, LogTable
from ldapdiag.cli.storage import StorageTable
from ldapdiag.report import table as as_csv
from ldapdiag.report.log.tables import TABLES as LOG_TABLES
from ldapdiag.report.tables.of_diagnosis import TABLES
from ldapdiag.report.tables.of_indexes import TABLES as INDEX_TABLES
from ldapdiag.report.tables.of_storage import TABLES as STORAGE_TABLES

ACCESS_LOG = Path(__file__).parents[2] / "captures" / "access-logs" / "389-pools.head500.access"
AUDIT = INCIDENT.parent / "audit"
STORAGE = INCIDENT.parent / "storage"


def rows(*command: str | Path) -> list[dict[str, str]]:
    ran = ldapdiag(*command, "--format", "csv")
    assert ran.code in {0, 1}, ran.err
    return list(csv.DictReader(StringIO(ran.out.decode(), newline=""), strict=True))


@cache
def report(*command: str | Path) -> dict[str, Any]:
    return ldapdiag(*command, "--format", "json").report


def test_every_table_has_a_name_and_the_first_is_that_without_the_option() -> None:
    assert (set(TABLES), set(INDEX_TABLES), set(STORAGE_TABLES), set(LOG_TABLES)) == (
        set(DiagnosisTable),
        set(IndexTable),
        set(StorageTable),
        set(LogTable),
    )
    assert rows("diagnose", INCIDENT) == rows("diagnose", INCIDENT, "--table", "findings")
    assert rows("indexes", AUDIT) == rows("indexes", AUDIT, "--table", "plan")
    assert rows("storage", STORAGE) == rows("storage", STORAGE, "--table", "volumes")
    assert rows("log", ACCESS_LOG) == rows("log", ACCESS_LOG, "--table", "searches")


def test_of_ghosts_has_a_row_for_each_socket() -> None:
    finding = report("diagnose", INCIDENT)["findings"][0]
    ports = [int(one["port"]) for one in rows("diagnose", INCIDENT, "--table", "ghosts")]
    assert ports == finding["observed"]["ghost_client_ports"]


@pytest.mark.parametrize("name", ["findings", "verdicts", "gaps", "evidence"])
@pytest.mark.parametrize(
    "command", [("diagnose", INCIDENT), ("indexes", AUDIT), ("storage", STORAGE)], ids=lambda command: command[0]
)
def test_of_a_list_has_its_rows(command: tuple[str | Path, ...], name: str) -> None:
    assert len(rows(*command, "--table", name)) == len(report(*command)[name])


def test_of_a_plan_has_its_servers_and_indexes() -> None:
    (plan,) = report("indexes", AUDIT)["indexes"]
    told = [(one["server"], one["attribute"], float(one["saves_seconds"])) for one in rows("indexes", AUDIT)]
    assert told == [(plan["server"], one["attribute"], one["saves_seconds"]) for one in plan["plan"]]


def test_of_storage_has_its_volumes_files_and_measurements() -> None:
    report = storage_documents.probed()
    (server,), (probe,) = report["storage"], report["probes"]
    written = {
        name: list(csv.DictReader(StringIO(as_csv.render(report, table)))) for name, table in STORAGE_TABLES.items()
    }
    assert [one["mount_point"] for one in written[StorageTable.VOLUMES]] == ["/srv/ldap", "/"]
    assert written[StorageTable.VOLUMES][0]["options"] == "nobarrier; data=ordered; relatime; commit=5"
    assert len(written[StorageTable.FILES]) == sum(len(one["files"]) for one in server["volumes"])
    measured = [one["measured"] for one in written[StorageTable.PROBES]]
    assert len(measured) == sum(len(probe[name]) for name in ("syncs", "commits", "files"))
    fastest = max(float(one["per_second"] or 0) for one in written[StorageTable.PROBES])
    assert fastest == max(one["commits"] / one["seconds"] for one in probe["commits"])


def test_of_a_log_has_the_rows_of_its_json() -> None:
    log = report("log", ACCESS_LOG)
    sizes = {
        "searches": len(log["searches"]["shapes"]),
        "requesters": sum(len(one["requesters"]) for one in log["searches"]["shapes"]),
        "targets": len(log["targets"]),
        "failures": len(log["failures"]),
        "clients": len(log["connections"]["clients"]),
        "idle-times": len(log["connections"]["idle_times"]),
        "closes": len(log["connections"]["closes"]),
        "failed-binds": len(log["failed_binds"]),
        "timeline": len(log["timeline"]["operations"]),
        "silences": len(log["silences"]),
    }
    assert {name: len(rows("log", ACCESS_LOG, "--table", name)) for name in set(LogTable) - OF_SERVERS} == sizes
    (bind,) = rows("log", ACCESS_LOG, "--table", "targets")
    assert (bind["operation"], int(bind["count"])) == ("bind", log["targets"][0]["count"])
    assert bind["worst_dn"] == log["targets"][0]["worst"]["dn"]


def test_of_a_log_has_a_column_for_each_number_of_a_search() -> None:
    (shape,) = report("log", ACCESS_LOG)["searches"]["shapes"]
    plain = {key for key, value in shape.items() if not isinstance(value, dict) or key in {"notes", "errors"}}
    told = set(rows("log", ACCESS_LOG)[0])
    assert plain - {"requesters", "sorts", "growth", "series", "wtime", "optime"} <= told


@pytest.mark.parametrize("command", [("diagnose", INCIDENT), ("log", ACCESS_LOG)], ids=lambda command: command[0])
def test_needs_csv(command: tuple[str | Path, ...]) -> None:
    ran = ldapdiag(*command, "--table", "findings" if command[0] == "diagnose" else "closes")
    assert ran.code == 2
    assert ran.complaints[0].endswith("is for CSV; add --format csv, or an --output that ends with .csv")


def test_is_not_written_again_and_again_to_standard_output() -> None:
    ran = ldapdiag("log", ACCESS_LOG, "--follow", "--format", "csv")
    assert (ran.code, ran.complaints) == (
        2,
        ["ldapdiag: --follow writes text or json to standard output; for csv give --output FILE"],
    )
