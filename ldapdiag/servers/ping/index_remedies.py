"""Indexes of PingDirectory: how they are added, built and taken away, by its documentation, not tried here.

A rebuild with the server running leaves the backend available; the index is not used until it ends. Its documentation
would rather have the server stopped. By LDIF there is nothing: its configuration is changed by its own tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Kind, Needs, Remedy, Where
from ldapdiag.servers.dsconfig import PASSWORD_HINT
from ldapdiag.servers.dsconfig_indexes import IndexTool, lacking_of, listed, to_add, to_build, to_drop
from ldapdiag.servers.ldap_tools import as_manager
from ldapdiag.servers.ping.remedies import dsconfig
from ldapdiag.servers.unready import ready

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.candidates import Change

SIGN = "Its SEARCH RESULT in the access log must not say unindexed=true, and its etime must be milliseconds."

NOT_TRIED = "By its documentation, not tried here."
WHILE_IT_BUILDS = (
    f"{NOT_TRIED} Until the rebuild ends the index is not used: searches that need it look at every entry, or are "
    "refused without the privilege unindexed-search. An index that had other types already is not used either."
)
EACH_REPLICA = (
    "Index configuration is not replicated: do the same on each server, one at a time, off peak, or in a group of "
    "servers with --applyChangeTo server-group. Every index makes adding and changing its attribute dearer."
)


def asking(server: str, version: Version) -> str:
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
    wanted, tool = to_add(changes, backend, schema), _tool(server, backend, schema)
    named = listed(wanted.types)
    remedy = Remedy(
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
    return ready(remedy, lacking_of(server, backend))


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
    names, tool = to_build(attributes, backend, schema), _tool(server, backend, schema)
    remedy = Remedy(
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
    return ready(remedy, lacking_of(server, backend))


def drop_indexes(
    server: str,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
) -> Remedy:
    """Take indexes away."""
    del configuration  # the same in each
    wanted, tool = to_drop(changes, backend, schema), _tool(server, backend, schema)
    named = listed(wanted.types)
    remedy = Remedy(
        title=f"Drop the index of {named}" if named else "Drop no index",
        target=server,
        where=Where.SERVER,
        kind=Kind.SHELL if named else Kind.ADVICE,
        text="\n".join(tool.remove(wanted.types)) if named else wanted.sentence.strip(),
        changes=f"Changes of these attributes cost less, and the database less room. {wanted.sentence}{PASSWORD_HINT}",
        risk=(
            "A search that needs it once a month looks at every entry from now on, or is refused. It is gone at once, "
            "and only a rebuild brings it back. Index configuration is not replicated: each server by itself. "
            f"{NOT_TRIED}"
        ),
        undo="\n".join([*tool.undo_remove(wanted.types), *tool.build(wanted.types)]) if named else "",
        verify="\n".join(map(tool.show, wanted.types)),
        family=Family.PING,
    )
    return ready(remedy, lacking_of(server, backend))


def _tool(server: str, backend: Backend, schema: Schema) -> IndexTool:
    tool = dsconfig(server)
    rebuild = f"rebuild-index --task {tool.options}"
    return IndexTool(tool=tool, rebuild=rebuild, backend=backend, schema=schema, noun="local-db-index")
