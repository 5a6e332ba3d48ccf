"""Encodable: a report on a terminal whose character set is older than its bars."""

from __future__ import annotations

import codecs
from io import TextIOWrapper
from typing import TextIO

PLAIN = {"━": "=", "╸": "-", "·": "-", "…": "~", "×": "x", "→": ">", "≥": ">=", "≤": "<="}  # noqa: RUF001, RUF100  look-alikes are the point
"""What stands for a character of ours that a terminal's encoding lacks; as wide, where columns depend on it."""

HANDLER = "ldapdiag.plain"


def plainly(error: UnicodeError) -> tuple[str, int]:
    r"""Spell what an encoding lacks: our own characters by a look-alike, any other as \\x.. or \\u...."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    spelled = (PLAIN.get(one) or one.encode("ascii", "backslashreplace").decode() for one in missing)
    return "".join(spelled), error.end


def make_encodable(stream: TextIO) -> None:
    """Let a stream write every character of a report, whatever its encoding."""
    codecs.register_error(HANDLER, plainly)
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors=HANDLER)
