"""GroupPart: the searches of a group whose substrings have lengths with the same simulated result."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ldapdiag.analysis.indexes.limit_classes import divide
from ldapdiag.analysis.log.searches import SearchGroup
from ldapdiag.evidence.filter_tree import parse_shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.indexes.simulated_database import SimulatedDatabase


class GroupPart(NamedTuple):
    """The searches of a group whose substrings have similar lengths."""

    group: SearchGroup
    piece_lengths: str
    results: int
    etime: int
    """Nanoseconds."""
    noted: int
    """Results noted as unindexed."""
    most_entries: int
    """In one result; negative: not known."""


def parts_by_limit(
    group: SearchGroup, database: SimulatedDatabase | None
) -> Iterator[tuple[GroupPart | None, GroupPart | None]]:
    """Yield the parts of a group: those of its searches that completed, and those that were stopped; one may be None.

    Without a database, the group is one part.
    """
    completed, stopped = (_parts(each, database) if each else {} for each in divide(group))
    for result in dict.fromkeys((*completed, *stopped)):
        yield completed.get(result), stopped.get(result)


def _parts(group: SearchGroup, database: SimulatedDatabase | None) -> dict[object, GroupPart]:
    """Return the parts of a group by their simulated result."""
    if not group.by_piece_lengths or database is None:
        most = max(group.most_entries, group.most_limited)
        return {None: GroupPart(group, "", group.answered, group.etime, group.unindexed, most)}
    parts: dict[object, GroupPart] = {}
    results: dict[str, object] = {}
    for lengths, (count, etime, noted, most) in sorted(group.by_piece_lengths.items(), reverse=True):
        distinct = database.distinct_lengths(lengths)
        if distinct not in results:
            tree = parse_shape(group.shape, distinct)
            forecast = database.forecast(tree, group.base, group.scope) if tree else None
            results[distinct] = (
                (forecast.index_use, tuple(leaf.cause for leaf in forecast.leaves)) if forecast else None
            )
        result = results[distinct]
        part = parts.get(result, GroupPart(group, lengths, 0, 0, 0, -1))
        parts[result] = part._replace(
            results=part.results + count,
            etime=part.etime + etime,
            noted=part.noted + min(noted, group.unindexed),
            most_entries=max(part.most_entries, most),
        )
    return parts
