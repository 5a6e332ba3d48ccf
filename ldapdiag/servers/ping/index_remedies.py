"""Indexes of PingDirectory: how they are added, built and taken away, as its documentation has it; not tried.

A rebuild with the server running leaves the backend available; the index is not used until it ends. Its documentation
would rather have the server stopped. By LDIF there is nothing: its configuration is changed by its own tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Kind, Needs, Remedy, Where
from ldapdiag.servers.dsconfig import PASSWORD_HINT
from ldapdiag.servers.dsconfig_indexes import IndexTool, listed, to_add, to_build, to_drop
from ldapdiag.servers.ping.remedies import dsconfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.servers.candidates import Change

WHILE_IT_BUILDS = (
    "Until the rebuild ends the index is not used: searches that need it look at every entry, or are refused without "
    "the privilege unindexed-search. An index that had other types already is not used either."
)
EACH_REPLICA = (
    "Index configuration is not replicated: do the same on each server, one at a time, off peak, or in a group of "
    "servers with --applyChangeTo server-group. Every index makes adding and changing its attribute dearer."
)


def add_indexes(
    server: str,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
) -> Remedy:
    """Add indexes and build them."""
    del configuration  # the same in each
    wanted, tool = to_add(changes, backend), _tool(server, backend)
    named = listed(wanted.types)
    return Remedy(
        title=f"Index {named}" if named else "Index what cannot be named in a command",
        target=server,
        where=Where.SERVER,
        kind=Kind.SHELL if named else Kind.ADVICE,
        text="\n".join([*tool.add(wanted.types), *tool.build(wanted.types)]) if named else wanted.sentence.strip(),
        changes=f"Searches by these attributes find their candidates in an index. {wanted.sentence}{PASSWORD_HINT}",
        risk=f"{WHILE_IT_BUILDS} {EACH_REPLICA}",
        undo="\n".join(tool.undo_add(wanted.types)),
        verify="\n".join(map(tool.show, wanted.types)),
        family=Family.PING,
        needs=Needs.REINDEX,
    )


def add_indexes_ldif(
    server: str,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
) -> str | None:
    """Return None: there is no such way."""
    del server, backend, changes, configuration
    return None


def build_indexes(
    server: str,
    backend: Backend,
    attributes: Sequence[str],
    configuration: IndexConfiguration,
) -> Remedy:
    """Build indexes that are configured."""
    del configuration  # the same in each
    names, tool = to_build(attributes), _tool(server, backend)
    return Remedy(
        title=f"Build the indexes of {', '.join(names)}" if names else "Build what cannot be named in a command",
        target=server,
        where=Where.SERVER,
        kind=Kind.SHELL if names else Kind.ADVICE,
        text="\n".join(tool.build(names))
        if names
        else "Rebuild the index with rebuild-index, by its attribute's name.",
        changes=f"The indexes are used again. {PASSWORD_HINT}",
        risk=f"{WHILE_IT_BUILDS} {EACH_REPLICA}",
        undo="",
        verify="\n".join(map(tool.show, names)),
        family=Family.PING,
        needs=Needs.REINDEX,
    )


def drop_indexes(
    server: str,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
) -> Remedy:
    """Take indexes away."""
    del configuration  # the same in each
    wanted, tool = to_drop(changes, backend), _tool(server, backend)
    named = listed(wanted.types)
    return Remedy(
        title=f"Drop the index of {named}" if named else "Drop no index",
        target=server,
        where=Where.SERVER,
        kind=Kind.SHELL if named else Kind.ADVICE,
        text="\n".join(tool.remove(wanted.types)) if named else wanted.sentence.strip(),
        changes=f"Changes of these attributes cost less, and the database less room. {wanted.sentence}{PASSWORD_HINT}",
        risk=(
            "A search that needs it once a month looks at every entry from now on, or is refused. It is gone at once, "
            "and only a rebuild brings it back. Index configuration is not replicated: each server by itself."
        ),
        undo="\n".join([*tool.undo_remove(wanted.types), *tool.build(wanted.types)]) if named else "",
        verify="\n".join(map(tool.show, wanted.types)),
        family=Family.PING,
    )


def _tool(server: str, backend: Backend) -> IndexTool:
    tool = dsconfig(server)
    rebuild = f"rebuild-index --task {tool.options}"
    return IndexTool(tool=tool, rebuild=rebuild, backend=backend, noun="local-db-index")
