"""The terminal of a live view, by Textual: keys, mouse and size in, changed lines out. No other module imports it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")  # read when it is imported

from textual import events
from textual.app import App
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from ldapdiag.live_view.drawing import draw
from ldapdiag.live_view.view import LISTS, Do, View

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.text import Text
    from textual.app import ComposeResult

    from ldapdiag.live_view.model import Model

REFRESH_SECONDS = 1.0
WHEEL_LINES = 3


class ChangedLines(Widget, can_focus=True):
    """The whole screen: draws the lines that have changed."""

    DEFAULT_CSS = "ChangedLines { width: 100%; height: 100%; }"

    def __init__(self, model: Model, view: View) -> None:
        super().__init__()
        self.model = model
        self.view = view
        self.lines: list[Text] = []

    def redraw(self) -> None:
        """Draw again what has changed."""
        width, height = self.size
        before, self.lines = self.lines, draw(self.model, self.view, width, height) if width and height else []
        if len(before) != len(self.lines):
            self.refresh()
            return
        changed = [y for y, (one, other) in enumerate(zip(before, self.lines, strict=True)) if _differ(one, other)]
        if changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def render_line(self, y: int) -> Strip:
        """Return one line of the screen."""
        width = self.size.width
        if y >= len(self.lines):
            return Strip.blank(width)
        return Strip(self.lines[y].render(self.app.console)).adjust_cell_length(width)


def _differ(one: Text, other: Text) -> bool:
    return one.plain != other.plain or one.style != other.style or one.spans != other.spans


class LiveApp(App[None]):
    """The program that runs while the screen is shown."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [Binding("ctrl+c", "quit", "", priority=True)]  # noqa: RUF012  a list, as Textual declares it
    CSS = "Screen { overflow: hidden; }"

    def __init__(self, model: Model, view: View, write: Callable[[], str]) -> None:
        """`write` writes what `w` asks for, and returns what it did."""
        super().__init__(ansi_color=True)
        self.model = model
        self.view = view
        self.write = write
        self.screen_lines = ChangedLines(model, view)

    def compose(self) -> ComposeResult:
        """Return the one widget."""
        yield self.screen_lines

    def on_mount(self) -> None:
        """Begin to draw by a timer."""
        self.screen_lines.focus()
        self.set_interval(REFRESH_SECONDS, self.tick)

    def tick(self) -> None:
        """Take what is new, and draw it."""
        self._follow_size()
        self.model.update()
        self.screen_lines.redraw()

    def _follow_size(self) -> None:
        """Take another size of the terminal without a signal, which none reaches in a container's process space."""
        if self.is_headless or sys.__stdout__ is None:
            return
        with suppress(OSError):
            size = Size(*os.get_terminal_size(sys.__stdout__.fileno()))
            if size != self.size:
                self.post_message(events.Resize(size, size))

    def on_resize(self) -> None:
        """Draw for another size, when the widget has it."""
        self.call_after_refresh(self.tick)

    def on_key(self, event: events.Key) -> None:
        """Take a key."""
        event.stop()
        event.prevent_default()
        done = self.view.press(event.key, event.character or "", self.model)
        if done is Do.QUIT:
            self.exit()
        elif done is Do.WRITE:
            self.run_worker(self._write, thread=True, exclusive=True)
        self.screen_lines.redraw()

    def _write(self) -> None:
        message = self.write()
        self.call_from_thread(self._show, message)

    def _show(self, message: str) -> None:
        self.view.message = message
        self.screen_lines.redraw()

    def on_mouse_scroll_down(self, _: Any) -> None:  # noqa: ANN401  events of textual
        """Move down."""
        self._move(WHEEL_LINES)

    def on_mouse_scroll_up(self, _: Any) -> None:  # noqa: ANN401  as above
        """Move up."""
        self._move(-WHEEL_LINES)

    def _move(self, lines: int) -> None:
        self.view.move(lines)
        self.screen_lines.redraw()

    def on_click(self, event: events.Click) -> None:
        """Choose the row that is clicked; open it if it is chosen already."""
        place = event.y - len(self.view.head) - 1 + self.view.offset
        if self.view.page not in LISTS or not 0 <= place < len(self.view.rows) or event.y <= len(self.view.head):
            return
        if place == self.view.cursor:
            self.view.press("enter", "", self.model)
        self.view.cursor = place
        self.screen_lines.redraw()
