"""Indexes of 389-ds: how they are added, built and taken away. All of it was tried with 2.3.1.

    a first index of an attribute       is not used until it is built; a restart forgets that, and then nothing is found
    a further type of one that is there is used at once, and finds nothing before its build has begun
    while it is built                   no search uses any index of its attribute
    two builds of a backend at once     the second fails
    a type taken away                   is used, and kept, until the next restart
    the entry of a default index        comes back at the next start when it is deleted, and then nothing is found

So a further type and the task that builds it go in one ldapmodify.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.ldap_tools import MANAGER, as_manager, modify
from ldapdiag.servers.ldbm_index_changes import (
    Selection,
    Wanted,
    goes_wholly,
    to_add,
    to_build,
    to_drop,
)
from ldapdiag.servers.ldbm_ldif import backend_name, container, in_one, ldif_added, ldif_dropped, ldif_restored
from ldapdiag.servers.missing_names import NO_BACKEND, advice_if_missing, missing_names
from ldapdiag.servers.shell_text import host_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.candidates import Change

EXPECTED_IN_LOG = "Its RESULT in the access log must have no notes=A, and an etime of milliseconds."

TASKS = "cn=index,cn=tasks,cn=config"
FIRST_WITH_DSCONF = (1, 4)

EACH_REPLICA = (
    "Index configuration is not replicated: do the same on each replica, one at a time, off peak. Every index makes "
    "writing its attribute dearer, sub the most."
)
NO_RESTART = (
    "Do not restart the server before the build has ended: after that it takes the index for built, and searches find "
    "nothing. A second build of the same backend at the same time fails."
)
TAKEN_AWAY = "A type taken away is kept and used until the next restart."


def ldapsearch_command(server: str, version: Version) -> str:
    """Return ldapsearch as it reaches a server and may ask for anything."""
    del version  # the same in each
    return as_manager("ldapsearch", server)


def add_indexes(
    server: str, backend: Backend, changes: Sequence[Change], configuration: IndexConfiguration, schema: Schema
) -> Remedy:
    """Add indexes and build them."""
    chosen = to_add(changes, backend, configuration, schema)
    remedy = Remedy(
        title=f"Index {chosen.listed}" if chosen.wanted else "Index what cannot be named in a command",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if chosen.wanted else RemedyKind.ADVICE,
        text=_added(server, backend, chosen, configuration.identity.version) or chosen.nothing,
        changes=(
            "Searches by these attributes find their candidates in an index once it is built; until then they look at "
            f"every entry, as today. {_offline(chosen)}{chosen.sentence}"
        ).strip(),
        risk=f"{NO_RESTART} {EACH_REPLICA}",
        undo=_taken_back(server, backend, chosen, configuration.identity.version),
        verify=_looked_at(server, backend, chosen.attributes),
        family=Family.DS389,
        needs=Needs.REINDEX,
    )
    return advice_if_missing(remedy, _lacking(server, backend))


def add_indexes_ldif(
    server: str,  # noqa: ARG001  the same question for every product
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
) -> str | None:
    """Return the same as LDIF for ldapmodify, with the task that builds them; None where nothing can be done."""
    chosen = to_add(changes, backend, configuration, schema)
    return "\n".join(_ldif(backend, chosen)) + "\n" if chosen.wanted and backend_name(backend) else None


def build_indexes(
    server: str, backend: Backend, attributes: Sequence[str], configuration: IndexConfiguration, schema: Schema
) -> Remedy:
    """Build indexes that are configured; every one where no name is fit for a command."""
    names = to_build(attributes, backend, schema)
    remedy = Remedy(
        title=f"Build the indexes of {', '.join(names)}" if names else "Build every index",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=_built(server, backend, names, configuration.identity.version),
        changes="The indexes are used again. Until the build ends, no search uses any index of these attributes.",
        risk=f"{NO_RESTART} {EACH_REPLICA}",
        undo="None needed: the same indexes are written again.",
        verify=_looked_at(server, backend, names),
        family=Family.DS389,
        needs=Needs.REINDEX,
    )
    return advice_if_missing(remedy, _lacking(server, backend))


def drop_indexes(
    server: str, backend: Backend, changes: Sequence[Change], configuration: IndexConfiguration, schema: Schema
) -> Remedy:
    """Take indexes away."""
    chosen, version = to_drop(changes, backend, configuration, schema), configuration.identity.version
    types = [one for one in chosen.wanted if not goes_wholly(one)]
    remedy = Remedy(
        title=f"Drop the index of {chosen.listed}" if chosen.wanted else "Drop no index",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if chosen.wanted else RemedyKind.ADVICE,
        text=_dropped(server, backend, chosen, version) or chosen.nothing,
        changes=(f"Writing these attributes costs less. {TAKEN_AWAY + ' ' if types else ''}{chosen.sentence}").strip(),
        risk=(
            "A search that needs it once a month looks at every entry from now on, or is refused where the backend "
            "requires an index. Only a build brings it back. Index configuration is not replicated: each replica by "
            "itself."
        ),
        undo=_restored(server, backend, chosen) if chosen.wanted else "None needed: nothing is done.",
        verify=_looked_at(server, backend, chosen.attributes),
        family=Family.DS389,
        needs=Needs.RESTART if types else Needs.NONE,
    )
    return advice_if_missing(remedy, _lacking(server, backend))


def _lacking(server: str, backend: Backend) -> list[str]:
    return missing_names(server, (backend_name(backend), NO_BACKEND))


def _has_dsconf(version: Version) -> bool:
    return not version or version >= FIRST_WITH_DSCONF


def _dsconf(server: str, *words: str) -> str:
    """Return a dsconf on a backend's indexes; it asks for the password."""
    return " ".join([f'dsconf -D "{MANAGER}" ldap://{host_name(server)} backend index', *words])


def _added(server: str, backend: Backend, chosen: Selection, version: Version) -> str:
    if not chosen.wanted:
        return ""
    if chosen.extended or not _has_dsconf(version):
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
    return "\n".join([*commands, _built(server, backend, chosen.attributes, version)])


def _built(server: str, backend: Backend, attributes: Sequence[str], version: Version) -> str:
    if not _has_dsconf(version) and attributes:
        return modify(server, *_task(backend, attributes))
    return _dsconf(server, "reindex", "--wait", *(f"--attr {one}" for one in attributes), backend_name(backend))


def _ldif(backend: Backend, chosen: Selection) -> list[str]:
    """Return the changes; further types last, for they must not wait for their build."""
    changes = [ldif_added(one, backend) for one in (*chosen.new, *chosen.extended)]
    return in_one([*changes, _task(backend, chosen.attributes)])


def _task(backend: Backend, attributes: Sequence[str]) -> list[str]:
    """Return the entry that makes the server build indexes; it goes by itself some minutes after the end."""
    name = f"ldapdiag-{'-'.join(attributes)}"[:200]
    return [
        f"dn: cn={name},{TASKS}",
        "changetype: add",
        "objectClass: top",
        "objectClass: extensibleObject",
        f"cn: {name}",
        f"nsInstance: {backend_name(backend)}",
        *(f"nsIndexAttribute: {attribute}" for attribute in attributes),
    ]


def _offline(chosen: Selection) -> str:
    """Return what happens to the indexes that an attribute has already."""
    named = ", ".join(one.attribute for one in chosen.wanted if one.known is not None and one.known.types)
    return f"While it is built, no search by {named} uses an index, not even by a type that is there. " if named else ""


def _taken_back(server: str, backend: Backend, chosen: Selection, version: Version) -> str:
    new = tuple(one.attribute for one in chosen.new)
    if not (new or chosen.extended):
        return "None needed: nothing new is set."
    if not chosen.extended and _has_dsconf(version):
        return _dsconf(server, "delete", *(f"--attr {one}" for one in new), backend_name(backend))
    return modify(
        server, *in_one(ldif_dropped(one, backend, wholly=one.known is None) for one in (*chosen.new, *chosen.extended))
    )


def _dropped(server: str, backend: Backend, chosen: Selection, version: Version) -> str:
    by_ldif = [one for one in chosen.wanted if not _has_dsconf(version) or (goes_wholly(one) and one.comes_back)]
    commands = [_dropped_one(server, backend, one) for one in chosen.wanted if one not in by_ldif]
    if by_ldif:
        changes = [ldif_dropped(one, backend, wholly=goes_wholly(one)) for one in by_ldif]
        commands.append(modify(server, *in_one(changes)))
    return "\n".join(commands)


def _dropped_one(server: str, backend: Backend, one: Wanted) -> str:
    name = backend_name(backend)
    if goes_wholly(one):
        return _dsconf(server, "delete", f"--attr {one.attribute}", name)
    return _dsconf(server, "set", f"--attr {one.attribute}", *(f"--del-type {value}" for value in one.types), name)


def _restored(server: str, backend: Backend, chosen: Selection) -> str:
    """Return what sets all again and builds it."""
    changes = [ldif_restored(one, backend) for one in chosen.wanted]
    return modify(server, *in_one([*changes, _task(backend, chosen.attributes)]))


def _looked_at(server: str, backend: Backend, attributes: Iterable[str]) -> str:
    """Return the search that shows what is set, and how far the builds are."""
    named = "".join(f"(cn={attribute})" for attribute in attributes)
    asked = f"(|{named})" if named else "(objectClass=nsIndex)"
    tool = as_manager("ldapsearch", server)
    return "\n".join(
        [
            f"{tool} -LLL -b {shlex.quote(container(backend))} '{asked}' nsIndexType nsMatchingRule",
            f"{tool} -LLL -b {TASKS} '(nsTaskStatus=*)' nsTaskStatus nsTaskExitCode",
        ]
    )
