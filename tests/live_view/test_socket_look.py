"""Sockets between two diagnoses: they supersede what the diagnosis read, and what is no longer read is unknown."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from facts import at_client, at_server
from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.sockets import TcpState, Timer
from ldapdiag.live_view.drawing import draw
from ldapdiag.live_view.socket_look import SocketLook
from ldapdiag.live_view.view import Shown, View
from live_views import Stage, direction, look, monitored, report, tables

APP1 = "10.77.2.2"
OLD_AGE = {"last_received": 900_000}
DEAD = {**OLD_AGE, "timer": Timer.KEEPALIVE, "probes": 3}


def leaking() -> Stage:
    """Return a view that has seen three ghosts since a diagnosis that found none."""
    stage = Stage(tables(at_server(5, last_received=1000) + at_server(3, first=50_000, **DEAD), at_client(5)))
    stage.holds(monitored(8, APP1, "uid=a,dc=x"))
    stage.report = report(direction(APP1, held=5, server_count=5))
    stage.pass_seconds(5)
    return stage


def screen(stage: Stage, view: View | None = None, width: int = 100, height: int = 40) -> str:
    return "\n".join(line.plain.rstrip() for line in draw(stage.model, view or View(), width, height))


def test_ghosts_appear_without_another_diagnosis() -> None:
    stage = leaking()
    (row,) = stage.server.clients()
    assert row.ends is not None
    assert (row.ends.held, row.ends.ghosts, row.wrong) == (5, 3, 3)
    assert [text for _, text in stage.model.events] == [f"{APP1}: 3 ghosts"]
    text = screen(stage)
    assert "now 3 ghosts, severed not judged  at the diagnosis: " in text
    assert "sockets 0 s ago" in text
    assert [reading.open for reading in stage.server.ghosts] == [0, 3]


def test_a_later_diagnosis_supersedes_them() -> None:
    stage = leaking()
    stage.report, stage.sockets = report(direction(APP1, ghosts=4)), LdapdiagError("no answer in 10 s")
    stage.pass_seconds(60)
    (row,) = stage.server.clients()
    assert row.ends is not None
    assert (row.ends.ghosts, stage.server.looked, stage.server.changes) == (4, None, [])
    assert "sockets: no answer in 10 s" in [text for _, text in stage.model.events]


def test_a_silent_client_is_not_judged() -> None:
    stage = leaking()
    stage.sockets = tables(at_server(8), None)
    stage.pass_seconds(5)
    (row,) = stage.server.clients()
    assert row.ends is not None
    assert (row.ends.held, row.ends.ghosts) == (None, None)
    assert stage.model.events[-1][1] == "sockets: ssh://app1: no answer in 10 s"
    stage.model.add_event("another one")
    text = screen(stage, width=120)
    assert "now ghosts not judged" in text
    assert "sockets 0 s ago, 1 silent   diagnosis 0 s ago   ssh://app1: no answer in 10 s" in text
    page = screen(stage, View(page=Shown.ONE, chosen=APP1))
    assert "40000        -  ESTABLISHED  not read" in page
    assert "not judged: " in page


def test_old_tables_say_so() -> None:
    stage = leaking()
    stage.now += 14
    stage.model.update()
    text = screen(stage)
    for shown in ("now OLD 3 ghosts, ", "sockets OLD, 14 s ago", "order: wrong first   OLD sockets: "):
        assert shown in text


def test_the_page_of_a_client_shows_both_ends_by_idle_time() -> None:
    stage = leaking()
    closing = at_client(1, first=60_000, state=TcpState.CLOSE_WAIT, **OLD_AGE)
    server = at_server(2, last_received=1000) + at_server(1, first=50_000, **DEAD)
    stage.sockets = tables(server, at_client(2, owner="java") + closing)
    stage.pass_seconds(5)
    lines = screen(stage, View(page=Shown.ONE, chosen=APP1)).splitlines()
    begin = next(place for place, line in enumerate(lines) if "idle for the longest first" in line)
    assert [line.split() for line in lines[begin + 1 : begin + 6]] == [
        ["PORT", "IDLE", "AT", "SERVER", "AT", "CLIENT"],
        ["50000", "15", "min", "ESTABLISHED", "absent", "ghost"],
        ["60000", "15", "min", "absent", "CLOSE_WAIT"],
        ["40000", "1", "s", "ESTABLISHED", "ESTABLISHED", "java"],
        ["40001", "1", "s", "ESTABLISHED", "ESTABLISHED", "java"],
    ]


def test_accounts_stand_beside_ports_that_the_server_publishes() -> None:
    stage = leaking()
    listed = (monitored(1, APP1, f"uid={who},dc=x", client_port=port)[0] for who, port in (("a", 40000), ("b", 40001)))
    stage.listing = look(connections=tuple(listed))
    stage.pass_seconds(5)
    page = screen(stage, View(page=Shown.ONE, chosen=APP1))
    assert "40000      1 s  ESTABLISHED  ESTABLISHED  a\n" in page
    assert "40001      1 s  ESTABLISHED  ESTABLISHED  b\n" in page


def test_what_was_read_before_a_restart_is_not_shown() -> None:
    stage = leaking()
    stage.holds(monitored(1, APP1), total=1)
    stage.now += 1
    stage.server.counters.ask_once()
    stage.model.update()
    assert (stage.server.looked, stage.server.judged) == (None, None)


def test_before_the_first_diagnosis_it_says_what_the_sockets_wait_for() -> None:
    text = screen(Stage(LdapdiagError("interrupted")))
    assert "sockets after the diagnosis" in text
    assert "diagnosis: the first one is under way" in text


def test_the_page_of_a_client_says_why_there_is_nothing() -> None:
    """Either no table of the server was read, or the client has none but closed ones there."""
    stage, page = leaking(), View(page=Shown.ONE, chosen=APP1)
    stage.sockets = SocketLook([], [], 1, [], 0.01)
    stage.pass_seconds(5)
    text = screen(stage, page)
    assert "Both ends: not judged. Latest tables: no sockets of a server were read." in text
    assert "No socket of it is in the latest tables: no sockets of a server were read." in text
    waiting = at_server(1, first=41_000, state=TcpState.CLOSE_WAIT, **OLD_AGE)
    stage.sockets = tables(waiting + at_server(1, "10.77.3.2"), at_client(0))
    stage.pass_seconds(5)
    text = screen(stage, page)
    assert "Latest tables: no established connection of this client." in text
    assert "41000   15 min  CLOSE_WAIT   not judged" in text


def test_of_a_server_whose_clock_is_ahead_no_age_is_shown() -> None:
    stage = leaking()
    later = stage.server.now() + timedelta(hours=1)
    (one,) = monitored(1, APP1, "uid=a,dc=x", client_port=40000)
    stage.listing = look(connections=(replace(one, opened=later, active=later),))
    stage.pass_seconds(5)
    for way in (stage, Stage()):
        way.listing = stage.listing
        way.pass_seconds(5)
        text = screen(way, View(page=Shown.ONE, chosen=APP1))
        assert "40000" in text
        assert re.findall("open -|quiet -", text) == []
