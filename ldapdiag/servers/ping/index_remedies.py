"""Index remedies of PingDirectory: add, build and drop indexes. From its documentation, not tested.

An online rebuild leaves the backend available; the index is not used until it has ended. The documentation recommends
an offline rebuild. There is no LDIF: only its own tools change the configuration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import RemedyKind
from ldapdiag.servers.commands.ldap_tools import as_manager
from ldapdiag.servers.indexes.index_answers import FUNCTIONS
from ldapdiag.servers.opends.dsconfig_indexes import (
    DsconfigIndexFunctions,
    DsconfigIndexRemedies,
    IndexTool,
    UnnamedBuild,
    indexes_set_by_add,
)
from ldapdiag.servers.ping.remedies import dsconfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.servers.commands.server_address import ServerAddress
    from ldapdiag.servers.indexes.candidates import Change, IndexPlace

EXPECTED_IN_LOG = (
    "Its SEARCH RESULT in the access log must not contain unindexed=true, and its etime must be milliseconds."
)
LIBRARIES: tuple[str, ...] = (FUNCTIONS,)
BETWEEN_LDIF = ""

NOT_TESTED = "Taken from the documentation, not tested."
WHILE_IT_BUILDS = (
    f"{NOT_TESTED} Until the rebuild has ended, the index is not used, not even its existing types: searches that "
    "need it are unindexed, or refused without the privilege unindexed-search."
)
EACH_REPLICA = (
    "Index configuration is not replicated: repeat this on each server, one at a time, off peak, or apply it to a "
    "group of servers with --applyChangeTo server-group. Every index makes changes of its attribute more expensive."
)
ONCE_DROPPED = (
    "A search that needs the index, even once a month, becomes unindexed or is refused. The index is deleted at once, "
    "and only a rebuild restores it. Index configuration is not replicated: repeat this on each server. "
    f"{NOT_TESTED}"
)


def ldapsearch_command(server: ServerAddress, version: Version) -> str:
    """Return ldapsearch with the options to connect and bind as the manager."""
    del version  # the same in every version
    return as_manager("ldapsearch", server)


def add_indexes_ldif(place: IndexPlace, changes: Sequence[Change]) -> str | None:
    """Return None: PingDirectory takes no LDIF for its indexes."""
    del place, changes
    return None


def _remedies(place: IndexPlace) -> DsconfigIndexRemedies:
    tool = _tool(place)
    return DsconfigIndexRemedies(
        server=place.server,
        family=Family.PING,
        tool=tool,
        while_it_builds=f"{WHILE_IT_BUILDS} {EACH_REPLICA}",
        once_dropped=ONCE_DROPPED,
        verify=tool.show,
        unnamed=UnnamedBuild(
            kind=RemedyKind.ADVICE,
            title="Build the index by hand",
            text="Run rebuild-index with the name of the attribute: it cannot be put into a command.",
        ),
    )


def _tool(place: IndexPlace) -> IndexTool:
    tool = dsconfig(place.server)
    rebuild = f"rebuild-index --task {tool.options}"
    return IndexTool(tool=tool, rebuild=rebuild, backend=place.backend, schema=place.schema, noun="local-db-index")


FUNCTIONS_OF_PRODUCT = DsconfigIndexFunctions(_remedies)
add_indexes = FUNCTIONS_OF_PRODUCT.add_indexes
build_indexes = FUNCTIONS_OF_PRODUCT.build_indexes
drop_indexes = FUNCTIONS_OF_PRODUCT.drop_indexes
indexes_set = indexes_set_by_add
