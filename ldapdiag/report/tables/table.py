r"""A table of a report: where its rows are in the report object, and which of their values are columns.

A table of a report as CSV (RFC 4180) that no spreadsheet takes for formulas.

A spreadsheet computes a cell that begins with = + - @, also after blanks, and a semicolon begins a cell where the
country's separator is one. There text gets a single quotation mark before it, which spreadsheets do not show
(https://owasp.org/www-community/attacks/CSV_Injection). Numbers are written as they are. Characters that control a
terminal, tabs and line breaks among them, are written as \xNN: a file is also read with cat.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

from ldapdiag.report.neutral import neutral

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Plain = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Rows of a report object, and the paths of their columns: `worst.time` is the column `worst_time`."""

    rows: Callable[[Plain], Iterable[Plain]]
    paths: str
    """Separated by blanks."""

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return self.paths.replace(".", "_").split()

    def values(self, document: Plain) -> Iterator[list[Any]]:
        """Yield the values of each row; what a row does not have is None."""
        paths = self.paths.split()
        for row in self.rows(document):
            yield [_at(row, path) for path in paths]


def _at(row: Any, path: str) -> Any:  # noqa: ANN401  plain values
    for key in path.split("."):
        row = row.get(key) if isinstance(row, dict) else None
    return row


def rows_at(path: str) -> Callable[[Plain], Iterable[Plain]]:
    """Return a function that finds the rows of a table in a report object."""
    return lambda document: _at(document, path) or ()


def rows_within(path: str, key: str) -> Callable[[Plain], Iterable[Plain]]:
    """Return a function that finds the rows below those of a table, with the values of the outer row."""

    def rows(document: Plain) -> Iterator[Plain]:
        for row in _at(document, path) or ():
            for inner in row[key]:
                yield row | inner

    return rows


FORMULA = re.compile(r"(^|;)(\s*)(?=[=+@-]|[\uff1d\uff0b\uff20\uff0d])")
"""Where a cell would begin with a sign of formulas, or with its full-width form."""


def render(document: Mapping[str, Any], table: TableColumns) -> str:
    """Return one table of a report object, with a header line."""
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(table.columns)
    writer.writerows([_cell(value) for value in row] for row in table.values(document))
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
