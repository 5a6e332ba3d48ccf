"""Numbers and nouns in sentences for people: 1,234,567; 1 host, 2 hosts."""

from __future__ import annotations


def number(value: float) -> str:
    """Return a number with a comma after every three digits: 1,234,567."""
    return f"{value:,}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun, in the singular or the plural: `1 host`, `1,234 hosts`, `2 entries`."""
    return f"{number(count)} {noun if count == 1 else plural or noun + 's'}"
