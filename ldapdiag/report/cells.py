"""Columns of a terminal that a text takes up: what rich measures, without rich for a text of narrow characters."""

from __future__ import annotations

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
