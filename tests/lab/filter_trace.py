"""What slapd 2.5 says at the levels `stats` and `filter`: which candidates it found for each part of a filter.

=> mdb_filter_candidates            a part begins
        EQUALITY                    its kind; a part that could not be evaluated has none
<= mdb_equality_candidates: (title) not indexed
<= mdb_filter_candidates: id=-1 first=1 last=2004       id is the number of candidates; -1 is a range, or all
=> test_filter                      an entry is looked at, part by part
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LINE = re.compile(r"[0-9a-f]+\.[0-9a-f]+ (0x[0-9a-f]+) (.*)", re.DOTALL)
SEARCH = re.compile(r'conn=(\d+) op=(\d+) SRCH base="(.*)" scope=(\d) deref=\d filter="(.*)"')
RESULT = re.compile(r"conn=(\d+) op=(\d+) SEARCH RESULT tag=101 err=(\d+) .*nentries=(\d+)")
FOUND = re.compile(r"<= mdb_filter_candidates: id=(-?\d+) first=(\d+) last=(\d+)")
NOT_INDEXED = re.compile(r"<= mdb_\w+_candidates: \(.*\) not indexed")
SCOPES = ("base", "one", "sub", "subordinate")


@dataclass
class Part:
    """What slapd found for a part of a filter."""

    kind: str = ""
    parts: list[Part] = field(default_factory=list)
    candidates: int = 0
    """-1: all of a range."""
    not_indexed: bool = False

    @property
    def is_all(self) -> bool:
        return self.candidates < 0


@dataclass
class Traced:
    """One search."""

    conn: int
    op: int
    base: str
    scope: str
    filter: str
    """As slapd writes it, with a question mark before what it could not evaluate."""
    found: Part | None = None
    """None: it asked no index."""
    examined: int = 0
    """Entries looked at."""
    err: int = -1
    nentries: int = 0


def traced(lines: Iterable[str]) -> Iterator[Traced]:
    """Yield the searches of a log, each when its result is told."""
    at_work: dict[str, tuple[Traced, list[Part], list[int]]] = {}
    for line in lines:
        read = LINE.fullmatch(line)
        if read is None:
            continue
        thread, text = read.groups()
        if search := SEARCH.fullmatch(text):
            at_work[thread] = (
                Traced(int(search[1]), int(search[2]), search[3], SCOPES[int(search[4])], search[5]),
                [],
                [0],
            )
        elif thread not in at_work:
            continue
        elif result := RESULT.match(text):
            one = at_work.pop(thread)[0]
            one.err, one.nentries = int(result[3]), int(result[4])
            yield one
        else:
            _take(text, *at_work[thread])


def _take(text: str, search: Traced, open_parts: list[Part], depth: list[int]) -> None:
    if text == "=> mdb_filter_candidates":
        open_parts.append(Part())
    elif found := FOUND.fullmatch(text):
        part = open_parts.pop()
        part.candidates = int(found[1])
        if open_parts:
            open_parts[-1].parts.append(part)
        else:
            search.found = part
    elif NOT_INDEXED.fullmatch(text):
        open_parts[-1].not_indexed = True
    elif text.startswith("\t") and open_parts and not open_parts[-1].kind:
        open_parts[-1].kind = text.strip()
    elif text == "=> test_filter":
        search.examined += depth[0] == 0
        depth[0] += 1
    elif text.startswith("<= test_filter "):
        depth[0] -= 1
