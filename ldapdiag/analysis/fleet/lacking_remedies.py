"""The remedies for an index that one of several servers lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.remedy import Remedy, RemedyKind, Where
from ldapdiag.servers.example_search import search_command
from ldapdiag.servers.index_remedies import add_indexes, ldapsearch_command

if TYPE_CHECKING:
    from ldapdiag.analysis.fleet.lacking_indexes import LackingServer
    from ldapdiag.analysis.fleet.replica_groups import ReplicaGroup


def remedies_of(one: LackingServer, group: ReplicaGroup) -> tuple[Remedy, ...]:
    """Return the commands that add the index to its server; without its index configuration, how to get them."""
    indexes = one.coverage.indexes if one.coverage else None
    server = next(each for each in group.servers if each.name == one.search.server)
    if indexes is not None and one.backend is not None and one.changes:
        tool = ldapsearch_command(indexes.address, indexes.configuration)
        verify = search_command(tool, one.search.group.base, one.search.group.scope, one.filter)
        return add_indexes(indexes.address, one.backend, one.changes, indexes.configuration, indexes.schema, verify)
    return (
        Remedy(
            title=f"collect the index configuration of {server.name}",
            target=server.host,
            where=Where.SERVER,
            kind=RemedyKind.ADVICE,
            text="ldapdiag collect copies it. With the access log beside it, ldapdiag indexes prints the commands "
            "that add the index.",
            changes="Nothing: it is read.",
            risk="None.",
            undo="",
            verify="",
            family=group.family,
        ),
    )
