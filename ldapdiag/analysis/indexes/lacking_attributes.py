"""Lacking attributes: those that a server's schema lacks, by its notes in the log, where its schema is not in evidence.

    notes=F   (nosuchthing=?)               no known schema has it: it is the one
    notes=F   (|(uid=?)(nosuchthing=?))     uid is known, so it is the other one
              (costCenter=?)                no known schema has it either, but a search for it has no such note

An index of such an attribute answers nothing: the next audit, with the schema, would call it harmful.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import assertions, parse_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ldapdiag.analysis.log.searches import SearchGroup

NOTED = "the server notes that its schema lacks the attribute"
NOTED_OF_SEVERAL = "the server notes that its schema lacks an attribute of the filter, perhaps this one"


def lacking_attributes(searches: Iterable[SearchGroup], is_defined: Callable[[str], bool], note: str) -> dict[str, str]:
    """Return the attributes that a server does not have, in lower case, and why as a clause; `note`: of such searches.

    Of several in one filter that no known schema has, all count: one of them is lacking, and which is not known.
    """
    known, suspected = set[str](), list[set[str]]()
    for search in searches if note else ():
        tree = parse_shape(search.shape)
        names = {one.attribute for one in assertions(tree)} - {""} if tree is not None else set[str]()
        unknown = {name for name in names if not is_defined(name)}
        if any(note in notes.split(",") for notes in search.notes):
            suspected.append(unknown)
        elif search.answered:
            known |= unknown
    lacking: dict[str, str] = {}
    for names in sorted((one - known for one in suspected), key=len, reverse=True):
        lacking.update(dict.fromkeys(names, NOTED if len(names) == 1 else NOTED_OF_SEVERAL))
    return lacking
