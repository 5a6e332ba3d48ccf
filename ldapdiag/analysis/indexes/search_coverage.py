"""SearchCoverage: searches of one kind, how the server finds their candidates, and which indexes would help."""

from __future__ import annotations

from dataclasses import dataclass

from ldapdiag.analysis.indexes.obstacles import Obstacle
from ldapdiag.analysis.log.searches import SearchGroup
from ldapdiag.evidence.filter_tree import Node
from ldapdiag.evidence.indexes import Backend
from ldapdiag.servers.candidates import Change, Forecast, IndexUse

ProposedIndex = tuple[str, Change]
"""The name of a database (empty without index configuration), and an index to add to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCoverage:
    """Searches of one filter shape, base and scope whose substrings have similar lengths. Times in nanoseconds."""

    group: SearchGroup
    piece_lengths: str
    """Of the pieces of the substrings (evidence/filter_tree.py); empty if there are none or they are unknown."""
    filter: Node | None
    """None: cut off by the server, or not understood."""
    backends: tuple[Backend, ...]
    """The databases that answer the searches; none without index configuration."""
    count: int
    """Results."""
    etime: int
    noted: int
    """Results that the server notes as fully or partly unindexed."""
    refused: int
    """Results with an error because there is no index."""
    index_use: IndexUse
    forecast: Forecast | None
    sufficient_sets: tuple[frozenset[ProposedIndex], ...] = ()
    """Sets of new indexes, any of which would help."""
    certain: bool = False
    """One of the sets helps in any case; if False, only if few entries match."""
    obstacle: Obstacle | None = None
    """Why no new index helps."""
    worth_an_index: bool = False
    """The searches take enough time to be worth an index, or fail because there is none."""

    @property
    def is_scan(self) -> bool:
        """Return whether the server examines every entry below the base."""
        return self.index_use is IndexUse.UNINDEXED

    @property
    def mean(self) -> int:
        """Return the average time."""
        return self.etime // self.count if self.count else 0
