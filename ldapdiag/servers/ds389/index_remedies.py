"""Index remedies of 389-ds: add, build and drop indexes. All commands and effects were tested with 2.3.1.

    a new index of an attribute         is not used until it is built; after a restart it is, and nothing is found
    a new type of an existing index     is used at once, and finds nothing until its build has started
    during the build                    no search uses any index of its attribute
    two builds of a backend at once     the second fails
    a new rule of an existing index     is used at once, with keys in the order of the former one: even an equality
                                        search finds nothing until its build has started
    a removed type                      is used and maintained until the next restart
    the deleted entry of a default index    is recreated at the next start, and then nothing is found

So one ldapmodify adds a new type together with the task that builds it.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.ldap_tools import as_manager, dsconf, modify, takes_dsconf
from ldapdiag.servers.ldbm_index_changes import (
    EntryChange,
    EntryChanges,
    removes_all,
    to_add,
    to_build,
    to_drop,
)
from ldapdiag.servers.ldbm_ldif import backend_name, container, joined, ldif_add, ldif_drop, ldif_restore
from ldapdiag.servers.missing_names import NO_BACKEND, advice_if_missing, missing_names
from ldapdiag.servers.remedy_texts import INDEX_BY_HAND, INDEX_ON_EACH_REPLICA, NOTHING_DONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.candidates import Change
    from ldapdiag.servers.server_address import ServerAddress

EXPECTED_IN_LOG = "Its RESULT in the access log must have no notes=A and an etime of milliseconds."

TASKS = "cn=index,cn=tasks,cn=config"
FIRST_WITH_DSCONF = (1, 4)

NO_RESTART = (
    "Do not restart the server before the build has ended: it would then treat the index as built, and searches would "
    "find nothing. A second build of the same backend at the same time fails."
)
REMOVED_TYPE = "A removed type is maintained and used until the next restart."


def ldapsearch_command(server: ServerAddress, version: Version) -> str:
    """Return ldapsearch with the options to connect and bind as the manager."""
    del version  # the same in every version
    return as_manager("ldapsearch", server)


def add_indexes(
    server: ServerAddress,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
) -> Remedy:
    """Add indexes and build them."""
    chosen = to_add(changes, backend, configuration, schema)
    remedy = Remedy(
        title=f"Index {chosen.listed}" if chosen.changes else INDEX_BY_HAND,
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if chosen.changes else RemedyKind.ADVICE,
        text=_add_command_text(server, backend, chosen, configuration.identity.version) or chosen.why_none,
        changes=(
            "Searches by these attributes use an index once it is built; until then they scan the database, as before. "
            f"{_offline_sentence(chosen)}{_rules_sentence(chosen)}{chosen.left_out_sentence}"
        ).strip(),
        risk=f"{NO_RESTART} {INDEX_ON_EACH_REPLICA}",
        undo=_undo_add(server, backend, chosen, configuration.identity.version),
        verify=_verify_commands(server, backend, chosen.attributes),
        family=Family.DS389,
        needs=Needs.REINDEX,
    )
    return advice_if_missing(remedy, _missing(backend))


def add_indexes_ldif(
    server: ServerAddress,  # noqa: ARG001  part of the interface
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
) -> str | None:
    """Return the same as LDIF for ldapmodify, with the build task; None where nothing can be done."""
    chosen = to_add(changes, backend, configuration, schema)
    return "\n".join(_ldif(backend, chosen)) + "\n" if chosen.changes and backend_name(backend) else None


def build_indexes(
    server: ServerAddress,
    backend: Backend,
    attributes: Sequence[str],
    configuration: IndexConfiguration,
    schema: Schema,
) -> Remedy:
    """Build configured indexes; all of them where no name is valid in a command."""
    names = to_build(attributes, backend, schema)
    remedy = Remedy(
        title=f"Build the indexes of {', '.join(names)}" if names else "Build every index",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=_build_command(server, backend, names, configuration.identity.version),
        changes="The indexes are used again. Until the build has ended, no search uses any index of these attributes.",
        risk=f"{NO_RESTART} {INDEX_ON_EACH_REPLICA}",
        undo="None needed: the same indexes are rebuilt.",
        verify=_verify_commands(server, backend, names),
        family=Family.DS389,
        needs=Needs.REINDEX,
    )
    return advice_if_missing(remedy, _missing(backend))


def drop_indexes(
    server: ServerAddress,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
) -> Remedy:
    """Remove indexes."""
    chosen, version = to_drop(changes, backend, configuration, schema), configuration.identity.version
    types = [one for one in chosen.changes if not removes_all(one)]
    remedy = Remedy(
        title=f"Drop the index of {chosen.listed}" if chosen.changes else "Drop no index",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if chosen.changes else RemedyKind.ADVICE,
        text=_drop_command_text(server, backend, chosen, version) or chosen.why_none,
        changes=(
            "Changes of these attributes become cheaper. "
            f"{REMOVED_TYPE + ' ' if types else ''}{chosen.left_out_sentence}"
        ).strip(),
        risk=(
            "A search that needs the index, even once a month, becomes unindexed, or is refused where the backend "
            "requires an index. Only a new build restores the index. Index configuration is not replicated: repeat "
            "this on each replica."
        ),
        undo=_undo_drop(server, backend, chosen) if chosen.changes else NOTHING_DONE,
        verify=_verify_commands(server, backend, chosen.attributes),
        family=Family.DS389,
        needs=Needs.RESTART if types else Needs.NONE,
    )
    return advice_if_missing(remedy, _missing(backend))


def _missing(backend: Backend) -> list[str]:
    return missing_names((backend_name(backend), NO_BACKEND))


def _has_dsconf(server: ServerAddress, version: Version) -> bool:
    return takes_dsconf(server) and (not version or version >= FIRST_WITH_DSCONF)


def _dsconf(server: ServerAddress, *words: str) -> str:
    """Return a dsconf command for a backend's indexes; it prompts for the password."""
    return dsconf(server, "backend index", *words)


def _add_command_text(server: ServerAddress, backend: Backend, chosen: EntryChanges, version: Version) -> str:
    if not chosen.changes:
        return ""
    if chosen.extended or not _has_dsconf(server, version):
        return modify(server, *_ldif(backend, chosen))
    commands = [
        _dsconf(
            server,
            "add",
            f"--attr {one.attribute}",
            *(f"--index-type {value}" for value in one.types),
            *(f"--matching-rule {rule}" for rule in one.rules),
            backend_name(backend),
        )
        for one in chosen.new
    ]
    return "\n".join([*commands, _build_command(server, backend, chosen.attributes, version)])


def _build_command(server: ServerAddress, backend: Backend, attributes: Sequence[str], version: Version) -> str:
    if not _has_dsconf(server, version) and attributes:
        return modify(server, *_task(backend, attributes))
    return _dsconf(server, "reindex", "--wait", *(f"--attr {one}" for one in attributes), backend_name(backend))


def _ldif(backend: Backend, chosen: EntryChanges) -> list[str]:
    """Return the changes; new types of existing indexes come last, because their build must follow at once."""
    changes = [ldif_add(one, backend) for one in (*chosen.new, *chosen.extended)]
    return joined([*changes, _task(backend, chosen.attributes)])


def _task(backend: Backend, attributes: Sequence[str], purpose: str = "ldapdiag") -> list[str]:
    """Return the task entry that builds indexes; the server deletes it some minutes after the end."""
    name = f"{purpose}-{'-'.join(attributes)}"[:200]
    return [
        f"dn: cn={name},{TASKS}",
        "changetype: add",
        "objectClass: top",
        "objectClass: extensibleObject",
        f"cn: {name}",
        f"nsInstance: {backend_name(backend)}",
        *(f"nsIndexAttribute: {attribute}" for attribute in attributes),
    ]


def _offline_sentence(chosen: EntryChanges) -> str:
    """Return a sentence on the existing indexes of the attributes."""
    named = ", ".join(one.attribute for one in chosen.changes if one.known is not None and one.known.types)
    return f"During the build no search by {named} uses an index, not even an existing type. " if named else ""


def _rules_sentence(chosen: EntryChanges) -> str:
    """Return a sentence on matching rules that are added to existing indexes."""
    named = ", ".join(one.attribute for one in chosen.extended if one.rules)
    return (
        f"A new matching rule needs the build at once: between both, searches by {named} find too few entries. "
        if named
        else ""
    )


def _undo_add(server: ServerAddress, backend: Backend, chosen: EntryChanges, version: Version) -> str:
    new = tuple(one.attribute for one in chosen.new)
    if not (new or chosen.extended):
        return NOTHING_DONE
    if not chosen.extended and _has_dsconf(server, version):
        return _dsconf(server, "delete", *(f"--attr {one}" for one in new), backend_name(backend))
    changes = [ldif_drop(one, backend, whole=one.known is None) for one in (*chosen.new, *chosen.extended)]
    reordered = [one.attribute for one in chosen.extended if one.rules]
    return modify(server, *joined([*changes, *([_task(backend, reordered, "ldapdiag-undo")] if reordered else [])]))


def _drop_command_text(server: ServerAddress, backend: Backend, chosen: EntryChanges, version: Version) -> str:
    by_ldif = [
        one for one in chosen.changes if not _has_dsconf(server, version) or (removes_all(one) and one.is_default)
    ]
    commands = [_drop_command(server, backend, one) for one in chosen.changes if one not in by_ldif]
    if by_ldif:
        changes = [ldif_drop(one, backend, whole=removes_all(one)) for one in by_ldif]
        commands.append(modify(server, *joined(changes)))
    return "\n".join(commands)


def _drop_command(server: ServerAddress, backend: Backend, one: EntryChange) -> str:
    name = backend_name(backend)
    if removes_all(one):
        return _dsconf(server, "delete", f"--attr {one.attribute}", name)
    return _dsconf(server, "set", f"--attr {one.attribute}", *(f"--del-type {value}" for value in one.types), name)


def _undo_drop(server: ServerAddress, backend: Backend, chosen: EntryChanges) -> str:
    """Return the commands that restore and build the indexes."""
    changes = [ldif_restore(one, backend) for one in chosen.changes]
    return modify(server, *joined([*changes, _task(backend, chosen.attributes)]))


def _verify_commands(server: ServerAddress, backend: Backend, attributes: Iterable[str]) -> str:
    """Return the searches that show the configured types and the state of the builds."""
    named = "".join(f"(cn={attribute})" for attribute in attributes)
    filter_ = f"(|{named})" if named else "(objectClass=nsIndex)"
    tool = as_manager("ldapsearch", server)
    return "\n".join(
        [
            f"{tool} -LLL -b {shlex.quote(container(backend))} '{filter_}' nsIndexType nsMatchingRule",
            f"{tool} -LLL -b {TASKS} '(nsTaskStatus=*)' nsTaskStatus nsTaskExitCode",
        ]
    )
