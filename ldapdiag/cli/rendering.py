"""The report of a command in every format: text from the facts, all others from the report object."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ldapdiag.cli.destinations import ReportFormat

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from ldapdiag.report.tables.table import TableColumns


def writer(
    document: Callable[[], dict[str, Any]],
    text: Callable[[TextIO], None],
    json: Callable[[dict[str, Any]], str],
    table: TableColumns,
) -> Callable[[ReportFormat, TextIO], None]:
    """Return a function that writes a report in a format; of CSV the table. All are made from one report object."""
    document = cache(document)

    def write(form: ReportFormat, stream: TextIO) -> None:
        match form:
            case ReportFormat.TEXT:
                text(stream)
            case ReportFormat.JSON:
                stream.write(json(document()))
            case ReportFormat.MARKDOWN:
                from ldapdiag.report.markdown import page  # noqa: PLC0415  import late

                stream.write(page.render(document()))
            case ReportFormat.CSV:
                from ldapdiag.report import as_csv  # noqa: PLC0415  import late

                stream.write(as_csv.render(document(), table))
            case ReportFormat.HTML:
                from ldapdiag.report.html import page as html_page  # noqa: PLC0415  import late, with jinja2

                stream.write(html_page.render(document()))

    return write
