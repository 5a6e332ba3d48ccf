"""The program in a terminal without one (Textual's pilot): keys, mouse and size do what the help says."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ldapdiag.live_view.terminal import LiveApp
from ldapdiag.live_view.view import Shown, View
from live_views import Stage, monitored

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.pilot import Pilot


def run(act: Callable[[Pilot[None], Stage, LiveApp], Awaitable[None]], size: tuple[int, int] = (80, 24)) -> None:
    stage = Stage()
    stage.holds(monitored(5, "10.77.2.2", "uid=a,dc=x"), monitored(7, "10.77.3.2", "uid=b,dc=x"))
    stage.pass_seconds(1)

    async def session() -> None:
        app = LiveApp(stage.model, View(), lambda: "written: page.html")
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await act(pilot, stage, app)

    asyncio.run(session())


def shown(app: LiveApp) -> str:
    lines = [app.screen_lines.render_line(y) for y in range(app.size.height)]
    return "\n".join(line.text for line in lines)


def test_keys_mouse_and_size() -> None:
    async def act(pilot: Pilot[None], stage: Stage, app: LiveApp) -> None:
        view = app.view
        assert shown(app).index("10.77.3.2") < shown(app).index("10.77.2.2")
        await pilot.press("slash", *"uid=b", "enter")
        assert ("10.77.3.2" in shown(app), "10.77.2.2" in shown(app)) == (True, False)
        await pilot.press("escape", "down", "enter")
        assert (view.page, view.chosen) == (Shown.ONE, "10.77.2.2")
        await pilot.press("escape", "question_mark")
        assert "the next order of the rows" in shown(app)
        await pilot.press("question_mark", "a")
        assert "uid=a,dc=x" in shown(app)
        await pilot.press("c", "plus", "minus", "minus", "w")
        assert view.interval == 4.0
        await app.workers.wait_for_complete()
        assert "written: page.html" in shown(app)
        await pilot.click(offset=(4, 9))
        assert (view.page, view.cursor) == (Shown.CLIENTS, 1)
        await pilot.press("p")
        stage.holds(monitored(900, "10.77.2.2"))
        stage.pass_seconds(1)
        app.tick()
        assert "900" not in shown(app)
        await pilot.press("p")
        app.tick()
        assert "900" in shown(app)
        await pilot.resize_terminal(60, 15)
        await pilot.pause()
        assert len(shown(app).splitlines()) == 15
        assert "10.77.2.2" in shown(app)
        await pilot.press("q")

    run(act)
