"""Index remedies of OpenDJ and its relatives: add, build and drop indexes. Tested with OpenDJ 4.10.1.

Its rebuild takes the whole backend offline and logs that (msgID backend-370).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes.opends_index_types import LOCAL_DB
from ldapdiag.remedy import RemedyKind, is_distinguished_name, ldif_line
from ldapdiag.servers.commands.ldap_tools import as_manager
from ldapdiag.servers.indexes.index_answers import FUNCTIONS
from ldapdiag.servers.opendj.remedies import dsconfig, manager
from ldapdiag.servers.opends.dsconfig_indexes import (
    BACKEND_NAME,
    DsconfigIndexFunctions,
    DsconfigIndexRemedies,
    IndexTool,
    UnnamedBuild,
    indexes_set_by_add,
    suffixes_of,
    to_add,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.servers.commands.server_address import ServerAddress
    from ldapdiag.servers.indexes.candidates import Change, IndexPlace

EXPECTED_IN_LOG = "Its SEARCH RES in the access log must not contain `unindexed`, and its etime must be milliseconds."
LIBRARIES: tuple[str, ...] = (FUNCTIONS,)
BETWEEN_LDIF = ""

ORACLE = "Oracle Unified Directory"
TASK_CLASS = "org.opends.server.tasks.RebuildTask"
WHILE_IT_BUILDS = (
    "The rebuild takes the whole backend offline: until it ends, searches and changes below its suffixes fail with "
    "noSuchObject (32), and binds of accounts below them with invalidCredentials (49), as measured with 4.10.1. Take "
    "the server out of service first. Until the rebuild starts, searches are unindexed as before."
)
EACH_REPLICA = (
    "Index configuration is not replicated: repeat this on each replica, one at a time, off peak. Every index makes "
    "changes of its attribute more expensive."
)
ONCE_DROPPED = (
    "A search that needs the index, even once a month, is refused or becomes unindexed. The index is deleted at once, "
    "and only a rebuild restores it. Index configuration is not replicated: repeat this on each replica."
)


def ldapsearch_command(server: ServerAddress, version: Version) -> str:
    """Return ldapsearch with the options to connect and bind as the administrator."""
    return as_manager("ldapsearch", server, manager(version))


def add_indexes_ldif(place: IndexPlace, changes: Sequence[Change]) -> str | None:
    """Return the same as LDIF, with the build tasks; None if the entry of the backend is not known."""
    _server, backend, configuration, schema = place  # the LDIF does not name it
    entry, wanted = _backend_entry(backend, configuration), to_add(changes, backend, schema)
    suffixes = [suffix for suffix in backend.suffixes if is_distinguished_name(suffix)]
    if entry is None or not wanted.types or not suffixes:
        return None
    entries = []
    for attribute, types in wanted.types.items():
        known = backend.definition(schema.names(attribute))
        missing = [ldif_line("ds-cfg-index-type", one) for one in types if known is None or one not in known.types]
        head = ldif_line("dn", f"ds-cfg-attribute={attribute},cn=Index,{entry}")
        if known is not None and missing:
            entries.append([head, "changetype: modify", "add: ds-cfg-index-type", *missing])
        elif known is None:
            named = ["objectClass: ds-cfg-backend-index", ldif_line("ds-cfg-attribute", attribute)]
            entries.append([head, "changetype: add", "objectClass: top", *named, *missing])
    entries += [_task(suffix, wanted.types, number) for number, suffix in enumerate(suffixes, 1)]
    return "\n\n".join("\n".join(entry) for entry in entries) + "\n"


def _remedies(place: IndexPlace) -> DsconfigIndexRemedies:
    tool, server = _tool(place), place.server
    return DsconfigIndexRemedies(
        server=server,
        family=Family.OPENDJ,
        tool=tool,
        while_it_builds=f"{WHILE_IT_BUILDS} {EACH_REPLICA}",
        once_dropped=ONCE_DROPPED,
        verify=lambda attribute: _debug_search(place, attribute),
        unnamed=UnnamedBuild(
            kind=RemedyKind.SHELL, title="Build every invalid index", text="\n".join(tool.build_invalid())
        ),
    )


def _tool(place: IndexPlace) -> IndexTool:
    server, backend, configuration, schema = place
    identity = configuration.identity
    tool = dsconfig(server, identity.version)
    return IndexTool(
        tool=tool,
        rebuild=f"rebuild-index {tool.options.removesuffix(' -n')}",
        backend=backend,
        schema=schema,
        noun="local-db-index" if backend.kind == LOCAL_DB or identity.product == ORACLE else "backend-index",
        owner="--element-name" if identity.product == ORACLE else "--backend-name",
    )


def _debug_search(place: IndexPlace, attribute: str) -> str:
    """Return the search whose debugsearchindex shows that an equality match is indexed (INDEX and COUNT)."""
    searches = (f"-b {suffix} '({attribute}=ldapdiag)' debugsearchindex" for suffix in suffixes_of(place.backend)[:1])
    tool = ldapsearch_command(place.server, place.configuration.identity.version)
    return "".join(f"{tool} -LLL {search}" for search in searches)


def _backend_entry(backend: Backend, configuration: IndexConfiguration) -> str | None:
    """Return the DN of a backend's entry; None if it is not known, or its indexes have another object class."""
    if backend.kind == LOCAL_DB or configuration.identity.product == ORACLE:
        return None
    if is_distinguished_name(backend.entry):
        return backend.entry
    named = BACKEND_NAME.fullmatch(backend.name)
    return f"ds-cfg-backend-id={backend.name},cn=Backends,cn=config" if named and not backend.entry else None


def _task(suffix: str, attributes: Iterable[str], number: int) -> list[str]:
    """Return the task entry that builds indexes; the server refuses a second one of the same name."""
    name = f"ldapdiag-{number}-{'-'.join(attributes)}"[:200]
    return [
        f"dn: ds-task-id={name},cn=Scheduled Tasks,cn=Tasks",
        "changetype: add",
        "objectClass: top",
        "objectClass: ds-task",
        "objectClass: ds-task-rebuild",
        f"ds-task-id: {name}",
        f"ds-task-class-name: {TASK_CLASS}",
        ldif_line("ds-task-rebuild-base-dn", suffix),
        *(f"ds-task-rebuild-index: {attribute}" for attribute in attributes),
    ]


FUNCTIONS_OF_PRODUCT = DsconfigIndexFunctions(_remedies)
add_indexes = FUNCTIONS_OF_PRODUCT.add_indexes
build_indexes = FUNCTIONS_OF_PRODUCT.build_indexes
drop_indexes = FUNCTIONS_OF_PRODUCT.drop_indexes
indexes_set = indexes_set_by_add
