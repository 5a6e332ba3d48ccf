"""Covered: searches of one kind, and how they find their candidates."""

from __future__ import annotations

from dataclasses import dataclass

from ldapdiag.analysis.indexes.obstacles import Obstacle
from ldapdiag.analysis.log.searches import SearchGroup
from ldapdiag.evidence.filter_tree import Node
from ldapdiag.evidence.indexes import Backend
from ldapdiag.servers.candidates import Change, Forecast, Outlook

ProposedIndex = tuple[str, Change]
"""A database's name (empty where no configuration tells it), and an index to add there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCoverage:
    """Searches of one filter without values, base and scope, whose substrings are alike long."""

    group: SearchGroup
    piece_lengths: str
    """Of the pieces of its substrings (evidence/filter_tree.py); empty where there are none, or nobody tells."""
    filter: Node | None
    """None: cut off by the server, or not understood."""
    backends: tuple[Backend, ...]
    """The databases it is answered from; none: no configuration."""
    count: int
    """Answered."""
    etime: int
    """Nanoseconds."""
    noted: int
    """Those that the server says had no index, wholly or in part."""
    refused: int
    outlook: Outlook
    forecast: Forecast | None
    sufficient_sets: tuple[frozenset[ProposedIndex], ...] = ()
    """Sets of indexes, each at its database, any of which would help."""
    certain: bool = False
    """One of them helps whatever is not known; else only if few entries have what is asked for."""
    obstacle: Obstacle | None = None
    """Why none helps."""
    worth_an_index: bool = False
    """It takes time enough to be worth an index, or fails for want of one."""

    @property
    def is_scan(self) -> bool:
        """Tell whether every entry below the base is looked at."""
        return self.outlook is Outlook.UNINDEXED

    @property
    def mean(self) -> int:
        """Nanoseconds that one took on average."""
        return self.etime // self.count if self.count else 0
