"""The screen: as many lines as the terminal has, none wider, nothing from a server that a terminal would obey."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from command import INCIDENT, ldapdiag
from ldapdiag.analysis.load.forecast import LimitForecast
from ldapdiag.errors import LdapdiagError
from ldapdiag.live_view.drawing import draw
from ldapdiag.live_view.searches import SearchKey
from ldapdiag.live_view.source import State
from ldapdiag.live_view.view import KEYS, LISTS, Shown, View
from live_views import Stage, direction, logged, look, monitored, report

APP1, APP2 = "10.77.2.2", "10.77.3.2"
SHAPE = "(&(objectClass=?)(displayName=?*))"
NAMES = st.text(st.characters(exclude_categories=()), max_size=60)


def screen(stage: Stage, view: View | None = None, width: int = 80, height: int = 24) -> str:
    lines = draw(stage.model, view or View(), width, height)
    assert len(lines) == height
    assert max(cell_len(line.plain) for line in lines) <= width
    return "\n".join(line.plain for line in lines)


def incident() -> Stage:
    stage = Stage()
    stage.report = report(direction(APP1, ghosts=268, server_count=270), direction(APP2, client_count=None, held=0))
    for step in range(8):
        stage.holds(
            monitored(260 + step, APP1, "uid=application_xyz,ou=services,dc=example,dc=com"),
            monitored(40, APP2, "uid=application_foo,ou=services,dc=example,dc=com"),
            total=1000 + step, operations=10_000 + 500 * step, threads=16,
        )  # fmt: skip
        stage.pass_seconds(9.9)
    return stage


@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 15), (120, 40), (20, 5), (1, 1)])
@pytest.mark.parametrize("page", Shown)
def test_it_fits(width: int, height: int, page: Shown) -> None:
    stage = incident()
    stage.log = logged((SHAPE, APP1, "uid=a"), ("(uid=?)", APP2, "uid=b"), unindexed=60)
    stage.pass_seconds(1)
    lists = page if page in LISTS else Shown.CLIENTS
    screen(stage, View(page=page, lists=lists, chosen=APP1, order=next(iter(LISTS[lists]))), width, height)


def test_an_incident_at_80_columns() -> None:
    lines = screen(incident()).splitlines()
    assert lines[1] == "connections 307 +6.1/min (+6.1 all)   accept queue 3 of 128"
    assert lines[2] == "ops 50/s   busy - of 16   log not followed, because its file was not named"
    assert lines[3].startswith("descriptors 335 of 1,000 ━")
    assert lines[8].split() == ["^", APP1, "267", "+6.1", "+6.1", "2", "268", "0", "application_xyz"]
    assert lines[9].split() == [APP2, "40", "0", "0", "-", "-", "-", "application_foo"]


def test_an_old_source_says_its_age_and_why() -> None:
    stage = incident()
    stage.counters = LdapdiagError("no answer in 10 s")
    stage.pass_seconds(7)
    stage.pass_seconds(1)
    text = screen(stage, width=120)
    assert ("counters OLD, 8 s ago" in text, "\nconnections OLD 307" in text, "\nops OLD 5" in text) == (True,) * 3
    assert "counters: no answer in 10 s" in text
    stage.pass_seconds(100, ask=False)
    assert "clients 2 (OLD)" in screen(stage, width=120)
    assert {line.style for line in draw(stage.model, View(cursor=1), 80, 24)[8:9]} == {"dim"}


def test_an_old_diagnosis_says_so_where_its_numbers_are() -> None:
    stage = incident()
    stage.pass_seconds(1)
    stage.report = LdapdiagError("no target answered")
    stage.pass_seconds(1)
    assert "order: wrong first   OLD diagnosis" in screen(stage, width=60)
    assert screen(stage, width=60).splitlines()[5].startswith("diagnosis OLD, 1 s ago")
    for shown in ("accept queue OLD 3 of 128", "descriptors OLD 335 of 1,000", "\nOLD unknown  No check"):
        assert shown in screen(stage)
    stage.listing = look(connections=None)
    stage.pass_seconds(1)
    assert "clients 2 (OLD)   order: wrong first   OLD diagnosis: list not permitted" in screen(stage, width=120)


def test_hours_left_are_of_counters_that_go_on() -> None:
    stage = incident()
    stage.server.forecast.state = State(LimitForecast(median=2.0, earliest=1.0, latest=3.0), 1.0)
    assert "full in 2 h" in screen(stage)
    stage.counters = LdapdiagError("no answer in 10 s")
    stage.pass_seconds(2)
    assert "full in" not in screen(stage)


def test_after_a_cure_it_no_longer_fills() -> None:
    stage, begun = incident(), datetime.now(UTC)
    stage.server.now = lambda: begun + timedelta(seconds=stage.now)
    said = []
    for counts in (range(310, 810, 5), range(800, 320, -40), [320] * 30):
        for held in counts:
            stage.counters = look(current_connections=held)
            stage.pass_seconds(3)
        stage.server.forecast.ask_once()
        said.append(screen(stage).splitlines()[3].partition("─ ")[2].strip())
    assert said[0].startswith("full in ")
    assert said[1:] == ["falls", "no longer fills"]


def test_a_server_whose_clock_is_ahead_has_no_negative_time() -> None:
    stage = Stage()
    stage.holds(monitored(1, APP1), started_at=datetime.now(UTC) + timedelta(minutes=5))
    stage.pass_seconds(1)
    assert "up" not in screen(stage).splitlines()[0].split()


def test_no_answer_at_all_is_no_number() -> None:
    stage = Stage()
    stage.counters = stage.listing = stage.report = LdapdiagError("connection refused")
    stage.pass_seconds(1)
    text = screen(stage)
    assert "connections - -/min" in text
    assert "limit unknown" in text
    assert "counters none" in text


def test_a_hidden_and_a_cut_list_say_so() -> None:
    stage = Stage()
    stage.counters, stage.listing = look(current_connections=9), look(connections=None, current_connections=9)
    stage.pass_seconds(1)
    assert "list not permitted to this account" in screen(stage)
    stage.holds(monitored(1204, APP1))
    stage.cut(500)
    stage.pass_seconds(1)
    assert "list 500 of 1,204: cut at a size limit" in screen(stage)


def of_searches(**given: Any) -> View:
    return View(**{"page": Shown.SEARCHES, "lists": Shown.SEARCHES, "order": "time"} | given)


def test_searches_at_80_columns() -> None:
    stage = incident()
    stage.log = logged((SHAPE, APP1, "uid=a"), ("(uid=?)", APP2, "uid=b"), unindexed=7)
    stage.pass_seconds(1)
    lines = screen(stage, of_searches()).splitlines()
    assert lines[2] == "ops 46/s   busy - of 16   log: 2/s, searches 1 s/s (14 unindexed)"
    assert re.match(r"searches 2   order: time   60 s until [\d.]+ m?s ago", lines[6])
    assert lines[8].split() == [SHAPE, "0.5", "1", "500", "ms", "7", "10"]
    stage.log = LdapdiagError("not followed, because it is gone")
    stage.pass_seconds(1)
    stage.pass_seconds(5)
    text = screen(stage, of_searches())
    assert "searches 2 (OLD)" in text
    assert "log: not followed, because it is gone" in text


def test_a_silent_log_is_old() -> None:
    stage = Stage()
    stage.log = logged((SHAPE, APP1, "uid=a"), silent_seconds=200)
    stage.pass_seconds(1)
    assert "searches 1 (OLD)   order: time   60 s until 200 s ago" in screen(stage, of_searches())
    late = logged((SHAPE, APP1, "uid=a"), silent_seconds=200)
    stage.log = replace(late, ahead_seconds=-195.0)  # the clock of its server is late
    stage.pass_seconds(1)
    assert re.search(r"searches 1   order: time   60 s until [56] s ago", screen(stage, of_searches()))


def test_what_was_left_out_of_a_log_is_stated() -> None:
    stage = Stage()
    for left_out in (0, 3 << 20):
        stage.log = replace(logged((SHAPE, APP1, "uid=a")), left_out=left_out)
        stage.pass_seconds(1)
    assert "log in part: 1/s" in screen(stage, of_searches())
    assert "3 MiB left out: too many at once, or" in screen(stage, of_searches(), width=120)


def test_why_there_are_no_searches() -> None:
    text = screen(incident(), of_searches())
    assert "The log is not followed, because its file was not named." in text


def test_one_search_shows_who_sends_it_and_its_plan() -> None:
    stage = incident()
    stage.log = logged((SHAPE, APP1, "uid=a"), (SHAPE, APP2, "uid=b"), unindexed=7)
    stage.pass_seconds(1)
    view = of_searches(page=Shown.ONE, chosen=SearchKey(SHAPE, "dc=x", "sub"))
    text = screen(stage, view, width=100, height=40)
    assert "120 searches (2/s), 14 unindexed" in text
    assert "1 s/s, 500 ms and 10 entries each" in text
    assert f"60 searches, 7 noted  0.5 s/s, 500 ms each  {APP1}  uid=a" in text
    assert "plan: not judged, because the last diagnosis has no log" in text
    found = {"id": "missing-index|ldap", "title": "no index sn", "acceptance": None, "severity": "low"}
    stage.report = report(findings=[found | {"observed": {"shapes": [SHAPE]}}])
    stage.pass_seconds(1)
    assert "plan: no index sn" in screen(stage, view, width=100, height=40)
    assert f"{SHAPE}  uid=a" in screen(stage, View(page=Shown.ONE, chosen=APP1), width=100, height=40)


@given(NAMES, NAMES, NAMES, st.sampled_from([(80, 24), (60, 15), (31, 12)]))
def test_no_text_of_a_server_reaches_the_terminal_as_it_is(
    client: str, account: str, reason: str, size: tuple[int, int]
) -> None:
    stage = Stage()
    stage.holds(monitored(2, client, account), monitored(1, APP2, reason))
    stage.report = report(direction(client, ghosts=2), findings=[])
    stage.log = logged((reason, client, account))
    stage.pass_seconds(1)
    stage.counters = LdapdiagError(reason)
    stage.pass_seconds(1)
    for view in (
        View(),
        View(page=Shown.ACCOUNTS, lists=Shown.ACCOUNTS),
        View(page=Shown.ONE, chosen=client),
        of_searches(),
        of_searches(page=Shown.ONE, chosen=stage.server.searches()[0].key),
        View(filter=reason),
    ):
        text = screen(stage, view, *size)
        assert not [one for one in text if unicodedata.category(one) in {"Cc", "Cf", "Cs"} and one != "\n"]


def test_a_paused_screen_stays_as_it_is_while_the_model_goes_on() -> None:
    stage, view = incident(), View()
    screen(stage, view)
    view.press("p", "p", stage.model)
    before = screen(stage, view).splitlines()
    stage.holds(monitored(999, APP1))
    stage.pass_seconds(10)
    assert screen(stage, view).splitlines() == before
    assert "PAUSED" in before[-2]
    view.press("p", "p", stage.model)
    assert " 999 " in screen(stage, view)


def test_ten_thousand_clients_are_drawn_as_far_as_they_are_seen() -> None:
    stage = Stage()
    stage.holds(*(monitored(1, f"10.{one >> 8}.{one & 255}.1") for one in range(10_000)))
    stage.pass_seconds(1)
    view = View()
    assert "clients 10,000" in screen(stage, view)
    view.press("end", "", stage.model)
    assert "10.9.99.1" in screen(stage, view)


def test_the_help_has_every_key() -> None:
    text = screen(Stage(), View(page=Shown.HELP), width=120, height=60)
    assert all(does in text for _, does in KEYS)


def test_one_client_shows_its_ghosts_at_both_ends() -> None:
    """As `examples/incident` has them."""
    stage = incident()
    stage.report = ldapdiag("diagnose", INCIDENT, "--format", "json").report
    port = stage.report["findings"][0]["observed"]["ghost_client_ports"][7]
    stage.holds((replace(monitored(1, APP1)[0], client_port=port), replace(monitored(1, APP1)[0], client_port=1)))
    stage.pass_seconds(1)
    text = screen(stage, View(page=Shown.ONE, chosen=APP1), width=100, height=40)
    assert "port 52302: ESTABLISHED at the server, idle 63.1 s; app1 has none; fw has none" in text
    assert f"port {port}  ghost" in text
    assert re.search("port 1  (?!ghost)", text)


def test_one_client_shows_both_ends_and_its_connections() -> None:
    text = screen(incident(), View(page=Shown.ONE, chosen=APP1), width=100)
    assert "Last diagnosis: 268 ghosts, 270 at the server; 2 there, 2 held by both" in text
    assert "267 connections" in text
    text = screen(incident(), View(page=Shown.ONE, chosen=APP2), width=100)
    assert "the client's sockets were not read" in text


@pytest.mark.parametrize("size", [(80, 24), (60, 15)])
def test_the_line_above_a_page_is_that_of_the_page(size: tuple[int, int]) -> None:
    stage, view = incident(), View()
    stage.log = logged(("(uid=?)", "10.77.2.2", "uid=a"))
    stage.pass_seconds(1)
    titles = []
    for keys in ("", "?", "d", "\r", "f", "\r", "a"):
        for key in keys:
            view.press("enter" if key == "\r" else key, key, stage.model)
        titles.append(draw(stage.model, view, *size)[6].plain)
    assert titles[1] == "keys and columns   Escape: back to clients"
    assert titles[2] == "the diagnosis of all targets   Escape: back to clients"
    assert [title.split()[0] for title in (titles[0], *titles[4:])] == ["clients", "searches", "one", "accounts"]
    assert titles[5] == "one of 1 searches   Escape: back to searches"
