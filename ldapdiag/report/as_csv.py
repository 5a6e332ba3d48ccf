r"""A table of a report as CSV (RFC 4180) that no spreadsheet takes for formulas.

A spreadsheet computes a cell that begins with = + - @, also after blanks, and a semicolon begins a cell where the
country's separator is one. There text gets a single quotation mark before it, which spreadsheets do not show
(https://owasp.org/www-community/attacks/CSV_Injection). Numbers are written as they are. Characters that control a
terminal, tabs and line breaks among them, are written as \xNN: a file is also read with cat.
"""

from __future__ import annotations

import csv
import re
from io import StringIO
from typing import TYPE_CHECKING, Any

from ldapdiag.report.neutral import neutral

if TYPE_CHECKING:
    from ldapdiag.report.tables.table import TableColumns

FORMULA = re.compile(r"(^|;)(\s*)(?=[=+@-]|[\uff1d\uff0b\uff20\uff0d])")
"""Where a cell would begin with a sign of formulas, or with its full-width form."""


def render(document: dict[str, Any], table: TableColumns) -> str:
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
