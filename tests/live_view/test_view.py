"""Keys change what is looked at; none of them needs an answer of a server."""

from __future__ import annotations

import pytest

from ldapdiag.live_view.drawing import draw
from ldapdiag.live_view.view import ORDERS, QUICKEST, SLOWEST, Do, Shown, View
from live_views import Stage, logged, monitored

CLIENTS = {"10.77.2.2": 5, "10.77.3.2": 7, "10.77.4.2": 6}


def held() -> Stage:
    stage = Stage()
    stage.holds(*(monitored(count, client, f"uid={client[6]},dc=x") for client, count in CLIENTS.items()))
    stage.pass_seconds(1)
    return stage


def press(stage: Stage, view: View, *keys: str) -> list[Do]:
    done = []
    for key in keys:
        done.append(view.press(key, key if len(key) == 1 else "", stage.model))
        draw(stage.model, view, 80, 24)
    return done


def names(view: View) -> list[str]:
    return [one.name for one in view.rows]


def test_every_order_has_the_same_rows() -> None:
    stage, view = held(), View()
    seen = {}
    for _ in ORDERS:
        press(stage, view, "s")
        seen[view.order] = names(view)
    assert set(seen) == set(ORDERS)
    assert {tuple(sorted(rows)) for rows in seen.values()} == {tuple(sorted(CLIENTS))}
    assert seen["connections"] == sorted(CLIENTS, key=lambda one: -CLIENTS[one])
    assert seen["name"] == sorted(CLIENTS)


def test_a_filter_takes_keys_as_text_until_it_ends() -> None:
    stage, view = held(), View()
    assert press(stage, view, "/", "u", "i", "d", "=", "3", "q", "backspace", "enter") == [Do.NOTHING] * 9
    assert (view.filter, names(view)) == ("uid=3", ["10.77.3.2"])
    press(stage, view, "escape")
    assert len(names(view)) == 3


def test_the_choice_stays_with_its_row() -> None:
    stage, view = held(), View()
    draw(stage.model, view, 80, 24)
    press(stage, view, "down", "down")
    assert view.rows[view.cursor].name == "10.77.2.2"
    stage.holds(monitored(99, "10.77.2.2"), monitored(7, "10.77.3.2"))
    stage.pass_seconds(10)
    draw(stage.model, view, 80, 24)
    assert view.rows[view.cursor].name == "10.77.2.2"


def test_the_interval_has_bounds() -> None:
    stage, view = held(), View()
    press(stage, view, *"+" * 20)
    assert view.interval == QUICKEST
    press(stage, view, *"-" * 20)
    assert view.interval == SLOWEST


@pytest.mark.parametrize("page", [Shown.HELP, Shown.DIAGNOSIS])
def test_the_key_of_a_text_leads_back(page: Shown) -> None:
    stage, view = held(), View()
    key = {Shown.HELP: "?", Shown.DIAGNOSIS: "d"}[page]
    press(stage, view, "a", key)
    assert view.page is page
    press(stage, view, key)
    assert view.page is Shown.ACCOUNTS


def test_no_key_needs_an_answer() -> None:
    stage, view = Stage(), View()
    keys = [
        *"caspsnldDw?+-/",
        "escape",
        "up",
        "down",
        "pageup",
        "pagedown",
        "home",
        "end",
        "enter",
        "escape",
        "f1",
        "q",
    ]
    assert press(stage, view, *keys)[-1] is Do.QUIT
    assert stage.server.listing.wake.is_set()
    assert stage.model.diagnosis.wake.is_set()


def test_a_paused_screen_names_what_it_shows() -> None:
    stage, view = held(), View()
    stage.log = logged(("(uid=?)", "10.77.2.2", "uid=a"), ("(cn=?)", "10.77.2.2", "uid=a"))
    stage.pass_seconds(1)
    press(stage, view, "p", "+")
    assert "PAUSED" in shown(stage, view)
    press(stage, view, "a")
    assert names(view) == ["uid=3,dc=x", "uid=4,dc=x", "uid=2,dc=x"]
    assert "accounts 3" in shown(stage, view)
    press(stage, view, "f", "s", "/", "u", "i", "enter")
    assert ("searches 1   order: unindexed first" in shown(stage, view), names(view)) == (True, ["(uid=?)"])
    press(stage, view, "c", "escape")
    stage.holds(monitored(60, "10.77.2.2"), monitored(1, "10.77.9.9"))
    stage.pass_seconds(10)
    assert ("10.77.9.9" in shown(stage, view), "clients 3" in shown(stage, view)) == (False, True)
    press(stage, view, "enter")
    assert "opened at" in shown(stage, view)


def shown(stage: Stage, view: View) -> str:
    return "\n".join(line.plain for line in draw(stage.model, view, 110, 24))
