"""The page for the network team: each sample is a ghost of the report, at the client, the middlebox and the server."""

from __future__ import annotations

from copy import deepcopy

import documents
from ldapdiag.report.html.evidence import SHEETS, sheets


def test_a_sheet_has_the_samples_of_the_report_side_by_side() -> None:
    finding = documents.incident()["findings"][0]
    (sheet,) = sheets(documents.incident()["findings"])
    assert [name for name, _ in sheet.samples.columns] == [
        "Connection",
        "At the client, app1",
        "At the middlebox, fw",
        "At the server, ldap",
        "Last data from the client",
    ]
    assert len(sheet.samples.rows) == 5
    for row, sample in zip(sheet.samples.rows, finding["observed"]["ghost_samples"], strict=True):
        assert sample["client_port"] in finding["observed"]["ghost_client_ports"]
        assert row[0] == f"10.77.2.2:{sample['client_port']} → 10.77.1.2:389"
        assert row[1:3] == ["no socket", "no entry"]
        assert row[3].startswith("ESTABLISHED, idle ")
        assert row[4] == sample["server"]["last_received_at"].replace("T", " ").replace("Z", " UTC")


def test_addresses_of_ipv6_are_in_brackets_and_unknown_values_are_left_out() -> None:
    finding = deepcopy(documents.incident()["findings"][0])
    finding["observed"] |= {"client": "2001:db8::2", "server": "[2001:db8::1]:636"}
    unknown = {"state": "ESTABLISHED", "idle_seconds": None, "last_received_at": None, "unanswered_probes": None}
    finding["observed"]["ghost_samples"] = [
        {"client_port": 4711, "server": unknown, "client": {"host": "app1", "state": "FIN_WAIT_1"}, "boxes": []}
    ]
    (sheet,) = sheets([finding])
    assert sheet.samples.rows == [["[2001:db8::2]:4711 → [2001:db8::1]:636", "FIN_WAIT_1", "ESTABLISHED", ""]]


def test_there_are_few_sheets_and_none_without_samples() -> None:
    finding = documents.incident()["findings"][0]
    assert len(sheets([finding] * 20)) == SHEETS
    assert sheets([finding | {"observed": finding["observed"] | {"ghost_samples": []}}]) == []
