"""The page: labels in the margin, text wrapped behind it, commands at the left edge.

Without colours it is text alone, and rich, which takes as long to import as a small log to read, has no part in it.
"""

from __future__ import annotations

import os
import sys
from itertools import islice
from typing import TYPE_CHECKING, TextIO

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.report.color import Color, console_settings, may_color
from ldapdiag.report.neutral import cell_len, chop_cells, neutral, set_cell_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

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
WORD = pattern(r"\s*\S+\s*")
"""With the blanks around it."""


@dataclass(slots=True)
class Page:
    """A stream to print a report on. All text is neutralised first."""

    stream: TextIO
    width: int
    height: int | None = None
    """Rows of the terminal; None: no terminal shows it."""
    console: Console | None = None
    """Prints in colours; None: the text alone is written."""
    rows: int = 0
    """Rows printed so far; a line that is wider than the terminal has several."""
    is_blank: bool = False
    """The last line is empty."""

    @property
    def room(self) -> int:
        """Return the columns behind the margin."""
        return max(NARROWEST, self.width - MARGIN)

    def blank(self) -> None:
        """Print an empty line, unless the last one is empty."""
        if not self.is_blank:
            self._print(0)

    def line(self, parts: Iterable[str], style: str = "") -> None:
        """Print parts at the left edge, with dots between; no part is broken that fits on a line."""
        for one in packed(parts, self.room + MARGIN):
            for line in _wrapped(one, self.room + MARGIN):
                self._print(0, (line, style))

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
        if len(shown) >= MARGIN:
            self._print(0, (shown, style))
            shown = ""
        first, *rest = _cut(_wrapped(text, self.room), most, self.room)
        self._print(0, (shown, style), (" " * (MARGIN - len(shown)), ""), (first, text_style))
        for one in rest:
            self._print(MARGIN, (one, text_style))

    def listed(self, label: str, texts: Iterable[str], style: str, text_style: str = "") -> None:
        """Print several texts, the first one with the label."""
        for number, text in enumerate(texts):
            self.labelled("" if number else label, text, style, text_style)

    def indented(self, text: str, style: str = "", *, deeper: int = 0, most: int | None = None) -> None:
        """Print a text behind the margin, and `deeper` columns more, wrapped there; more than `most` lines are cut."""
        for one in _cut(_wrapped(text, self.room - deeper), most, self.room - deeper):
            self._print(MARGIN + deeper, (one, style))

    def lines_of(self, text: str, *, deeper: int = 0) -> int:
        """Return how many lines a text has behind the margin."""
        return sum(1 for _ in _wrapped(text, self.room - deeper))

    def rows_of(self, text: str) -> int:
        """Return how many rows of the terminal commands take up."""
        return sum(self._rows(neutral(line, longest=1 << 20)) for line in text.splitlines())

    def numbered(
        self, number: int | str, parts: Iterable[str], style: str = "", *, digits: int = 1, most: int | None = None
    ) -> None:
        """Print parts behind the margin with their number, or a word, in front; no part is broken that fits on a line.

        Of parts that share no line with another, `most` lines are printed of each.
        """
        first, *rest = self.numbered_lines(parts, digits=digits, most=most)
        self._print(MARGIN, (f"{number:>{digits}}".ljust(digits + 2), style), (first, style))
        for line in rest:
            self._print(MARGIN + digits + 2, (line, style))

    def numbered_lines(self, parts: Iterable[str], *, digits: int = 1, most: int | None = None) -> list[str]:
        """Return the lines that parts with a number in front have."""
        room = self.room - digits - 2
        return [line for part in packed(parts, room) for line in _cut(_wrapped(part, room), most, room)]

    def row(self, text: str) -> None:
        """Print a row of a picture behind the margin; it is never wrapped."""
        self._print(MARGIN, (text, ""))

    def verbatim(self, text: str) -> None:
        """Print commands at the left edge, never wrapped: a blank in front of an LDIF line would fold it (RFC 2849)."""
        for line in neutral(text, lines=True, longest=1 << 20).splitlines():
            self._print(0, (line, ""))

    def _rows(self, line: str) -> int:
        return max(1, -(-cell_len(line) // self.width))

    def _print(self, indent: int, *parts: tuple[str, str]) -> None:
        """Print a line of parts with their styles."""
        line = " " * indent + "".join(text for text, _ in parts)
        self.is_blank = not any(text for text, _ in parts)
        self.rows += self._rows(line)
        if self.console is None:
            self.stream.write(f"{line}\n")
            return
        from rich.text import Text  # noqa: PLC0415  import late

        self.console.print(Text.assemble(" " * indent, *parts), soft_wrap=True)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text; only a word that is wider than a line is broken."""
    line, room = "", width
    for word in WORD.findall(neutral(text, longest=LONGEST)):
        needed = cell_len(word.rstrip())
        for piece in [word] if needed <= width else chop_cells(word, width):
            if line and needed > room:
                yield line.rstrip()
                line, room = "", width
            line += piece
            room -= cell_len(piece)
    yield line.rstrip()


def _cut(lines: Iterator[str], most: int | None, width: int) -> list[str]:
    """Return at most so many lines, but one; the last one ends in `…` if more follow."""
    shown = list(islice(lines, None if most is None else max(1, most)))
    if next(lines, None) is not None:
        last = shown[-1]
        shown[-1] = (last if cell_len(last) < width else set_cell_size(last, width - len(CUT))) + CUT
    return shown


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


def page_for(stream: TextIO, color: Color = Color.AUTO) -> Page:
    """Return a page for a stream. FORCE_COLOR is about standard output: without --color, a file has no colours."""
    if color is Color.AUTO and stream is not sys.stdout:
        color = Color.NEVER
    is_terminal = stream.isatty()
    if not is_terminal and not may_color(color):
        return Page(stream, _columns())
    console = _console(stream, color)
    width = min(console.width, WIDEST) if is_terminal else _columns()
    return Page(stream, width, console.height if is_terminal else None, console)


def _console(stream: TextIO, color: Color) -> Console:
    from rich.console import Console  # noqa: PLC0415  import late

    class Raising(Console):
        def on_broken_pipe(self) -> None:  # of head, or a pager; rich would exit the program with code 1
            raise BrokenPipeError  # it is called where one is handled

    return Raising(file=stream, highlight=False, markup=False, emoji=False, **console_settings(color))


def _columns() -> int:
    """Return the columns of a report that no terminal shows: those of the variable COLUMNS, or 100."""
    asked = os.environ.get("COLUMNS", "")
    is_number = asked.isdecimal() and len(asked) < 5
    return min(max(int(asked), MARGIN + NARROWEST), WIDEST) if is_number else PIPED
