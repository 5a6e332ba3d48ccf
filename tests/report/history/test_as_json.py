"""A history as JSON: the keys of the contract."""

from __future__ import annotations

import json

from histories import found, run, server
from ldapdiag.evidence.history import History
from ldapdiag.evidence.origin import Origin
from ldapdiag.report.history.as_json import document, render

TWO = History(
    origin=Origin(path="history.db", lines=5, understood=4, not_understood=1),
    runs=(
        run(0, server(0, "ds1", log_seconds=50.0, opened=200, binds=100)),
        run(1, server(1, "ds1"), server(1, "ds2", [found(4)]), findings=[found(1, "conntrack-table-full")]),
    ),
)


def test_of_all_servers() -> None:
    read = json.loads(render(document(TWO)))
    assert (read["schema"], read["servers"]) == ("ldapdiag.history/1", ["ds1", "ds2"])
    assert (read["rows"], read["rows_not_understood"]) == (5, 1)
    assert [one["taken_at"] for one in read["runs"]] == ["2024-11-20T09:00:00Z", "2024-11-20T09:01:00Z"]
    first = read["runs"][0]["servers"][0]
    assert (first["opens_per_second"], first["binds_per_second"]) == (4.0, 2.0)
    assert first["taken_at"] == "2024-11-20T09:00:00Z"
    assert read["runs"][1]["servers"][1]["findings"] == [
        {"check": "ghost-connections", "id_sha256": "0000000000000004", "severity": "critical"}
    ]
    assert read["runs"][1]["findings"][0]["check"] == "conntrack-table-full"
    assert read["runs"][1]["counts"] == {"critical": 1, "high": 0, "medium": 0, "low": 1, "info": 0}


def test_of_one_server() -> None:
    read = json.loads(render(document(TWO, "ds2")))
    assert [[one["name"] for one in run["servers"]] for run in read["runs"]] == [["ds2"]]
    assert read["servers"] == ["ds2"]
