"""The probe of the indexes of one server (`--probe-answers`), as ldapdiag writes it: counts, never values.

    ldapdiag-answers 1
    index: userRoot employeeNumber 8 0
    index: userRoot uidNumber 8 8 (uidNumber=@) (uidNumber>=@)
    index: %7B1%7Dmdb mail 0 0                                  (no entry with a usable value was found)

Database (percent-encoded), attribute, entries compared, entries not found, and the filters that did not find them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.index_answers import IndexAnswers, ProbedIndex
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ldapdiag.evidence.document import Document

FIRST = "ldapdiag-answers 1"
FILTER = r"\([\w.;:-]{1,255}(?:[<>~:]?=)[@*]{1,3}\)"
INDEX = pattern(
    rf"index: (?P<backend>[\w.%~-]{{1,300}}) (?P<attribute>[\w.;-]{{1,128}}) (?P<samples>\d{{1,6}}) "
    rf"(?P<missing>\d{{1,6}})(?P<filters>(?: {FILTER}){{0,20}})",
    re.ASCII,
)
MOST_INDEXES = 10_000


def recognises(head: Head) -> bool:
    """Recognise the file by its first line."""
    return head.lines[:1] == (FIRST,)


def read(document: Document) -> Iterator[IndexAnswers]:
    """Read the probe."""
    probed: list[ProbedIndex] = []
    for line in document.lines:
        found = INDEX.fullmatch(line)
        if found and len(probed) < MOST_INDEXES and int(found["missing"]) <= int(found["samples"]):
            probed.append(
                ProbedIndex(
                    backend=unquote(found["backend"]),
                    attribute=found["attribute"],
                    samples=int(found["samples"]),
                    missing=int(found["missing"]),
                    filters=tuple(found["filters"].split()),
                )
            )
        elif line != FIRST and line.strip():
            document.misread(line)
    yield IndexAnswers(origin=document.origin(), indexes=tuple(probed))


def as_text(probed: Iterable[ProbedIndex]) -> str:
    """Return the file of a probe."""
    lines = (
        f"index: {quote(one.backend, safe='')} {one.attribute} {one.samples} {one.missing} {' '.join(one.filters)}"
        for one in probed
    )
    return "\n".join([FIRST, *(line.rstrip() for line in lines), ""])


FORMAT = Format(name="index-answers", title="a probe of indexes by ldapdiag", recognises=recognises, read=read)
