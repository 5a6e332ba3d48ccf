"""What a server itself searches for, as a test compares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.indexes.internal_search import InternalSearch


def searched_by(searches: Iterable[InternalSearch]) -> dict[str, str]:
    """Return the attributes searched for, in lower case, and what searches for each."""
    by: dict[str, dict[str, None]] = {}
    for one in searches:
        by.setdefault(one.attribute.lower(), {})[one.by] = None
    return {attribute: ", ".join(several) for attribute, several in by.items()}
