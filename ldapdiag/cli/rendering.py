"""The report of a command in every format, each made of the report object."""

from __future__ import annotations

import os
import re
import sys
from datetime import UTC, datetime
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ldapdiag.cli.destinations import ReportFormat
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TextIO

    from ldapdiag.report.table import Table


SECRETS = ((pattern(r"//([^/@:\s]*):\S*@"), r"//\1:***@"), (pattern(r"(://[^?\s]*\?).*", re.DOTALL), r"\1***"))
"""Of addresses: the password of a user, and what follows a question mark (signed addresses of objects)."""


def shell_words(arguments: Iterable[str]) -> str:
    """Return arguments as they can be pasted into a shell, without the secrets of addresses. No option takes any."""
    for secret, shown in SECRETS:
        arguments = [secret.sub(shown, argument) for argument in arguments]
    return " ".join(map(_word, arguments))


def _word(argument: str) -> str:
    """Return an argument quoted; where it cannot be printed its bytes in octal, as bash reads them in $'...'."""
    if argument.isprintable():
        import shlex  # noqa: PLC0415  import late

        return shlex.quote(argument)
    octal = (f"\\{one:03o}" if one in b"\\'" or not 32 <= one < 127 else chr(one) for one in os.fsencode(argument))
    return f"$'{''.join(octal)}'"


def made() -> str:
    """Return when a report was made, and by which command: the bytes of JSON depend on the evidence alone."""
    return f"Made {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC by: {shell_words(['ldapdiag', *sys.argv[1:]])}"


def writer(
    document: Callable[[], Mapping[str, Any]],
    text: Callable[[Mapping[str, Any], TextIO], None],
    json: Callable[[Mapping[str, Any]], str],
    table: Table,
    others: Mapping[ReportFormat, Callable[[Mapping[str, Any]], str]] = MappingProxyType({}),
) -> Callable[[ReportFormat, TextIO], None]:
    """Return a function that writes a report in a format; of CSV the table. All are made from one report object.

    `others`: formats that this report alone has.
    """
    document = cache(document)

    def write(form: ReportFormat, stream: TextIO) -> None:
        match form:
            case ReportFormat.TEXT:
                text(document(), stream)
            case ReportFormat.JSON:
                stream.write(json(document()))
            case ReportFormat.MARKDOWN:
                from ldapdiag.report.markdown import page  # noqa: PLC0415  import late

                stream.write(page.render(document(), made()))
            case ReportFormat.CSV:
                from ldapdiag.report import table as as_csv  # noqa: PLC0415  import late

                stream.write(as_csv.render(document(), table))
            case ReportFormat.HTML:
                from ldapdiag.report.html import page as html_page  # noqa: PLC0415  import late, with jinja2

                stream.write(html_page.render(document(), made()))
            case _:
                stream.write(others[form](document()))

    return write
