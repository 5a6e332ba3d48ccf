"""RefusedView: searches that an access control instruction keeps from the VLV index that would answer them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
    from ldapdiag.analysis.log.searches import SearchGroup
    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.evidence.indexes.vlv import VlvSearch

REFUSED = 50
"""insufficientAccessRights: what an account gets that may not read the entry of a VLV search in use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedView:
    """Searches that fail because their accounts may not read the entry of the VLV search with their filter."""

    group: SearchGroup
    backend: Backend
    search: VlvSearch
    count: int


def find_refused_views(group: SearchGroup, indexes: ServerIndexes | None) -> Iterator[RefusedView]:
    """Yield the searches with err=50 that a VLV index in use answers: such a search has no VLV line."""
    failed = group.errors.get(REFUSED, 0)
    backends = indexes.backends(group.base, below=False) if indexes is not None and failed else ()
    for backend in backends:
        for search in backend.vlv_searches:
            in_use = any(one.enabled is not False for one in search.indexes)
            if in_use and group.slowest is not None and search.answers(group.base, group.scope, group.slowest.subject):
                yield RefusedView(group=group, backend=backend, search=search, count=failed)
