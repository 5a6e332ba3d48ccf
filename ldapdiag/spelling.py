"""The name that a misspelt one probably stands for."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LIKENESS = 0.65
"""Ratio of difflib from which two names are alike: one letter of three may differ, and several of a long name."""


def nearest(name: str, known: Iterable[str], *, most: int = 1) -> list[str]:
    """Return the known names that begin so, the shortest first, then those most like this one."""
    every = list(known)
    begins = [one for one in sorted(every, key=len) if one.startswith(name)] if len(name.lstrip("-")) > 1 else []
    return list(dict.fromkeys([*begins, *get_close_matches(name, every, n=most, cutoff=LIKENESS)]))[:most]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the question whether the nearest known name was meant, after a blank; empty where none is like it."""
    return "".join(f" Did you mean {one!r}?" for one in nearest(name, known))
