r"""Markdown from hostile text: escaped prose, fenced commands, tables and lists of a limited size.

CommonMark 0.31 ends a fence only at a run of backticks as long as its own, and takes a backslash before ASCII
punctuation for an escape. Trackers look for @names, #numbers and addresses in the text that remains; a word joiner
(U+2060, invisible) within them prevents a mention or a link.

The parts of a page in at most 60 kB: those that fit, and a sentence about what was cut.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.report.neutral import neutral
from ldapdiag.report.table import MARKDOWN, Table
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

MARKUP = pattern(r"[\\`*_\[\]<>|@#&$~^]")
BLOCK = pattern(r"(?=[-+=])|(?<=\d)(?=[.)])")
"""Where a line would begin a list, or underline a heading."""
NUMBERED = pattern(r"\d+[.)](?:\s|$)")
REFERENCE = pattern(r"([@#])(?=\w)|(https?|ftp|mailto|xmpp|www)(?=[:.])", re.IGNORECASE)
JOINER = "\u2060"
BACKTICKS = pattern(r"`+")

LONGEST = 400
"""Characters of one text."""
ROOM = 6_000
"""Bytes of one table, list or command."""
ROWS = 20
"""Rows of a table: a ticket is no place for all of them."""


def prose(text: object, longest: int = LONGEST) -> str:
    """Return text as one line of Markdown that shows exactly these characters, whatever they are."""
    shown = neutral(str(text), longest=longest).strip()
    joined = REFERENCE.sub(lambda found: found[0] + JOINER, shown)
    escaped = MARKUP.sub(lambda found: "\\" + found[0], joined)
    return BLOCK.sub(r"\\", escaped, count=1) if escaped[:1] in {"-", "+", "="} or NUMBERED.match(escaped) else escaped


def fenced(text: str, language: str = "") -> str:
    """Return text as a block of code; the fence is longer than any run of backticks in it."""
    shown = neutral(text, lines=True, longest=10 * len(text) + 1)
    fence = "`" * (max((len(run) for run in BACKTICKS.findall(shown)), default=2) + 1)
    fence = fence if len(fence) > 2 else "```"
    return f"{fence}{language}\n{shown.rstrip(chr(10))}\n{fence}"


def table(header: Sequence[str], rows: Iterable[Sequence[object]], room: int = ROOM) -> str:
    """Return a table of as many rows as fit, and the number of the others."""
    lines = [_row(header), _row(["---"] * len(header), prose_too=False)]
    return _limited(lines, (_row(row) for row in rows), room)


def part(title: str, header: Sequence[str], rows: Iterable[Sequence[object]], room: int = ROOM) -> Iterator[str]:
    """Yield a table with its heading, and the number of rows that it leaves out; nothing without a row."""
    kept = list(rows)
    if kept:
        more = f"\n\nand {len(kept) - ROWS:,} more" if len(kept) > ROWS else ""
        yield f"### {prose(title)}\n\n{table(header, kept[:ROWS], room)}{more}"


def parts(document: Mapping[str, Any], tables: Iterable[Table], room: int = ROOM) -> Iterator[str]:
    """Yield tables of a document that have rows, each with its heading."""
    for of in tables:
        columns, rows = of.cells(MARKDOWN, document)
        yield from part(of.title.format_map(document), [column.label for column in columns], rows, room)


def _row(cells: Sequence[object], *, prose_too: bool = True) -> str:
    return f"| {' | '.join(prose(cell, 200) if prose_too else str(cell) for cell in cells)} |"


def listed(rows: Iterable[str], room: int = ROOM) -> str:
    """Return a list of as many texts as fit, and the number of the others."""
    return _limited([], (f"- {prose(row)}" for row in rows), room)


def _limited(first: list[str], rows: Iterable[str], room: int) -> str:
    left, more = room, 0
    for row in rows:
        left -= size(row)
        if left < 0:
            more += 1
        else:
            first.append(row)
    return "\n".join([*first, *([f"\nand {more:,} more"] if more else [])])


def size(text: str) -> int:
    """Return the bytes of a text and the line feed behind it."""
    return len(text.encode()) + 1


MOST_BYTES = 60_000
"""Issue trackers refuse a text of more than 65,536 characters."""
SENTENCE = 300
"""Bytes for the sentence about what was cut."""
LINE = 200
"""Bytes below which no further line is tried: thousands of findings would be written for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageEntry:
    """A finding in full, and in one line for where the page has no room; each is written when it is asked for."""

    full: Callable[[], str]
    short: Callable[[], str]


def fitted(head: Sequence[str], entries: Iterable[PageEntry], tail: Sequence[str]) -> str:
    """Return the parts as one text: head and tail whole, of the entries as many as fit, the first ones in full."""
    left = MOST_BYTES - SENTENCE - sum(size(part) + 1 for part in (*head, *tail))
    shown, without_commands, missing = [], 0, 0
    for entry in entries:
        for write in (entry.full, entry.short) if left > LINE else ():
            if size(text := write()) < left:
                left -= size(text) + 1
                shown.append(text)
                without_commands += write is entry.short
                break
        else:
            missing += 1
    return "\n\n".join([*head, *shown, *_cut(without_commands, missing), *tail]) + "\n"


def _cut(without_commands: int, missing: int) -> list[str]:
    """Return a sentence about findings that are not shown in full."""
    if not without_commands and not missing:
        return []
    short = f"{counted(without_commands, 'finding')} in one line" if without_commands else ""
    absent = f"{counted(missing, 'finding')} left out" if missing else ""
    return [f"Cut to 60 kB: {' and '.join(filter(None, (short, absent)))}. The report as JSON contains all."]
