"""A replay: each moment by its own time, the same on the way back, and what a moment lacks is old."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from facts import monitor, monitored
from histories import found, minutes, run, server
from ldapdiag.live_view.drawing import draw
from ldapdiag.live_view.replay import Replay, moment_of_run
from ldapdiag.live_view.view import Do, Shown, View
from live_views import direction, report

if TYPE_CHECKING:
    from ldapdiag.live_view.replay import Moment

APP1 = "10.77.2.2"


def capture(number: float, connections: int, **ends: int) -> Moment:
    """Return the moment of a capture with so many connections of one client."""
    listed = monitored(connections, APP1, "uid=a,dc=x")
    at = minutes(number)
    published = {"ldap": monitor(connections=listed, current_connections=connections, taken_at=at)}
    taken = report(direction(APP1, **ends), taken_at=at.isoformat())
    return moment_of_run(run(number, server(number, connections=connections)), taken, published)


def screen(replay: Replay, view: View | None = None) -> str:
    return "\n".join(line.plain for line in draw(replay, view or View(), 110, 24))


def press(replay: Replay, view: View, key: str, character: str = "") -> str:
    assert view.press(key, character, replay) is Do.NOTHING
    return screen(replay, view)


def test_a_history_shows_its_numbers_and_no_client() -> None:
    finding = found(4)
    runs = [run(one, server(one, findings=[finding], ghosts=ghosts)) for one, ghosts in ((0, None), (1, 5))]
    replay, view = Replay(list(map(moment_of_run, runs)), lambda: 2.0, lambda: 0.0), View()
    first = screen(replay, view)
    assert "REPLAY 1 of 2: 2024-11-20 09:00:00 UTC" in first
    assert "connections 310 -/min" in first
    assert "CRITICAL  ghosts -, severed -, stranded -, critical ghost-connections" in first
    second = press(replay, view, "right")
    assert "REPLAY 2 of 2, paused: 2024-11-20 09:01:00 UTC" in second
    assert "connections 311 +1/min (+1 all)" in second
    assert ("ghosts 5" in second, "descriptors 336 of 20,000" in second) == (True, True)
    assert ("a history names no client" in second, "OLD" in second, "not permitted" in second) == (True, False, False)
    assert "no later moment" in press(replay, view, "right")
    assert "a replay asks no server" in press(replay, view, "l", "l")
    assert "a history has no report" in press(replay, view, "d", "d")


def test_a_capture_shows_both_ends_and_its_diagnosis() -> None:
    replay, view = Replay([capture(5, 40, ghosts=30), capture(0, 10, ghosts=2)], lambda: 2.0, lambda: 0.0), View()
    assert row(screen(replay, view)) == [APP1, "10", "-", "-", "2", "2", "0"]
    assert row(press(replay, view, "right")) == ["^", APP1, "40", "+6", "+6", "2", "30", "0"]
    assert "taken at 2024-11-20 09:05" in press(replay, view, "d", "d")
    view.show_list(Shown.CLIENTS)
    assert row(press(replay, view, "left")) == [APP1, "10", "-", "-", "2", "2", "0"]
    assert "no moment was recorded before" in press(replay, view, "left")


def row(text: str) -> list[str]:
    """Return the cells of the client, without its account."""
    return next(line for line in text.splitlines() if APP1 in line).split()[:-1]


def test_what_a_later_moment_lacks_is_old() -> None:
    other = moment_of_run(run(2, server(2, name="other")), report(), {})
    replay, view = Replay([capture(0, 10, ghosts=2), other], lambda: 2.0, lambda: 0.0), View()
    text = press(replay, view, "right")
    assert ("counters OLD, 120 s ago" in text, "list OLD" in text, "clients 1 (OLD)" in text) == (True, True, True)
    assert "diagnosis: not in the evidence of this moment" in text
    assert row(text) == [APP1, "10", "-", "-", "-", "-", "-"]
    late = run(9, server(9, taken=minutes(4)), server(9, name="other"))
    assert "counters OLD, 300 s ago" in screen(Replay([moment_of_run(late)], lambda: 2.0))


def test_it_plays_and_stops() -> None:
    now = [0.0]
    replay = Replay([capture(number, number) for number in range(1, 4)], lambda: 2.0, lambda: now[0])
    view, places = View(), []
    for second in range(1, 8):
        now[0] = float(second)
        replay.update()
        places.append(replay.place)
    assert places == [0, 1, 1, 2, 2, 2, 2]
    assert not replay.is_playing
    press(replay, view, "p", "p")  # again from the first
    assert (replay.place, replay.is_playing) == (0, True)
    press(replay, view, "p", "p")
    now[0] += 9
    replay.update()
    assert (replay.place, replay.is_playing) == (0, False)


@given(st.lists(st.sampled_from([-1, 1]), max_size=12))
def test_a_moment_is_the_same_on_every_way_to_it(steps: list[int]) -> None:
    moments = [capture(2 * number, 10 * (number % 3 + 1), ghosts=number) for number in range(5)]
    walked, direct = Replay(moments, lambda: 2.0), Replay(moments, lambda: 2.0)
    for step in (1, *steps):
        walked.step(step)
    for _ in range(walked.place):
        direct.step(1)
    walked.is_playing = direct.is_playing = False
    assert screen(walked) == screen(direct)
    assert walked.now == minutes(0) + timedelta(minutes=2 * walked.place)
