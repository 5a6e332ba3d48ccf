"""IndexAnswers: whether the indexes of a live server find entries that have the value; values are not kept."""

from __future__ import annotations

from typing import ClassVar

from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedIndex:
    """The probe of the indexes of one attribute in one database."""

    backend: str
    attribute: str
    samples: int
    """Entries that have the attribute, spread over the database."""
    missing: int
    """Of these, entries that a search of the subtree does not find, although they match the filter by themselves."""
    filters: tuple[str, ...] = ()
    """The kinds of filters that did not find them, as in `(sn=@)`; `@` stands for a value of the entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexAnswers:
    """The probe of one directory server."""

    kind: ClassVar[str] = "index-answers"
    how: ClassVar[str] = "ldapdiag indexes ldap://HOST --probe-answers -D DN -W"

    origin: Origin
    indexes: tuple[ProbedIndex, ...]
