"""Output on a terminal whose character set lacks some characters of the report."""

from __future__ import annotations

import codecs
from io import TextIOWrapper
from typing import TextIO

PLAIN = {"━": "=", "╸": "-", "·": "-", "…": "~", "×": "x", "→": ">", "≥": ">=", "≤": "<="} | {  # noqa: RUF001, RUF100  look-alikes are the point
    "╍": "#",
    "┄": ".",
    "╌": "-",
    "│": "|",
    **dict(zip("▁▂▃▄▅▆▇█", "_.:-=+*#", strict=True)),
}
"""Replacements for characters of the report that an encoding lacks; of equal width where columns depend on it."""

HANDLER = "ldapdiag.plain"


def plainly(error: UnicodeError) -> tuple[str, int]:
    r"""Replace what an encoding lacks: characters of the report by a look-alike, any other by \\x.. or \\u...."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    spelled = (PLAIN.get(one) or one.encode("ascii", "backslashreplace").decode() for one in missing)
    return "".join(spelled), error.end


def make_encodable(stream: TextIO) -> None:
    """Make a stream accept every character of a report, whatever its encoding."""
    codecs.register_error(HANDLER, plainly)
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors=HANDLER)
