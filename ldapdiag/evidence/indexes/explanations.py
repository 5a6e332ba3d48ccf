"""IndexExplanations: what OpenDJ itself says of how it answers filters.

Asked for the attribute debugsearchindex it does not search, and tells what its indexes gave:

    dn: cn=debugsearch
    debugsearchindex: filter=(&(uid=user1)[INDEX:uid.equality][COUNT:1])[COUNT:1] final=[COUNT:1]

What it did not look up is not in it: an AND ends where few candidates are left, an OR with the first that gives none.
With its index filter analyzer on, the monitor entry of a backend counts assertions that clients really asked:

    filter-use: (displayName=*joe*) hits:2 maxmatches:-1 message:substring index type is disabled for the displayName …

Source: opendj-server-legacy, backends/pluggable/IndexFilter.java, AttributeIndex.java, BackendMonitor.java; 4.10.1.
ForgeRock DS 7 and PingDS answer in JSON and PingDirectory in sentences; neither is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.evidence.ldif import whole_number
from ldapdiag.evidence.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

DEBUG, USE = "debugsearchindex", "filter-use"
MARK = r"\[(?:INDEX:[^\]\[]{0,300}|COUNT:\d{1,18}|NOT-INDEXED|LIMIT-EXCEEDED(?::\d{1,18})?)\]"
MARKS = re.compile(rf"(?:{MARK})+")
EXPLANATION = re.compile(
    rf"filter=(?P<filter>\(.*\)(?:{MARK})+?)(?: scope=(?P<scope>\w+)(?P<of_scope>(?:{MARK})+))?"
    rf" final=(?P<final>(?:{MARK})+)",
    re.DOTALL,
)
PART = re.compile(rf"(?P<text>\((?![&|])(?:!\()?[^()]*\)\)?)(?P<marks>(?:{MARK})+)")
"""An assertion, or a negation of one, and what its index gave."""
USED = re.compile(
    r"(?P<filter>\(.*\)) hits:(?P<hits>\d{1,18}) maxmatches:(?P<most>-?\d{1,18}) message:(?P<message>.*)", re.DOTALL
)
LONGEST = 1 << 14
MOST = 10_000


class Outcome(StrEnum):
    """What an index gave."""

    CANDIDATES = "candidates"
    NOT_INDEXED = "not-indexed"
    LIMIT_EXCEEDED = "limit-exceeded"
    NOT_BUILT = "not-built"


REASONS = (
    ("exceeded the index entry limit", Outcome.LIMIT_EXCEEDED),
    ("needs to be rebuilt", Outcome.NOT_BUILT),
    ("is disabled for", Outcome.NOT_INDEXED),
)
"""Parts of the messages of filter-use. Several may follow each other, without a blank: the first is of the index asked
first, and the others of those asked in its stead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexAnswer:
    """What the indexes gave for a filter, a part of it, or a scope."""

    outcome: Outcome
    entries: int | None = None
    """Candidates, where there are."""
    index: str = ""
    """`uid.equality`: the last one that was asked; empty where the attribute has none at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionAnswer:
    """One assertion, and what its index gave."""

    text: str
    answer: IndexAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One answer to debugsearchindex."""

    filter: str
    """As far as it was looked up, in the server's own order."""
    parts: tuple[AssertionAnswer, ...]
    of_filter: IndexAnswer
    """Of the filter."""
    scope: str = ""
    """sub, one, …; empty where the filter left so few candidates that the scope was not looked up."""
    of_scope: IndexAnswer | None = None
    final: IndexAnswer
    """NOT_INDEXED: every entry in scope is looked at, or the search refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterUse:
    """An assertion that clients asked, and what its index gave."""

    filter: str
    hits: int
    answer: IndexAnswer
    """Its entries are the most it ever matched."""
    message: str
    """The server's reason, where no index answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexExplanations:
    """All that one text tells."""

    kind: ClassVar[str] = "index-explanations"
    how: ClassVar[str] = "OpenDJ: ldapsearch … -b dc=example,dc=com '(displayName=*joe*)' debugsearchindex > why.ldif"

    origin: Origin
    explanations: tuple[Explanation, ...] = ()
    uses: tuple[FilterUse, ...] = ()


class OpendjExplanations:
    """Makes IndexExplanations of the entries that hold them."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.explanations: list[Explanation] = []
        self.uses: dict[str, FilterUse] = {}
        """By filter; the last look holds."""

    def take(self, entry: Entry) -> None:
        """Read an answer to debugsearchindex, or the filters a backend counted."""
        for value in entry.values(DEBUG):
            found = explanation(value)
            if found is None:
                self.document.note("An answer to debugsearchindex is not in the words of OpenDJ, and was not read.")
            elif len(self.explanations) < MOST:
                self.explanations.append(found)
        for value in entry.values(USE):
            used = filter_use(value)
            if used is not None and len(self.uses) < MOST:
                self.uses[used.filter] = used

    def facts(self) -> Iterator[IndexExplanations]:
        """Return them, if there are any."""
        if self.explanations or self.uses:
            yield IndexExplanations(
                origin=self.document.origin(),
                explanations=tuple(self.explanations),
                uses=tuple(self.uses.values()),
            )


def explanation(value: str) -> Explanation | None:
    """Return what one value of debugsearchindex tells; None when it is none."""
    found = EXPLANATION.fullmatch(value) if len(value) <= LONGEST else None
    if found is None:
        return None
    marked = found["filter"]
    parts = tuple(AssertionAnswer(text=part["text"], answer=_answer(part["marks"])) for part in PART.finditer(marked))
    # The marks of a filter that is one assertion are its part's; those of a set stand behind its last parenthesis.
    return Explanation(
        filter=_unmarked(marked),
        parts=parts,
        of_filter=_answer(marked[marked.rindex(")") + 1 :]),
        scope=found["scope"] or "",
        of_scope=_answer(found["of_scope"]) if found["scope"] else None,
        final=_answer(found["final"]),
    )


def filter_use(value: str) -> FilterUse | None:
    """Return what one value of filter-use tells; None when it is none."""
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
    """Return a filter without its marks: they follow a parenthesis, and a value has none that is not escaped."""
    return re.sub(rf"(?<=\)){MARKS.pattern}", "", marked)


def _answer(marks: str) -> IndexAnswer:
    """Return what marks say: the last one is the outcome, the last INDEX the index that gave it."""
    all_marks = re.findall(MARK, marks)
    index = next((mark[7:-1] for mark in reversed(all_marks) if mark.startswith("[INDEX:")), "")
    last = all_marks[-1][1:-1]
    if last.startswith("COUNT:"):
        return IndexAnswer(outcome=Outcome.CANDIDATES, entries=int(last.removeprefix("COUNT:")), index=index)
    exceeded = last.startswith("LIMIT-EXCEEDED")
    return IndexAnswer(outcome=Outcome.LIMIT_EXCEEDED if exceeded else Outcome.NOT_INDEXED, index=index)
