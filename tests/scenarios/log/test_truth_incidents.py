"""The corpus incidents 5a and 6f: connections of which the applications themselves said what became of them."""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from conftest import CORPUS
from log.reports import client, closes, report_of

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the shared corpus is not beside this checkout (it is in CI)"
)

APP1, APP2 = "10.77.2.2", "10.77.3.2"
GHOSTS = CORPUS / "5a-ghost-389ds"
ENDED = CORPUS / "6f-idletimeout-90-above-fw-30"
BOTH = [GHOSTS, ENDED]
BEFORE_CLOSE = 89
"""Seconds: nsslapd-idletimeout is 90, and the server compares whole seconds."""


def truth(case: Path) -> dict[str, Any]:
    return json.loads((case / "groundtruth" / "TRUTH.json").read_text())


@cache
def sockets(case: Path) -> dict[str, list[dict[str, Any]]]:
    """Return every socket that the applications opened, by client."""
    found: dict[str, list[dict[str, Any]]] = {APP1: [], APP2: []}
    for file in sorted((case / "groundtruth").glob("app*.json")):
        for one in json.loads(file.read_text())["sockets"]:
            found[one["src"]].append(one)
    return found


def access(case: Path) -> Path:
    return case / "ldap" / "access"


@pytest.mark.parametrize("case", BOTH, ids=lambda case: case.name)
class TestBoth:
    def test_open_at_the_end_are_those_the_server_had_established(self, case: Path) -> None:
        report = report_of(access(case))["connections"]
        assert report["open_at_end"] == truth(case)["server_established_total"]
        assert report["closed"] == report["opened"] - report["open_at_end"]

    def test_by_client_are_those_that_the_applications_opened(self, case: Path) -> None:
        """One more of app1 is the test of the network before the incident began; it says UNBIND."""
        report = report_of(access(case))
        assert report["connections"]["by_client"] == {
            APP1: len(sockets(case)[APP1]) + (1 if case is GHOSTS else 0),
            APP2: len(sockets(case)[APP2]),
            "127.0.0.1": 2,  # whoever asked for cn=monitor and cn=config
        }

    def test_open_at_the_end_by_client_is_what_the_server_had_established(self, case: Path) -> None:
        report = report_of(access(case))
        ended = {app: sum(by_client.get(app, 0) for by_client in closes(report).values()) for app in (APP1, APP2)}
        opened = report["connections"]["by_client"]
        assert {app: opened[app] - ended[app] for app in ended} == truth(case)["established_by_source"]

    def test_the_longest_rest_that_was_followed_by_a_request_is_the_longest_that_survived(self, case: Path) -> None:
        longest = client(report_of(access(case)), APP1)["used_again"]["longest_seconds"]
        assert longest == pytest.approx(truth(case)["longest_idle_that_survived_s"], abs=0.05)

    def test_as_many_long_rests_as_the_application_had(self, case: Path) -> None:
        """Its worker rests 24 seconds now and then; anything else it does within 9 seconds, or it died of it."""
        rests = client(report_of(access(case)), APP1)["used_again"]["from_seconds"]
        gaps = [gap for one in sockets(case)[APP1] for gap in one["gaps_ok"] if gap >= 20]
        assert len(gaps) > 10
        assert sum(count for seconds, count in rests.items() if int(seconds) >= 20) == len(gaps)

    def test_no_rest_of_the_pool_is_longer_than_it_was(self, case: Path) -> None:
        gaps = [gap for one in sockets(case)[APP2] for gap in one["gaps_ok"]]
        assert client(report_of(access(case)), APP2)["used_again"]["longest_seconds"] == pytest.approx(
            max(gaps), abs=0.3
        )

    def test_searches_are_those_that_were_answered(self, case: Path) -> None:
        """The applications wrote down how many; a moment later the log was copied, and the pools had gone on."""
        row = next(one for one in report_of(access(case))["searches"]["shapes"] if one["shape"] == "(uid=?)")
        report = {(one["client"], one["account"]): one["count"] for one in row["requesters"]}
        sent: dict[tuple[str, str], int] = {}
        for one in (each for every in sockets(case).values() for each in every):
            sent[one["src"], one["bind"]] = sent.get((one["src"], one["bind"]), 0) + len(one["gaps_ok"])
        assert report.keys() == sent.keys()
        for who, count in sent.items():
            assert count <= report[who] <= count + 12


class TestGhosts:
    """5a: no idle timeout; the server keeps every connection whose client is long gone."""

    def test_nothing_was_closed_that_was_not_unbound(self) -> None:
        assert closes(report_of(access(GHOSTS))) == {"U1": {"127.0.0.1": 2, APP1: 1}}

    def test_the_peak_is_all_that_were_ever_opened_but_the_short_ones(self) -> None:
        """310 at the end, and whoever asked for cn=monitor then."""
        assert report_of(access(GHOSTS))["connections"]["peak"] == truth(GHOSTS)["server_established_total"] + 1


class TestIdleTimeout:
    """6f: the server closed what lay idle for 90 seconds: ghosts, all of them."""

    def test_closed_for_idleness_are_the_ghosts_that_are_gone(self) -> None:
        ghosts = [json.loads(line) for line in (ENDED / "groundtruth" / "ghosts.jsonl").read_text().splitlines()]
        gone = [one for one in ghosts if not one["still_ESTABLISHED_in_server_table"]]
        assert (len(ghosts), len(gone)) == (120, 115)
        assert closes(report_of(access(ENDED)))["T1"] == {APP1: len(gone)}

    def test_each_had_rested_for_the_idle_timeout(self) -> None:
        rests = client(report_of(access(ENDED)), APP1)["before_close"]["T1"]
        assert rests["count"] == 115
        assert {int(seconds) for seconds in rests["from_seconds"]} <= {BEFORE_CLOSE, BEFORE_CLOSE + 1}

    def test_the_last_close_came_that_long_after_the_last_answer(self) -> None:
        """What the clients wrote down: the last answer to a ghost that is gone, and 90 seconds later its end."""
        ghosts = [json.loads(line) for line in (ENDED / "groundtruth" / "ghosts.jsonl").read_text().splitlines()]
        last = max(one["last_answer"] for one in ghosts if not one["still_ESTABLISHED_in_server_table"])
        rests = client(report_of(access(ENDED)), APP1)["before_close"]["T1"]
        rested = datetime.fromisoformat(rests["longest_ended"][:26] + "+00:00") - datetime.fromisoformat(last)
        assert rests["longest_seconds"] >= 90
        assert rested.total_seconds() <= 92
