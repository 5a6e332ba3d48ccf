"""Cut text: whether a text ends within a line because the remainder of a file was lost (a full disk, a stopped copy).

Every tool ends its last line with a line break. A text that was pasted may lack it, so that alone proves nothing: the
last line also has to end unlike the others of its kind, to lack the blanks that fill all of them (ss), or not to be
understood.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.origin import Fact

FEWEST = 3
"""Other lines of a kind, below which it is unknown how they end."""

QUOTED = pattern(r'"[^"]*"')
BRACKETED = pattern(r"\[[^]]*\]")
NUMBER = pattern(r"[0-9a-fA-F]*[0-9][0-9a-fA-F]*")
NAME = pattern(r"[\w#@/.-]+")


def is_cut(document: Document, first_lines: Iterable[str]) -> bool:
    """Return whether a text that was read ends within a line, by its first lines."""
    last = document.unfinished
    if not last.strip():
        return False
    kind, is_word = beginning(last), len(last.split()) == 1
    kinds = ((line, beginning(line)) for line in first_lines if line.strip())
    others = [line for line, other in kinds if other == kind or (is_word and kind and other.startswith(kind))]
    if len(others) < FEWEST:
        return False  # the shell's prompt in a pasted session, or a table too short to compare
    lacks_blanks = all(line[-1].isspace() for line in others) and len(last) < min(map(len, others))
    return document.missed_line == document.seen or lacks_blanks or ending(last) not in set(map(ending, others))


def cut_table(fact: Fact) -> Fact:
    """Return a table whose end was lost: what is absent from it proves nothing. Other facts are returned unchanged."""
    note = f"{fact.origin.path} ends within a line: it is truncated, and what is absent from it proves nothing."
    if isinstance(fact, SocketTable):
        return replace(fact, is_cut=True, origin=replace(fact.origin, notes=(*fact.origin.notes, note)))
    if isinstance(fact, FlowTable):
        return replace(fact, whole=False, origin=replace(fact.origin, notes=(*fact.origin.notes, note)))
    return fact


def beginning(line: str) -> str:
    """Return the kind of a line: its first word without numbers (a protocol, a state, an address of a PCB).

    Empty for the details of the line before.
    """
    return "" if line[0].isspace() else NUMBER.sub("#", line.split(maxsplit=1)[0])


def ending(line: str) -> str:
    """Return the form of a line's last word: its keys and punctuation, without numbers, names and addresses."""
    word = NUMBER.sub("#", BRACKETED.sub("[]", QUOTED.sub('""', line.rsplit(maxsplit=1)[-1])))
    return word if ":" in word or "=" in word else NAME.sub("w", word)
