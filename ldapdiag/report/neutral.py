"""Text from logs and tables made harmless for a terminal. All text that a client can influence is hostile.

Output on a terminal whose character set lacks some characters of the report. The columns that a text takes up there:
what rich measures, without rich for a text of narrow characters.
"""

from __future__ import annotations

import codecs
from io import TextIOWrapper
from typing import TextIO

DANGEROUS = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories of characters that move the cursor, change direction, hide text, or start a line."""

LONGEST = 400


def neutral(text: str, *, lines: bool = False, longest: int = LONGEST) -> str:
    r"""Return the text with every control, format or unassigned character written as \\x.. or \\u....

    With `lines`, line feeds stay (for our own texts of several lines). Longer text is cut and ends with `…`. Neutral
    text is returned unchanged.
    """
    head = text[: longest + 1]
    shown = head if head.isprintable() else "".join(_shown(character, lines=lines) for character in head)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def _shown(character: str, *, lines: bool) -> str:
    if " " <= character <= "~" or (lines and character == "\n"):
        return character
    import unicodedata  # noqa: PLC0415  import late: most text is ASCII

    if unicodedata.category(character) in DANGEROUS:
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    return character


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


NARROW = frozenset(
    [*map(chr, range(0x20, 0x7F)), *map(chr, range(0x2500, 0x25A0)), *"·×µÄÖÜäöüß–—…→←≤≥"],
)
"""One column each: ASCII, lines and bars of charts, and what sentences have beside."""


def cell_len(text: str) -> int:
    """Return the columns of a text."""
    if NARROW.issuperset(text):
        return len(text)
    from rich import cells  # noqa: PLC0415  import late: few texts have other characters

    return cells.cell_len(text)


def chop_cells(text: str, width: int) -> list[str]:
    """Return a text as pieces of at most as many columns."""
    if NARROW.issuperset(text):
        return [text[at : at + width] for at in range(0, len(text), width)]
    from rich import cells  # noqa: PLC0415  as above

    return cells.chop_cells(text, width)


def set_cell_size(text: str, columns: int) -> str:
    """Return a text cut or filled to as many columns."""
    if NARROW.issuperset(text):
        return text[:columns].ljust(columns)
    from rich import cells  # noqa: PLC0415  as above

    return cells.set_cell_size(text, columns)
