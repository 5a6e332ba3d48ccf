"""InternalSearch: a search that a plug-in or an overlay makes the server send to itself."""

from __future__ import annotations

from ldapdiag.lazy_dataclass import dataclass

EVERY_ATTRIBUTE = "*"
"""In place of an attribute: it searches for each attribute that an entry has, but for a few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalSearch:
    """The attribute that a plug-in or an overlay searches for. Access logs rarely contain such a search."""

    attribute: str
    """As written."""
    by: str
    """The plug-in or overlay."""
    bases: tuple[str, ...] = ()
    """The DNs below which it searches, as configured; empty: every suffix, or not known."""
    ordered: bool = False
    """It searches for a range of numbers."""
    frequent: bool = False
    """It is part of ordinary operations, with each change or bind, so it needs an index."""
