"""The parts of a page in at most 60 kB: those that fit, and a sentence about what was cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.report.markdown.writing import size
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_BYTES = 60_000
"""Issue trackers refuse a text of more than 65,536 characters."""
SENTENCE = 300
"""Bytes for the sentence about what was cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageEntry:
    """A finding in full, and in one line for where the page has no room."""

    full: str
    short: str


def fitted(head: Sequence[str], entries: Sequence[PageEntry], tail: Sequence[str]) -> str:
    """Return the parts as one text: head and tail whole, of the entries as many as fit, the first ones in full."""
    left = MOST_BYTES - SENTENCE - sum(size(part) + 1 for part in (*head, *tail))
    shown, without_commands, missing = [], 0, 0
    for entry in entries:
        for text in (entry.full, entry.short):
            if size(text) < left:
                left -= size(text) + 1
                shown.append(text)
                without_commands += text is entry.short and text != entry.full
                break
        else:
            missing += 1
    return "\n\n".join([*head, *shown, *_cut(without_commands, missing), *tail]) + "\n"


def _cut(without_commands: int, missing: int) -> list[str]:
    """Return a sentence about findings that are not shown in full."""
    if not without_commands and not missing:
        return []
    short = f"{counted(without_commands, 'finding')} in one line" if without_commands else ""
    absent = f"{counted(missing, 'finding')} left out" if missing else ""
    return [f"Cut to 60 kB: {' and '.join(filter(None, (short, absent)))}. The report as JSON contains all."]
