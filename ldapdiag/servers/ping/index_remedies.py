"""Indexes of PingDirectory: how they are added, built and taken away, by its documentation, not tried here.

A rebuild with the server running leaves the backend available; the index is not used until it ends. Its documentation
would rather have the server stopped. By LDIF there is nothing: its configuration is changed by its own tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import RemedyKind
from ldapdiag.servers.dsconfig_index_remedies import IndexWork
from ldapdiag.servers.dsconfig_indexes import IndexTool, to_build
from ldapdiag.servers.ldap_tools import as_manager
from ldapdiag.servers.ping.remedies import dsconfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.remedy import Remedy
    from ldapdiag.servers.candidates import Change

EXPECTED_IN_LOG = "Its SEARCH RESULT in the access log must not say unindexed=true, and its etime must be milliseconds."

NOT_TRIED = "By its documentation, not tried here."
WHILE_IT_BUILDS = (
    f"{NOT_TRIED} Until the rebuild ends the index is not used: searches that need it look at every entry, or are "
    "refused without the privilege unindexed-search. An index that had other types already is not used either."
)
EACH_REPLICA = (
    "Index configuration is not replicated: do the same on each server, one at a time, off peak, or in a group of "
    "servers with --applyChangeTo server-group. Every index makes adding and changing its attribute dearer."
)
ONCE_DROPPED = (
    "A search that needs it once a month looks at every entry from now on, or is refused. It is gone at once, "
    "and only a rebuild brings it back. Index configuration is not replicated: each server by itself. "
    f"{NOT_TRIED}"
)


def ldapsearch_command(server: str, version: Version) -> str:
    """Return ldapsearch as it reaches a server and may ask for anything."""
    del version  # the same in each
    return as_manager("ldapsearch", server)


def add_indexes(
    server: str,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
) -> Remedy:
    """Add indexes and build them."""
    del configuration  # the same in each
    return _work(server, backend, schema).add(changes)


def add_indexes_ldif(
    server: str,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
) -> str | None:
    """Return None: there is no such way."""
    del server, backend, changes, configuration, schema
    return None


def build_indexes(
    server: str,
    backend: Backend,
    attributes: Sequence[str],
    configuration: IndexConfiguration,
    schema: Schema,
) -> Remedy:
    """Build indexes that are configured."""
    del configuration  # the same in each
    return _work(server, backend, schema).build(
        to_build(attributes, backend, schema),
        kind=RemedyKind.ADVICE,
        title="Build what cannot be named in a command",
        text="Rebuild the index with rebuild-index, by its attribute's name.",
    )


def drop_indexes(
    server: str,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
) -> Remedy:
    """Take indexes away."""
    del configuration  # the same in each
    return _work(server, backend, schema).drop(changes)


def _work(server: str, backend: Backend, schema: Schema) -> IndexWork:
    tool = _tool(server, backend, schema)
    return IndexWork(
        server=server,
        family=Family.PING,
        tool=tool,
        while_it_builds=f"{WHILE_IT_BUILDS} {EACH_REPLICA}",
        once_dropped=ONCE_DROPPED,
        verify=tool.show,
    )


def _tool(server: str, backend: Backend, schema: Schema) -> IndexTool:
    tool = dsconfig(server)
    rebuild = f"rebuild-index --task {tool.options}"
    return IndexTool(tool=tool, rebuild=rebuild, backend=backend, schema=schema, noun="local-db-index")
