r"""A table of a report: its rows in the document, and its columns for files (CSV), pages (HTML, Markdown) and screens.

A table as CSV (RFC 4180) that no spreadsheet takes for formulas: a spreadsheet computes a cell that begins with
= + - @, also after blanks or a quote, and a semicolon begins a cell where the country's separator is one. There text
gets a single quotation mark before it, which they do not show (https://owasp.org/www-community/attacks/CSV_Injection).
Numbers are written as they are. Characters that control a terminal, tabs and line breaks among them, are written as
\xNN: a file is also read with cat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from io import StringIO
from typing import Any

from ldapdiag.lazy_dataclass import NamedTuple
from ldapdiag.lazy_pattern import pattern
from ldapdiag.report.neutral import neutral
from ldapdiag.wording import duration, number, percent

Plain = Mapping[str, Any]
CSV, HTML, MARKDOWN = "csv", "html", "markdown"
PAGES = (HTML, MARKDOWN)
EVERYWHERE = (CSV, *PAGES)


class Unit(NamedTuple):
    """How a page shows the values of a column; a file has them as they are."""

    words: Callable[[Any], str]
    is_number: bool = True


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {number(count)}" for name, count in counts.items())


def listed(names: Iterable[object], most: int = 0, between: str = ", ") -> str:
    """Return names with commas, and how many there are beyond the most."""
    every = list(map(str, names))
    more = f" and {len(every) - most:,} more" if most and len(every) > most else ""
    return f"{between.join(every[: most or None])}{more}"


def words(of: Callable[[Any], str]) -> Unit:
    """Return the unit of a column that a function puts into words."""
    return Unit(of, is_number=False)


TEXT = words(str)
NAMES = words(listed)
COUNTS = words(_counts)
COUNT, SECONDS, SHARE = Unit(number), Unit(duration), Unit(percent)


class Column(NamedTuple):
    """A column: where its values are in a row, and how pages show them."""

    path: str
    """`worst.time` is the column worst_time of a file; empty: the whole row, for `unit` to put into words."""
    label: str = ""
    unit: Unit = TEXT
    on: tuple[str, ...] = EVERYWHERE

    @property
    def name(self) -> str:
        """Return the name of the column in a file."""
        return self.path.replace(".", "_")

    def words(self, row: Plain) -> str:
        """Return the value of a row for people; what it does not have is empty."""
        value = value_at(row, self.path)
        return "" if value is None else self.unit.words(value)


def only_csv(paths: str) -> Iterator[Column]:
    """Yield columns that files alone have."""
    yield from (Column(path, on=(CSV,)) for path in paths.split())


class Table(NamedTuple):
    """A table of a document, or of each of several objects in it."""

    columns: tuple[Column, ...]
    rows: Callable[[Plain], Iterable[Plain]]
    """Of the document, or of one of the objects."""
    within: str = ""
    """Where the objects are, whose values a file repeats in each row; empty: the document."""
    title: str = ""
    """On pages; it may name values of the object, as in `Volumes of {server}`."""
    most: int = 20
    """Rows of a page in HTML."""
    what: str = "rows are"
    """What they are, with the verb."""

    def every(self, document: Plain) -> Iterator[Plain]:
        """Yield the rows of all objects, with their values."""
        if not self.within:
            yield from self.rows(document)
            return
        for one in value_at(document, self.within) or ():
            yield from (one | row for row in self.rows(one))

    def shown(self, medium: str) -> list[Column]:
        """Return the columns of a medium."""
        return [column for column in self.columns if medium in column.on]

    def cells(self, medium: str, document: Plain) -> tuple[list[Column], list[list[str]]]:
        """Return the columns of a page that a row fills, and the rows in words."""
        columns = self.shown(medium)
        rows = [[column.words(row) for column in columns] for row in self.rows(document)]
        filled = [place for place in range(len(columns)) if any(row[place] for row in rows)]
        return [columns[place] for place in filled], [[row[place] for place in filled] for row in rows]


def _base(row: Plain) -> str:
    return f"{row['base'] or '(root)'} {row['scope']}"


BASE = Column("", "Base", words(_base), PAGES)
"""Where searches begin, and how far they go."""


def value_at(row: Any, path: str) -> Any:  # noqa: ANN401  plain values
    """Return the value at a path of keys; the row itself for none, None where there is no such key."""
    for key in path.split(".") if path else ():
        row = row.get(key) if isinstance(row, dict) else None
    return row


def rows_at(path: str) -> Callable[[Plain], Iterable[Plain]]:
    """Return a function that finds the rows of a table in a document."""
    return lambda document: value_at(document, path) or ()


FORMULA = pattern(r"(^|;)([\s\"]*)(?=[=+@-]|[\uff1d\uff0b\uff20\uff0d])")
"""Where a cell would begin with a sign of formulas, or with its full-width form."""


def render(document: Plain, table: Table) -> str:
    """Return one table of a document as CSV, with a header line."""
    import csv  # noqa: PLC0415  import late

    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    columns = table.shown(CSV)
    writer.writerow([column.name for column in columns])
    writer.writerows([_cell(value_at(row, column.path)) for column in columns] for row in table.every(document))
    return stream.getvalue()


def _cell(value: Any) -> str:  # noqa: ANN401  plain values
    """Return a value as the text of a cell: lists with a semicolon between, null as nothing."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case dict():
            return _text("; ".join(f"{name}: {number}" for name, number in value.items()))
        case list() | tuple():
            return _text("; ".join(map(str, value)))
        case _:
            return _text(str(value))


def _text(text: str) -> str:
    shown = neutral(text.replace("\n", " "), longest=10 * len(text) + 1)
    return FORMULA.sub(r"\1\2'", shown)
