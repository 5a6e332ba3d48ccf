"""The page: labels in the margin, text wrapped behind it, commands at the left edge."""

from __future__ import annotations

import os
import sys
from itertools import islice
from typing import TYPE_CHECKING, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.report.color import Color, console_settings
from ldapdiag.report.neutral import neutral

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MARGIN = 12
"""Columns for the severity or another label."""

NARROWEST = 20
"""Least columns of a text, however narrow the terminal is."""

LONGEST = 2000
"""Characters of one text; only text from outside is longer."""

WIDEST = 120
PIPED = 100
"""Columns of a report that no terminal shows, unless COLUMNS is set."""
CUT = "…"


@dataclass(slots=True)
class Page:
    """A console to print a report on. All text is neutralised first."""

    console: Console
    height: int | None = None
    """Rows of the terminal; None: no terminal shows it."""
    rows: int = 0
    """Rows printed so far; a line that is wider than the terminal has several."""
    is_blank: bool = False
    """The last line is empty."""

    @property
    def room(self) -> int:
        """Return the columns behind the margin."""
        return max(NARROWEST, self.console.width - MARGIN)

    def blank(self) -> None:
        """Print an empty line, unless the last one is empty."""
        if not self.is_blank:
            self._print(Text(), 0)

    def line(self, parts: Iterable[str], style: str = "") -> None:
        """Print parts at the left edge, with dots between; no part is broken that fits on a line."""
        for one in packed(parts, self.room + MARGIN):
            for line in self._wrapped(one, style, self.room + MARGIN):
                self._print(line, 0)

    def packed(
        self, label: str, parts: Iterable[str], style: str, text_style: str = "", *, most: int | None = None
    ) -> None:
        """Print parts with a label in the margin and dots between; no part is broken that fits on a line.

        More than `most` lines are cut.
        """
        whole = list(packed(parts, self.room))
        lines = whole if most is None or len(whole) <= most else [*whole[: most - 1], " · ".join(whole[most - 1 :])]
        for number, line in enumerate(lines):
            left = None if most is None else max(1, most - number)
            self.labelled("" if number else label, line, style, text_style, most=left)

    def labelled(self, label: str, text: str, style: str, text_style: str = "", *, most: int | None = None) -> None:
        """Print a text with its label in the margin; a label that does not fit there gets its own line.

        A text of more than `most` lines is cut.
        """
        shown = neutral(label)
        margin = Text().append(shown, style)
        if len(shown) >= MARGIN:
            self._print(margin, 0)
            margin = Text()
        first, *rest = self._cut(self._wrapped(text, text_style, self.room), most, self.room)
        margin.append(" " * (MARGIN - len(margin)))
        self._print(margin.append_text(first), 0)
        for one in rest:
            self._print(one, MARGIN)

    def listed(self, label: str, texts: Iterable[str], style: str, text_style: str = "") -> None:
        """Print several texts, the first one with the label."""
        for number, text in enumerate(texts):
            self.labelled("" if number else label, text, style, text_style)

    def indented(self, text: str, style: str = "", *, deeper: int = 0, most: int | None = None) -> None:
        """Print a text behind the margin, and `deeper` columns more, wrapped there; more than `most` lines are cut."""
        for one in self._cut(self._wrapped(text, style, self.room - deeper), most, self.room - deeper):
            self._print(one, MARGIN + deeper)

    def lines_of(self, text: str, *, deeper: int = 0) -> int:
        """Return how many lines a text has behind the margin."""
        return sum(1 for _ in self._wrapped(text, "", self.room - deeper))

    def rows_of(self, text: str) -> int:
        """Return how many rows of the terminal commands take up."""
        return sum(self._rows(neutral(line, longest=1 << 20)) for line in text.splitlines())

    def numbered(
        self, number: int | str, parts: Iterable[str], style: str = "", *, digits: int = 1, most: int | None = None
    ) -> None:
        """Print parts behind the margin with their number, or a word, in front; no part is broken that fits on a line.

        Of parts that share no line with another, `most` lines are printed of each.
        """
        lines = iter(self.numbered_lines(parts, style, digits=digits, most=most))
        self._print(Text(f"{number:>{digits}}".ljust(digits + 2), style=style).append_text(next(lines)), MARGIN)
        for line in lines:
            self._print(line, MARGIN + digits + 2)

    def numbered_lines(
        self, parts: Iterable[str], style: str = "", *, digits: int = 1, most: int | None = None
    ) -> list[Text]:
        """Return the lines that parts with a number in front have."""
        room = self.room - digits - 2
        wrapped = (self._wrapped(part, style, room) for part in packed(parts, room))
        return [line for lines in wrapped for line in self._cut(lines, most, room)]

    def row(self, text: str) -> None:
        """Print a row of a picture behind the margin; it is never wrapped."""
        self._print(Text(text), MARGIN)

    def verbatim(self, text: str) -> None:
        """Print commands at the left edge, never wrapped: a blank in front of an LDIF line would fold it (RFC 2849)."""
        for line in neutral(text, lines=True, longest=1 << 20).splitlines():
            self._print(Text(line), 0)

    def _cut(self, lines: Iterator[Text], most: int | None, width: int) -> list[Text]:
        """Return at most so many lines, but one; the last one ends in `…` if more follow."""
        shown = list(islice(lines, None if most is None else max(1, most)))
        if next(lines, None) is not None:
            shown[-1].truncate(width - len(CUT))
            shown[-1].append(CUT)
        return shown

    def _wrapped(self, text: str, style: str, width: int) -> Iterator[Text]:
        for line in Text(neutral(text, longest=LONGEST), style=style).wrap(self.console, width) or [Text()]:
            line.rstrip()
            yield line

    def _rows(self, line: str) -> int:
        return max(1, -(-cell_len(line) // self.console.width))

    def _print(self, line: Text, indent: int) -> None:
        self.is_blank = not line.plain
        self.rows += self._rows(" " * indent + line.plain)
        self.console.print(Text(" " * indent).append_text(line), soft_wrap=True)


def packed(parts: Iterable[str], width: int) -> Iterator[str]:
    """Yield lines of parts with dots between, each line as full as may be."""
    line = ""
    for part in map(neutral, parts):
        longer = f"{line} · {part}" if line else part
        if line and cell_len(longer) > width:
            yield line
            line = part
        else:
            line = longer
    yield line


class _Console(Console):
    """A console that raises BrokenPipeError when the reader has closed the stream (head, a pager)."""

    def on_broken_pipe(self) -> None:
        """Raise the error again: rich would exit the program with code 1."""
        raise BrokenPipeError  # it is called where one is handled


def page_for(stream: TextIO, color: Color = Color.AUTO) -> Page:
    """Return a page for a stream. FORCE_COLOR is about standard output: without --color, a file has no colours."""
    if color is Color.AUTO and stream is not sys.stdout:
        color = Color.NEVER
    console = _Console(file=stream, highlight=False, markup=False, emoji=False, **console_settings(color))
    console.width = min(console.width if stream.isatty() else _columns(), WIDEST)
    return Page(console, console.height if stream.isatty() else None)


def _columns() -> int:
    """Return the columns of a report that no terminal shows: those of the variable COLUMNS, or 100."""
    asked = os.environ.get("COLUMNS", "")
    return max(int(asked), MARGIN + NARROWEST) if asked.isdecimal() and len(asked) < 5 else PIPED
