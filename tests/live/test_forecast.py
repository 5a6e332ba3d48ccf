"""A real leak until slapd denies its clients: the forecast at half time contains the time at which that happens."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from lab.applications import REFUSED
from lab.host import wait_for

DESCRIPTORS = 320
RATE = 2.0
"""Connections a second on average, at drawn times: the limit is reached after about two minutes and a half."""
HALF = 75.0
EVERY = 6.0


def test_the_forecast_of_a_leak_on_slapd_contains_the_time_at_which_it_denies(
    laboratory, topology, desk, start, tmp_path
) -> None:
    server = laboratory.slapd(topology.ldap, descriptors=DESCRIPTORS)
    leak = start(topology.app1, "drip", name="foo", rate=RATE, patience=2)
    begun, number, captures = time.monotonic(), 0, tmp_path / "captures"
    captures.mkdir()
    while time.monotonic() < begun + HALF:
        number += 1
        due = time.monotonic() + EVERY
        code, _, err = desk.run("collect", "ssh://ldap", "--apart", "1", "--output", str(captures / f"run{number:02}"))
        assert code == 0, err
        time.sleep(max(0.0, due - time.monotonic()))
    said = desk.diagnose(str(captures))
    assert said.found("descriptor-headroom"), said.report["verdicts"]
    (headroom,) = said.found("descriptor-headroom")
    observed = headroom["observed"]
    assert observed["forecast_source"] == "the snapshots of its sockets", observed["not_forecast"]
    assert headroom["severity"] == "critical"
    assert observed["problem"] == "leak"
    assert observed["rate_per_hour_low"] < 3600 * RATE < observed["rate_per_hour_high"]

    now = seconds(observed["forecast_from"])
    wait_for(lambda: REFUSED in leak.truth().fates, "slapd denies nobody", seconds=4 * HALF)
    refused = min(float(one["opened"]) for one in leak.truth().sockets if one["fate"] == REFUSED)
    truth = (refused - now) / 3600
    assert observed["hours_left_earliest"] <= truth <= observed["hours_left_latest"], (truth, observed)
    assert observed["hours_left_latest"] - observed["hours_left_earliest"] <= truth

    (full,) = desk.diagnose("ssh://ldap", str(server.log)).found("descriptor-headroom")
    (denied, *_) = full["observed"]["reached"]
    assert abs(seconds(denied["first"]) - refused) <= 1.5
    assert denied["source"]


def seconds(stamp: str) -> float:
    """Return a time of the report in seconds since 1970."""
    return datetime.fromisoformat(stamp).replace(tzinfo=UTC).timestamp()
