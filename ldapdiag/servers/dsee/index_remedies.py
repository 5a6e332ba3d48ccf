"""Indexes of Directory Server Enterprise Edition: dsconf's commands by its documentation, not tried here.

    dsconf create-index, set-index-prop    set what is to be kept; until it is built, no search uses it
    dsconf reindex -t                      builds it while the server runs; searches of the suffix are not indexed then

Source: Oracle 821-1504, "Managing Indexes". Up to 5.2 the same entries are written with ldapmodify, and built by a
script in the instance's folder, which no evidence tells.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, is_distinguished_name
from ldapdiag.servers.dsee.remedies import FIRST_WITH_DSCONF, PORT
from ldapdiag.servers.ldap_tools import as_manager, modify
from ldapdiag.servers.ldbm_index_changes import (
    Selection,
    Wanted,
    goes_wholly,
    to_add,
    to_build,
    to_drop,
)
from ldapdiag.servers.ldbm_ldif import backend_name, container, in_one, ldif_added, ldif_dropped, ldif_restored
from ldapdiag.servers.missing_names import NO_BACKEND, NO_SUFFIX, advice_if_missing, missing_names
from ldapdiag.servers.shell_text import bare_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.candidates import Change

EXPECTED_IN_LOG = "Its RESULT in the access log must have no notes=U, and an etime of milliseconds."

TYPES = ("pres", "eq", "sub", "approx")

NOT_TRIED = "By its documentation, not tried here."
BY_SCRIPT = "db2index.pl, in the folder of the instance"
WHILE_IT_BUILDS = (
    f"{NOT_TRIED} From the first command until the build ends, searches by these attributes look at every entry, and "
    "while it runs, so may every other search below the suffix."
)
EACH_REPLICA = (
    "Index configuration is not replicated: do the same on each replica, one at a time, off peak. Every index makes "
    "writing its attribute dearer, sub the most."
)


def ldapsearch_command(server: str, version: Version) -> str:
    """Return ldapsearch as it reaches a server and may ask for anything."""
    del version  # the same in each
    return as_manager("ldapsearch", server)


def add_indexes(
    server: str, backend: Backend, changes: Sequence[Change], configuration: IndexConfiguration, schema: Schema
) -> Remedy:
    """Add indexes and build them."""
    chosen, version = to_add(changes, backend, configuration, schema), configuration.identity.version
    commands = [*_added(server, backend, chosen, version), *_built(server, backend, chosen.attributes, version)]
    remedy = Remedy(
        title=f"Index {chosen.listed}" if chosen.wanted else "Index what cannot be named in a command",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if chosen.wanted else RemedyKind.ADVICE,
        text="\n".join(commands) if chosen.wanted else chosen.nothing,
        changes=f"Searches by these attributes find their candidates in an index. {chosen.sentence}".strip(),
        risk=f"{WHILE_IT_BUILDS} {EACH_REPLICA}",
        undo="\n".join(_taken_back(server, backend, chosen, version)) or "None needed: nothing new is set.",
        verify=_looked_at(server, backend, chosen.attributes, version),
        family=Family.DSEE,
        needs=Needs.REINDEX,
    )
    return advice_if_missing(remedy, _lacking(server, backend, version, builds=True))


def add_indexes_ldif(
    server: str,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
) -> str | None:
    """Return the entries as LDIF, with a comment on how to build them; None where nothing can be done."""
    chosen = to_add(changes, backend, configuration, schema)
    wanted = (*chosen.new, *chosen.extended)
    if not wanted or not backend_name(backend):
        return None
    built = _built(server, backend, chosen.attributes, configuration.identity.version) or [BY_SCRIPT]
    comment = "".join(f"# Not built by this. Then: {one}\n" for one in built)
    return comment + "\n".join(in_one(ldif_added(one, backend) for one in wanted)) + "\n"


def build_indexes(
    server: str, backend: Backend, attributes: Sequence[str], configuration: IndexConfiguration, schema: Schema
) -> Remedy:
    """Build indexes that are configured; every one where no name is fit for a command."""
    names, version = to_build(attributes, backend, schema), configuration.identity.version
    remedy = Remedy(
        title=f"Build the indexes of {', '.join(names)}" if names else "Build every index",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join(_built(server, backend, names, version)),
        changes="The indexes are used again.",
        risk=f"{WHILE_IT_BUILDS} {EACH_REPLICA}",
        undo="None needed: the same indexes are written again.",
        verify=_looked_at(server, backend, names, version),
        family=Family.DSEE,
        needs=Needs.REINDEX,
    )
    return advice_if_missing(remedy, _lacking(server, backend, version, builds=True))


def drop_indexes(
    server: str, backend: Backend, changes: Sequence[Change], configuration: IndexConfiguration, schema: Schema
) -> Remedy:
    """Take indexes away."""
    chosen, version = to_drop(changes, backend, configuration, schema), configuration.identity.version
    rest = tuple(one.attribute for one in chosen.wanted if not goes_wholly(one))
    built = _built(server, backend, rest, version) if rest else []
    restored = [*_restored(server, backend, chosen, version), *_built(server, backend, chosen.attributes, version)]
    remedy = Remedy(
        title=f"Drop the index of {chosen.listed}" if chosen.wanted else "Drop no index",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if chosen.wanted else RemedyKind.ADVICE,
        text="\n".join([*_dropped(server, backend, chosen, version), *built]) or chosen.nothing,
        changes=f"Writing these attributes costs less. {chosen.sentence}".strip(),
        risk=(
            "A search that needs it once a month looks at every entry from now on. Index configuration is not "
            f"replicated: each replica by itself. {WHILE_IT_BUILDS if rest else NOT_TRIED}"
        ),
        undo="\n".join(restored) if chosen.wanted else "None needed: nothing is done.",
        verify=_looked_at(server, backend, chosen.attributes, version),
        family=Family.DSEE,
        needs=Needs.REINDEX if rest else Needs.NONE,
    )
    return advice_if_missing(remedy, _lacking(server, backend, version, builds=bool(rest)))


def _lacking(server: str, backend: Backend, version: Version, *, builds: bool) -> list[str]:
    """Return what the commands need and is not told."""
    if _is_old(version):
        folder = (not builds, "the folder of the instance, where db2index.pl is")
        return missing_names(server, (backend_name(backend), NO_BACKEND), folder)
    return missing_names(server, (_suffix(backend), NO_SUFFIX))


def _is_old(version: Version) -> bool:
    return () < version < FIRST_WITH_DSCONF


def _dsconf(server: str, command: str, *words: str) -> str:
    """Return a dsconf at a server; it asks for the password."""
    return " ".join([f"dsconf {command} -h {bare_host(server)} -p {PORT}", *words])


def _suffix(backend: Backend) -> str:
    """Return the suffix, quoted; empty where none is known."""
    return next((shlex.quote(one) for one in backend.suffixes if is_distinguished_name(one)), "")


def _set(server: str, backend: Backend, attribute: str, values: dict[str, str]) -> str:
    told = (f"{name}-enabled:{value}" for name, value in values.items())
    return _dsconf(server, "set-index-prop", _suffix(backend), attribute, *told)


def _added(server: str, backend: Backend, chosen: Selection, version: Version) -> list[str]:
    changed = (*chosen.new, *chosen.extended)
    if _is_old(version):
        return [modify(server, *in_one(ldif_added(one, backend) for one in changed))] if changed else []
    return [command for one in changed for command in _added_one(server, backend, one)]


def _added_one(server: str, backend: Backend, one: Wanted) -> list[str]:
    """Return the commands for one attribute; a new index has types of its own choice, so each is said."""
    if one.known is not None:
        return [_set(server, backend, one.attribute, dict.fromkeys(one.types, "on"))]
    values = {name: "on" if name in one.types else "off" for name in TYPES}
    created = _dsconf(server, "create-index", _suffix(backend), one.attribute)
    return [created, _set(server, backend, one.attribute, values)]


def _built(server: str, backend: Backend, attributes: Sequence[str], version: Version) -> list[str]:
    if _is_old(version):
        return []  # the folder of the script that does it is not told: _lacking
    return [_dsconf(server, "reindex", *(f"-t {one}" for one in attributes), _suffix(backend))]


def _taken_back(server: str, backend: Backend, chosen: Selection, version: Version) -> list[str]:
    changed = (*chosen.new, *chosen.extended)
    if _is_old(version):
        lines = in_one(ldif_dropped(one, backend, wholly=one.known is None) for one in changed)
        return [modify(server, *lines)] if changed else []
    further = tuple(one.attribute for one in chosen.extended)
    return [
        *(_dsconf(server, "delete-index", _suffix(backend), one.attribute) for one in chosen.new),
        *(_set(server, backend, one.attribute, dict.fromkeys(one.types, "off")) for one in chosen.extended),
        *(_built(server, backend, further, version) if further else []),
    ]


def _dropped(server: str, backend: Backend, chosen: Selection, version: Version) -> list[str]:
    if _is_old(version):
        lines = in_one(ldif_dropped(one, backend, wholly=goes_wholly(one)) for one in chosen.wanted)
        return [modify(server, *lines)] if chosen.wanted else []
    return [
        _dsconf(server, "delete-index", _suffix(backend), one.attribute)
        if goes_wholly(one)
        else _set(server, backend, one.attribute, dict.fromkeys(one.types, "off"))
        for one in chosen.wanted
    ]


def _restored(server: str, backend: Backend, chosen: Selection, version: Version) -> list[str]:
    if _is_old(version):
        return [modify(server, *in_one(ldif_restored(one, backend) for one in chosen.wanted))]
    return [
        command
        for one in chosen.wanted
        for command in _added_one(
            server, backend, Wanted(one.attribute, one.types, known=None if goes_wholly(one) else one.known)
        )
    ]


def _looked_at(server: str, backend: Backend, attributes: Sequence[str], version: Version) -> str:
    if _is_old(version):
        tool = as_manager("ldapsearch", server)
        return f"{tool} -b {shlex.quote(container(backend))} '(objectClass=nsIndex)' nsIndexType"
    if not attributes:
        return _dsconf(server, "list-indexes", "-v", _suffix(backend))
    return "\n".join(_dsconf(server, "get-index-prop", _suffix(backend), one) for one in attributes)
