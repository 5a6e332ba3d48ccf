"""IndexExplanations: OpenDJ's own explanations of how its indexes answer filters.

A search for the attribute debugsearchindex returns the result of the index lookups in place of entries:

    dn: cn=debugsearch
    debugsearchindex: filter=(&(uid=user1)[INDEX:uid.equality][COUNT:1])[COUNT:1] final=[COUNT:1]

It contains only the lookups that were made: an AND stops when few candidates remain, an OR at the first unindexed part.
With the index filter analyzer on, the monitor entry of a backend counts the assertions in clients' searches:

    filter-use: (displayName=*joe*) hits:2 maxmatches:-1 message:substring index type is disabled for the displayName …

Source: opendj-server-legacy, backends/pluggable/IndexFilter.java, AttributeIndex.java, BackendMonitor.java; 4.10.1.
ForgeRock DS 7 and PingDS answer in JSON and PingDirectory in sentences; neither is read.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.evidence.ldif import whole_number
from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

DEBUG, USE = "debugsearchindex", "filter-use"
MARK = r"\[(?:INDEX:[^\]\[]{0,300}|COUNT:\d{1,18}|NOT-INDEXED|LIMIT-EXCEEDED(?::\d{1,18})?)\]"
MARKS = pattern(rf"(?:{MARK})+")
EXPLANATION = pattern(
    rf"filter=(?P<filter>\(.*\))(?P<of_filter>(?:{MARK})+?)(?: scope=(?P<scope>\w+)(?P<of_scope>(?:{MARK})+))?"
    rf" final=(?P<final>(?:{MARK})+)",
    re.DOTALL,
)
PART = pattern(rf"(?P<text>\((?![&|])(?:!\()?[^()]*\)\)?)(?P<marks>(?:{MARK})+)")
"""An assertion, or its negation, and the result of its index."""
USED = pattern(
    r"(?P<filter>\(.*\)) hits:(?P<hits>\d{1,18}) maxmatches:(?P<most>-?\d{1,18}) message:(?P<message>.*)", re.DOTALL
)
LONGEST = 1 << 14
MOST = 10_000


class Outcome(StrEnum):
    """The result of an index lookup."""

    CANDIDATES = "candidates"
    NOT_INDEXED = "not-indexed"
    LIMIT_EXCEEDED = "limit-exceeded"
    NOT_BUILT = "not-built"


REASONS = (
    ("exceeded the index entry limit", Outcome.LIMIT_EXCEEDED),
    ("needs to be rebuilt", Outcome.NOT_BUILT),
    ("is disabled for", Outcome.NOT_INDEXED),
)
"""Parts of the messages of filter-use. Several messages may follow each other without a blank: the first one is of the
first index that was looked up, the others of its substitutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexAnswer:
    """The result of the index lookups for a filter, a part of it, or a scope."""

    outcome: Outcome
    entries: int | None = None
    """Number of candidates; None unless the outcome is CANDIDATES."""
    index: str = ""
    """The last index that was looked up, as `uid.equality`; empty: the attribute has no index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionAnswer:
    """One assertion, and the result of its index lookup."""

    text: str
    answer: IndexAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One value of debugsearchindex."""

    filter: str
    """The parts that were looked up, in the server's order."""
    parts: tuple[AssertionAnswer, ...]
    of_filter: IndexAnswer
    """The result for the filter."""
    scope: str = ""
    """sub, one, …; empty: the scope was not looked up, because the filter left few candidates."""
    of_scope: IndexAnswer | None = None
    final: IndexAnswer
    """NOT_INDEXED: all entries in scope are scanned, or the search is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterUse:
    """An assertion in clients' searches, and the result of its index."""

    filter: str
    hits: int
    answer: IndexAnswer
    """Its `entries` is the largest number of matches so far."""
    message: str
    """The server's reason why no index was used; empty if one was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexExplanations:
    """OpenDJ's explanations of index lookups, from one text."""

    kind: ClassVar[str] = "index-explanations"
    how: ClassVar[str] = "OpenDJ: ldapsearch … -b dc=example,dc=com '(displayName=*joe*)' debugsearchindex > why.ldif"

    origin: Origin
    explanations: tuple[Explanation, ...] = ()
    uses: tuple[FilterUse, ...] = ()


class OpendjExplanations:
    """Makes IndexExplanations from the values of debugsearchindex and filter-use."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.explanations: list[Explanation] = []
        self.uses: dict[str, FilterUse] = {}
        """By filter; of repeated ones the last counts."""

    def take(self, entry: Entry) -> None:
        """Read the values of debugsearchindex, or the filters counted by a backend."""
        for value in entry.values(DEBUG):
            found = explanation(value)
            if found is None:
                self.document.note("A value of debugsearchindex is not in OpenDJ's format, and was not read.")
            elif len(self.explanations) < MOST:
                self.explanations.append(found)
        for value in entry.values(USE):
            used = filter_use(value)
            if used is not None and len(self.uses) < MOST:
                self.uses[used.filter] = used

    def facts(self) -> Iterator[IndexExplanations]:
        """Return the explanations, if there are any."""
        if self.explanations or self.uses:
            yield IndexExplanations(
                origin=self.document.origin(),
                explanations=tuple(self.explanations),
                uses=tuple(self.uses.values()),
            )


def explanation(value: str) -> Explanation | None:
    """Return the explanation in a value of debugsearchindex; None if it is in another format."""
    found = EXPLANATION.fullmatch(value) if len(value) <= LONGEST else None
    if found is None:
        return None
    # The marks of a single assertion are also those of the filter; the marks of a set follow its last parenthesis.
    marked = found["filter"] + found["of_filter"]
    parts = tuple(AssertionAnswer(text=part["text"], answer=_answer(part["marks"])) for part in PART.finditer(marked))
    return Explanation(
        filter=_unmarked(found["filter"]),
        parts=parts,
        of_filter=_answer(found["of_filter"]),
        scope=found["scope"] or "",
        of_scope=_answer(found["of_scope"]) if found["scope"] else None,
        final=_answer(found["final"]),
    )


def filter_use(value: str) -> FilterUse | None:
    """Return the content of a value of filter-use; None if it is in another format."""
    found = USED.fullmatch(value) if len(value) <= LONGEST else None
    most = whole_number(found["most"]) if found else None
    if found is None or most is None:
        return None
    message = found["message"]
    reasons = [(message.index(part), outcome) for part, outcome in REASONS if part in message]
    reason = min(reasons, key=lambda one: one[0])[1] if reasons else Outcome.NOT_INDEXED
    answer = IndexAnswer(outcome=Outcome.CANDIDATES, entries=most) if most >= 0 else IndexAnswer(outcome=reason)
    return FilterUse(filter=found["filter"], hits=int(found["hits"]), answer=answer, message=message)


def _unmarked(marked: str) -> str:
    """Return a filter without its marks: they follow parentheses, which are escaped within values."""
    return re.sub(rf"(?<=\)){MARKS.pattern}", "", marked)


def _answer(marks: str) -> IndexAnswer:
    """Return the result in a sequence of marks: the last mark is the outcome, the last INDEX the index used."""
    all_marks = re.findall(MARK, marks)
    index = next((mark[7:-1] for mark in reversed(all_marks) if mark.startswith("[INDEX:")), "")
    last = all_marks[-1][1:-1]
    if last.startswith("COUNT:"):
        return IndexAnswer(outcome=Outcome.CANDIDATES, entries=int(last.removeprefix("COUNT:")), index=index)
    exceeded = last.startswith("LIMIT-EXCEEDED")
    return IndexAnswer(outcome=Outcome.LIMIT_EXCEEDED if exceeded else Outcome.NOT_INDEXED, index=index)
