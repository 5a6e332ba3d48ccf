"""What is known of a server: unknown is never zero, our own requests are not counted, a restart begins rates anew."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ldapdiag.analysis.load.forecast import LimitForecast
from ldapdiag.errors import LdapdiagError
from ldapdiag.live_view.judged import judged
from ldapdiag.live_view.server import RESTARTED
from live_views import ENDPOINT, Stage, direction, look, monitored, report

APP1, APP2 = "10.77.2.2", "10.77.3.2"


def rows(stage: Stage) -> dict[str, Any]:
    return {one.name: one for one in stage.server.clients()}


def test_counts_by_client_and_account_are_those_of_the_list() -> None:
    stage = Stage()
    stage.holds(monitored(3, APP1, "uid=a,dc=x"), monitored(2, APP2, "uid=a,dc=x"), monitored(4, APP2, ""))
    stage.pass_seconds(1)
    assert {one.name: one.connections for one in stage.server.clients()} == {APP1: 3, APP2: 6}
    assert {one.name: one.connections for one in stage.server.accounts()} == {"uid=a,dc=x": 5, "anonymous": 4}
    assert rows(stage)[APP2].others == ("anonymous", "uid=a,dc=x")
    assert rows(stage)[APP1].ends is None


def test_a_hidden_list_shows_the_sockets_of_the_diagnosis_and_no_zero() -> None:
    stage = Stage()
    stage.counters, stage.listing = look(current_connections=9), look(connections=None, current_connections=9)
    stage.pass_seconds(1)
    assert (stage.server.listed, stage.server.accounts()) == (None, [])
    stage.report = report(direction(APP1, server_count=9))
    stage.pass_seconds(1)
    assert rows(stage)[APP1].connections == 9
    assert rows(stage)[APP1].per_second is None


@pytest.mark.parametrize("by_time", [True, False])
def test_a_restart_begins_rates_anew(*, by_time: bool) -> None:
    stage, begun = Stage(), datetime(2026, 11, 20, tzinfo=UTC)
    for step in range(5):
        stage.holds(monitored(50 + step, APP1), total=1000 + step, operations=5000 * step, started_at=begun)
        stage.pass_seconds(10)
    assert stage.server.connections.per_second() is not None
    later = {"started_at": begun + timedelta(hours=1)} if by_time else {}
    stage.holds(monitored(1, APP1), total=5000 if by_time else 2, operations=3, **later)
    stage.pass_seconds(10)
    assert [text for _, text in stage.model.events].count(RESTARTED) == 1
    assert (stage.server.connections.per_second(), rows(stage)[APP1].per_second) == (None, None)
    assert stage.server.operations_per_second() is None


def test_what_was_read_before_a_restart_is_gone_at_once() -> None:
    stage = Stage()
    stage.report = report(direction(APP1, ghosts=3))
    for _ in range(2):
        stage.holds(monitored(50, APP1), total=1000)
        stage.pass_seconds(10)
    version, stage.counters = stage.server.version, look(current_connections=0, total_connections=2)
    stage.now += 2
    stage.server.counters.ask_once()
    stage.model.update()
    assert (stage.server.listed, stage.server.judged, rows(stage)) == (None, None, {})
    assert stage.server.version > version
    assert stage.server.listing.wake.is_set()
    assert stage.model.diagnosis.wake.is_set(), "what was judged is judged anew at once"


def test_no_restart_where_the_list_is_older_than_the_counters() -> None:
    stage = Stage()
    for step in range(5):
        stage.counters = look(current_connections=5, total_connections=100 * step + 50)
        stage.listing = look(connections=monitored(5), current_connections=5, total_connections=100 * step + 60)
        stage.pass_seconds(10)
    assert not stage.model.events


def test_our_own_requests_are_no_operations() -> None:
    stage = Stage()
    for step in range(5):
        stage.counters = look(operations=100 + 8 * step + 30 * step, requests=8 * step)
        stage.pass_seconds(10)
    assert stage.server.operations_per_second() == pytest.approx(3, abs=0.1)


def test_of_a_cut_list_the_sockets_of_the_diagnosis_count() -> None:
    stage = Stage()
    stage.report = report(direction(APP1, server_count=604), direction(APP2, server_count=22))
    stage.holds(monitored(635, APP1), monitored(3, "10.77.4.2"))
    stage.cut(500)
    stage.pass_seconds(1)
    assert {name: one.connections for name, one in rows(stage).items()} == {APP1: 604, APP2: 22}


def test_a_cut_list_has_no_rates() -> None:
    stage = Stage()
    for step in range(3):
        stage.holds(monitored(600 + 10 * step, APP1))
        stage.cut(500)
        stage.pass_seconds(10)
    assert (rows(stage)[APP1].connections, rows(stage)[APP1].per_second) == (500, None)
    assert rows(stage)[APP1].has_grown is False


def test_what_is_wrong_comes_first_and_zero_without_the_other_end_is_unknown() -> None:
    stage = Stage()
    stage.holds(monitored(90, APP2), monitored(3, APP1))
    stage.report = report(direction(APP1, ghosts=3, server_count=3), direction(APP2, client_count=None, held=0))
    stage.pass_seconds(1)
    first, second = stage.server.clients()
    assert first.ends is not None
    assert second.ends is not None
    assert (first.name, first.wrong, first.ends.ghosts) == (APP1, 3, 3)
    assert (second.ends.ghosts, second.ends.held, second.ends.client_count) == (None, None, None)


def test_one_end_that_was_not_read_leaves_the_sum_unknown_but_what_is_proven() -> None:
    found = judged(
        report(direction(client_count=None, ghosts=2), direction(endpoint="10.77.1.2:636", ghosts=1)), ENDPOINT
    ).clients["10.77.2.2"]
    assert (found.ghosts, found.severed, found.client_count, found.server_count) == (3, None, None, 4)


def test_another_servers_ghosts_are_not_ours() -> None:
    other = direction(server="ds2", endpoint="10.77.1.3:389", ghosts=5)
    servers = [{"name": name, "numbers": None} for name in ("ldap", "ds2")]
    ours = direction(APP2, ghosts=1)
    assert set(judged(report(other, ours, servers=servers), ENDPOINT).clients) == {APP2}
    nowhere = judged(report(other, ours, servers=servers), None)
    assert (nowhere.clients, bool(nowhere.not_matched), nowhere.used) == ({}, True, None)
    stranger = judged(report(other, ours, servers=servers), ("192.0.2.1", 389))
    assert (stranger.clients, bool(stranger.not_matched)) == ({}, True)


def test_a_server_that_no_sockets_are_of_takes_none_of_another() -> None:
    """Named is an address that leads to one of several servers; only another one's host was read."""
    other = report(
        direction(ghosts=5, endpoint="10.77.1.3:389", server="ds2"), servers=[{"name": "ds2", "numbers": None}]
    )
    assert judged(other, ("192.0.2.7", 389)).clients == {}
    assert judged(other, ("192.0.2.7", 389)).not_matched
    assert set(judged(other, ("127.0.0.1", 389)).clients) == {"10.77.2.2"}
    assert set(judged(other, ("10.77.1.3", 636)).clients) == {"10.77.2.2"}  # the same server by its other port


def test_failures_and_new_findings_are_events_once() -> None:
    stage = Stage()
    stage.holds(monitored(3, APP1))
    stage.pass_seconds(2)
    stage.counters = LdapdiagError("no answer in 10 s")
    stage.report = report(findings=[finding("268 are gone")])
    for _ in range(3):
        stage.pass_seconds(2)
    stage.holds(monitored(3, APP1))
    stage.pass_seconds(2)
    assert [text for _, text in stage.model.events] == [
        "counters: no answer in 10 s",
        "new finding: 268 are gone",
        "counters: answers again",
    ]


def finding(title: str) -> dict[str, object]:
    return {
        "id": f"ghost-connections|{APP1}",
        "title": title,
        "severity": "critical",
        "acceptance": None,
        "observed": {},
    }


def test_the_limit_is_foreseen_for_a_leak_alone() -> None:
    stage = Stage()
    assert stage.server.foresee() is None
    stage.report = report(direction())
    stage.pass_seconds(1)
    found = stage.server.foresee()
    assert found is not None
    assert found.median is None  # too few readings: the reason is in `not_because`
    assert found.not_because


def test_a_list_that_is_no_longer_permitted_is_not_shown() -> None:
    stage = Stage()
    stage.holds(monitored(50, APP1, "uid=a,dc=x"))
    stage.pass_seconds(10)
    stage.listing, stage.report = look(connections=None, current_connections=50), report(direction(server_count=7))
    stage.pass_seconds(10)
    assert (rows(stage)[APP1].connections, rows(stage)[APP1].others, stage.server.accounts()) == (7, (), [])


def test_the_only_server_of_a_report_may_be_another_one_that_is_watched() -> None:
    """Where one of two servers does not answer, its screen must not show the descriptors of the other."""
    for found, endpoint in ((report(), ENDPOINT), (report(direction(ghosts=5)), None)):
        assert judged(found, endpoint, is_only=True).used == 335
        assert (judged(found, endpoint, is_only=False).used, judged(found, endpoint, is_only=False).clients) == (
            None,
            {},
        )
    assert judged(report(direction()), ENDPOINT, is_only=False).used == 335


def test_a_diagnosis_that_began_before_a_restart_is_not_taken() -> None:
    stage = Stage()
    stage.holds(monitored(50, APP1), total=1000)
    stage.pass_seconds(10)
    state = stage.model.diagnosis.state
    stage.counters = look(current_connections=1, total_connections=0)
    stage.pass_seconds(10, ask=False)
    stage.server.counters.ask_once()
    stage.model.update()
    stage.model.diagnosis.state = replace(state, value=report(direction(ghosts=9)), at=stage.now + 3)
    stage.model.update()
    assert stage.server.judged is None
    stage.report = report()
    for total in (1, 2):
        stage.holds(monitored(1, APP1), total=total)
        stage.pass_seconds(10)
    assert stage.server.judged is not None
    assert [text for _, text in stage.model.events].count(RESTARTED) == 1


def test_operations_that_fall_are_unknown_and_not_zero() -> None:
    """The server was restarted, and has accepted more connections since than it had before."""
    stage = Stage()
    for operations in (90_000, 90_500, 60):
        stage.counters = look(operations=operations)
        stage.pass_seconds(10)
    assert stage.server.operations_per_second() is None


def test_a_forecast_that_began_before_a_restart_is_none(monkeypatch) -> None:
    """It takes a while, in a thread of its own; what it knew of is gone."""
    stage = Stage()
    stage.pass_seconds(10)

    def forecast(*_: object) -> LimitForecast:
        stage.server.restarted_at = stage.now
        return LimitForecast(median=1.0)

    monkeypatch.setattr("ldapdiag.live_view.server.forecast", forecast)
    assert stage.server.foresee() is None
    assert not stage.server.was_filling
