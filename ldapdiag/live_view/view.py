"""What an operator looks at: the page, the order and the filter of its rows, the chosen row; changed by keys."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.text import Text

    from ldapdiag.live_view.model import Model
    from ldapdiag.live_view.searches import SearchKey, SearchRow
    from ldapdiag.live_view.server import LiveRow, ServerModel


class Shown(StrEnum):
    """What fills the screen."""

    CLIENTS = "clients"
    ACCOUNTS = "accounts"
    SEARCHES = "searches"
    ONE = "one"
    """The client, the account or the search that was chosen."""
    DIAGNOSIS = "diagnosis"
    HELP = "help"


class Do(StrEnum):
    """What the program must do after a key."""

    NOTHING = "nothing"
    QUIT = "quit"
    WRITE = "write"


ORDERS: dict[str, Callable[[LiveRow], Any]] = {
    "wrong first": lambda row: (-row.wrong, -row.connections),
    "connections": lambda row: -row.connections,
    "growth": lambda row: -(row.per_second or 0.0),
    "name": lambda row: row.name,
}
MOMENTS = {"left": -1, "right": 1}
SEARCH_ORDERS: dict[str, Callable[[SearchRow], Any]] = {
    "time": lambda row: -row.load,
    "unindexed first": lambda row: (-(row.unindexed or 0), -row.load),
    "number": lambda row: -row.count,
    "mean time": lambda row: -row.mean_seconds,
    "filter": lambda row: row.key,
}
LISTS: dict[Shown, dict[str, Callable[[Any], Any]]] = {
    Shown.CLIENTS: ORDERS,
    Shown.ACCOUNTS: ORDERS,
    Shown.SEARCHES: SEARCH_ORDERS,
}
"""The orders of each list, the first one at the beginning."""
ROWS: dict[Shown, Callable[[ServerModel], Sequence[LiveRow | SearchRow]]] = {
    Shown.CLIENTS: lambda server: server.clients(),
    Shown.ACCOUNTS: lambda server: server.accounts(),
    Shown.SEARCHES: lambda server: server.searches(),
}
QUICKEST, SLOWEST = 1.0, 60.0
"""Seconds between two looks."""
KEYS = (
    ("up, down, page up, page down, mouse", "choose a row, or move the text"),
    ("Enter", "open the chosen client, account or search"),
    ("Escape", "back; ends a filter"),
    ("c, a, f", "clients, accounts, searches by their filters"),
    ("s", "the next order of the rows"),
    ("/", "show only rows that contain a text"),
    ("n", "the next server"),
    ("p", "pause the screen; the sources go on. In a replay: play, pause"),
    ("left, right", "the moment before, the next moment of a replay"),
    ("+, -", "look more often, less often"),
    ("l", "list the connections now"),
    ("d", "the diagnosis; D: diagnose now"),
    ("w", "write the diagnosis as a page (HTML) into this folder"),
    ("q", "quit"),
)


@dataclass(slots=True)
class View:
    """The state of a screen."""

    interval: float = 2.0
    """Seconds between two looks at the counters."""
    page: Shown = Shown.CLIENTS
    order: str = "wrong first"
    filter: str = ""
    typing: bool = False
    """Keys are characters of the filter."""
    paused: bool = False
    server: int = 0
    cursor: int = 0
    offset: int = 0
    """The first line of a text, or of the list."""
    chosen: str | SearchKey = ""
    lists: Shown = Shown.CLIENTS
    """The list that Escape leads back to."""
    head: list[Text] = field(default_factory=list)
    """The lines above the list; they stay as they are while the screen is paused."""
    headed: object = None
    """The server and the list that they are of."""
    of: tuple[str, bool] = ("", False)
    """What the rows are of, and whether that is old."""
    text: tuple[object, list[Text]] = ((), [])
    """The page that is a text, and what it was made for; it stays, too."""
    message: str = ""
    """What the last key did, until the next."""
    rows: Sequence[LiveRow | SearchRow] = ()
    """What the list shows; it stays as it is while the screen is paused."""
    _every: Sequence[LiveRow | SearchRow] = ()
    """Its rows before filter and order."""
    _taken: tuple[object, object] = (None, None)
    _ordered: tuple[object, ...] = ()

    def refresh(self, model: Model) -> None:
        """Take the rows of the model, unless the screen is paused, and order them: thousands, only if they changed."""
        server = self.server_of(model)
        if server is None:
            return
        what, version = (server, self.lists), server.version
        if self._taken[0] != what or (self._taken[1] != version and not self.paused):
            self._taken = what, version
            self._every = ROWS[self.lists](server)
        if (wanted := (*self._taken, self.filter, self.order)) != self._ordered:
            self._ordered = wanted
            self._order()

    def _order(self) -> None:
        text, at = self.filter.casefold(), self.rows[self.cursor].key if self.cursor < len(self.rows) else None
        found = [one for one in self._every if not text or text in " ".join((one.name, *one.others)).casefold()]
        self.rows = sorted(found, key=LISTS[self.lists][self.order])
        keys = [one.key for one in self.rows]
        # The choice stays with its row, but for the first place, where what gets worse appears.
        self.cursor = keys.index(at) if self.cursor and at in keys else min(self.cursor, max(0, len(keys) - 1))

    def server_of(self, model: Model) -> ServerModel | None:
        """Return the server that is shown."""
        return model.servers[self.server % len(model.servers)] if model.servers else None

    def press(self, key: str, character: str, model: Model) -> Do:
        """Take a key by its name and its character."""
        self.message = ""
        if self.typing:
            return self._type(key, character)
        steps = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10, "home": -(10**9), "end": 10**9}
        if key in steps:
            self.move(steps[key])
        elif key in MOMENTS:
            self.message = model.step(MOMENTS[key])
        elif model.is_replay and character in {"l", "D"}:
            self.message = "a replay asks no server"
        elif character in _COMMANDS:
            return _COMMANDS[character](self, model) or Do.NOTHING
        elif key == "enter" and self.page in LISTS and self.cursor < len(self.rows):
            self.page, self.chosen, self.offset = Shown.ONE, self.rows[self.cursor].key, 0
        elif key == "escape":
            self.filter = "" if self.page in LISTS else self.filter
            self.page, self.offset = self.lists, 0
        return Do.NOTHING

    def move(self, lines: int) -> None:
        """Move the choice in a list, or a text."""
        if self.page in LISTS:
            self.cursor = min(max(0, self.cursor + lines), max(0, len(self.rows) - 1))
        else:
            self.offset = max(0, self.offset + lines)

    def _type(self, key: str, character: str) -> Do:
        if key in {"enter", "escape"}:
            self.typing = False
            self.filter = "" if key == "escape" else self.filter
        elif key in {"backspace", "delete"}:
            self.filter = self.filter[:-1]
        elif character.isprintable():
            self.filter += character
        return Do.NOTHING

    def show_list(self, page: Shown) -> None:
        """Show one of the lists from its begin."""
        self.page = self.lists = page
        self.cursor = self.offset = 0
        if self.order not in LISTS[page]:
            self.order = next(iter(LISTS[page]))

    def show_text(self, page: Shown) -> None:
        """Show a text, or the list again if it is shown already."""
        self.page, self.offset = (self.lists if self.page is page else page), 0

    def order_next(self) -> None:
        """Order the rows in the next way."""
        names = list(LISTS[self.lists])
        self.order, self.cursor = names[(names.index(self.order) + 1) % len(names)], 0

    def begin_filter(self) -> None:
        """Let the next characters be a filter."""
        self.typing, self.page = True, self.lists

    def show_next_server(self, model: Model) -> None:
        """Show another server."""
        self.server = (self.server + 1) % max(1, len(model.servers))
        self.show_list(self.lists)

    def pause(self, model: Model) -> None:
        """Stop the screen, or let it go on; of a replay, stop to step."""
        if model.is_replay:
            self.message = model.step(0)
        else:
            self.paused = not self.paused

    def look(self, factor: float) -> None:
        """Look more or less often."""
        self.interval = min(max(QUICKEST, self.interval * factor), SLOWEST)
        self.message = f"every {self.interval:g} s"

    def list_now(self, model: Model) -> None:
        """Ask for the list of connections, however many they are."""
        if server := self.server_of(model):
            server.listing.wake.set()
            self.message = "asking for the list of connections"

    def diagnose(self, model: Model) -> None:
        """Begin a diagnosis."""
        model.diagnosis.wake.set()
        self.message = "diagnosing"


_COMMANDS: dict[str, Callable[[View, Model], Do | None]] = {
    "q": lambda *_: Do.QUIT,
    "w": lambda *_: Do.WRITE,
    "c": lambda view, _: view.show_list(Shown.CLIENTS),
    "a": lambda view, _: view.show_list(Shown.ACCOUNTS),
    "f": lambda view, _: view.show_list(Shown.SEARCHES),
    "s": lambda view, _: view.order_next(),
    "/": lambda view, _: view.begin_filter(),
    "n": lambda view, model: view.show_next_server(model),
    "p": lambda view, model: view.pause(model),
    "+": lambda view, _: view.look(0.5),
    "-": lambda view, _: view.look(2.0),
    "l": lambda view, model: view.list_now(model),
    "d": lambda view, _: view.show_text(Shown.DIAGNOSIS),
    "D": lambda view, model: view.diagnose(model),
    "?": lambda view, _: view.show_text(Shown.HELP),
}
