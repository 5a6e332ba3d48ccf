"""Index remedies of Directory Server Enterprise Edition: dsconf commands from its documentation, not tested.

    dsconf create-index, set-index-prop    configure an index; no search uses it until it is built
    dsconf reindex -t                      builds it while the server runs; searches of the suffix are unindexed then

Source: Oracle 821-1504, "Managing Indexes". Up to 5.2 ldapmodify writes the same entries, and a script in the directory
of the instance builds them; no evidence contains its path.

The blocks of commands that add, build and drop indexes of Directory Server Enterprise Edition; not tested.

dsconf takes the password from the file that LDAP_ADMIN_PWF names (Oracle 821-1504, "Setting Environment Variables for
dsconf"), so a block asks for it once. dsconf reindex returns when the build has ended.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, is_distinguished_name
from ldapdiag.servers.commands.ldap_tools import as_manager, host, manager_of, modify, port, quoted
from ldapdiag.servers.commands.remedy_texts import (
    INDEX_BY_HAND,
    INDEX_ON_EACH_REPLICA,
    NO_BACKEND,
    NO_SUFFIX,
    NOTHING_DONE,
    advice_if_missing,
    missing_names,
)
from ldapdiag.servers.commands.shell_session import block, from_file
from ldapdiag.servers.commands.shell_text import here_document
from ldapdiag.servers.dsee.remedies import FIRST_WITH_DSCONF
from ldapdiag.servers.indexes.index_answers import FUNCTIONS, REACHED, check_suffixes, search_function
from ldapdiag.servers.ldbm.index_changes import (
    DEFINITIONS,
    NAMED_IS_KEPT,
    EntryChange,
    EntryChanges,
    in_no_definition,
    in_order,
    removes_all,
    set_by,
    to_add,
    to_build,
    to_drop,
)
from ldapdiag.servers.ldbm.ldif import backend_name, container, joined, ldif_add, ldif_drop, ldif_restore

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.commands.server_address import ServerAddress
    from ldapdiag.servers.indexes.candidates import Change, IndexPlace

EXPECTED_IN_LOG = "Its RESULT in the access log must have no notes=U and an etime of milliseconds."
LIBRARIES: tuple[str, ...] = (FUNCTIONS, DEFINITIONS)
BETWEEN_LDIF = ""

TYPES = ("pres", "eq", "sub", "approx")

NOT_TESTED = "Taken from the documentation, not tested."
BY_SCRIPT = "db2index.pl, in the directory of the instance"
WHILE_IT_BUILDS = (
    f"{NOT_TESTED} From the first command until the build has ended, searches by these attributes scan the database; "
    "during the build every other search below the suffix may do so too."
)


def ldapsearch_command(server: ServerAddress, version: Version) -> str:
    """Return ldapsearch with the options to connect and bind as the manager."""
    del version  # the same in every version
    return as_manager("ldapsearch", server)


def add_indexes(place: IndexPlace, changes: Sequence[Change]) -> Remedy:
    """Add indexes and build them."""
    server, backend, configuration, schema = place
    chosen, version = to_add(changes, backend, configuration, schema, keeps_rules=True), configuration.identity.version
    commands = [
        *_add_commands(server, backend, chosen, version),
        *_build_commands(server, backend, chosen.attributes, version),
    ]
    remedy = Remedy(
        title=f"Index {chosen.listed}" if chosen.changes else INDEX_BY_HAND,
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if chosen.changes else RemedyKind.ADVICE,
        text=_block(server, backend, "Index", commands, chosen, version) if chosen.changes else chosen.why_none,
        changes=f"Searches by these attributes use an index. {chosen.left_out_sentence}".strip(),
        risk=f"{WHILE_IT_BUILDS} {INDEX_ON_EACH_REPLICA}",
        undo="\n".join(_undo_add(server, backend, chosen, version)) or NOTHING_DONE,
        verify=_verify_commands(server, backend, chosen.attributes, version),
        family=Family.DSEE,
        needs=Needs.REINDEX,
        brief="\n".join(commands) if chosen.changes else "",
    )
    return advice_if_missing(remedy, _missing(backend, version, builds=True))


def indexes_set(
    backend: Backend, changes: Sequence[Change], configuration: IndexConfiguration, schema: Schema
) -> tuple[IndexDefinition, ...]:
    """Return the index types that the commands of add_indexes add."""
    return set_by(to_add(changes, backend, configuration, schema))


def add_indexes_ldif(place: IndexPlace, changes: Sequence[Change]) -> str | None:
    """Return the entries as LDIF, with a comment on how to build them; None where nothing can be done."""
    server, backend, configuration, schema = place
    chosen = to_add(changes, backend, configuration, schema, keeps_rules=True)
    wanted = (*chosen.new, *chosen.extended)
    if not wanted or not backend_name(backend):
        return None
    built = _build_commands(server, backend, chosen.attributes, configuration.identity.version) or [BY_SCRIPT]
    comment = "".join(f"# This does not build the indexes. Then run: {one}\n" for one in built)
    return comment + "\n".join(joined(ldif_add(one, backend) for one in wanted)) + "\n"


def build_indexes(place: IndexPlace, attributes: Sequence[str]) -> Remedy:
    """Build configured indexes; all of them where no name is valid in a command."""
    server, backend, configuration, schema = place
    names, version = to_build(attributes, backend, schema), configuration.identity.version
    chosen = EntryChanges(tuple(EntryChange(name, (), known=backend.definition(schema.names(name))) for name in names))
    remedy = Remedy(
        title=f"Build the indexes of {', '.join(names)}" if names else "Build every index",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=_block(server, backend, "Build", _build_commands(server, backend, names, version), chosen, version),
        changes="The indexes are used again.",
        risk=f"{WHILE_IT_BUILDS} {INDEX_ON_EACH_REPLICA}",
        undo="None needed: the same indexes are rebuilt.",
        verify=_verify_commands(server, backend, names, version),
        family=Family.DSEE,
        needs=Needs.REINDEX,
    )
    return advice_if_missing(remedy, _missing(backend, version, builds=True))


def drop_indexes(place: IndexPlace, changes: Sequence[Change]) -> Remedy:
    """Remove indexes."""
    server, backend, configuration, schema = place
    chosen, version = to_drop(changes, backend, configuration, schema), configuration.identity.version
    remaining = tuple(change.attribute for change in chosen.changes if not removes_all(change))
    built = _build_commands(server, backend, remaining, version) if remaining else []
    dropped = [*_drop_commands(server, backend, chosen, version), *built]
    restored = [
        *_undo_drop(server, backend, chosen, version),
        *_build_commands(server, backend, chosen.attributes, version),
    ]
    remedy = Remedy(
        title=f"Drop the index of {chosen.listed}" if chosen.changes else "Drop no index",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if chosen.changes else RemedyKind.ADVICE,
        text=_dropping(server, backend, dropped, chosen, version, schema) if chosen.changes else chosen.why_none,
        changes=f"Changes of these attributes become cheaper. {chosen.left_out_sentence}".strip(),
        risk=(
            f"{NAMED_IS_KEPT} A search that needs the index, even once a month, becomes unindexed. Index configuration "
            f"is not replicated: repeat this on each replica. {WHILE_IT_BUILDS if remaining else NOT_TESTED}"
        ),
        undo=_block(server, backend, "Restore", restored, chosen, version) if chosen.changes else NOTHING_DONE,
        verify=_verify_commands(server, backend, chosen.attributes, version),
        family=Family.DSEE,
        needs=Needs.REINDEX if remaining else Needs.NONE,
    )
    suffix = missing_names((_suffix(backend), NO_SUFFIX)) if _is_old(version) else []
    return advice_if_missing(remedy, [*suffix, *_missing(backend, version, builds=bool(remaining))])


def _dropping(
    server: ServerAddress, backend: Backend, commands: Sequence[str], chosen: EntryChanges, version: Version,
    schema: Schema,
) -> str:  # fmt: skip
    """Return the block that removes indexes where no definition in the database names them."""
    before = [line for name in chosen.attributes for line in in_no_definition(backend, name, schema)]
    title = f"Drop the index of {', '.join(chosen.attributes)}"
    return checked(server, backend, title, commands, chosen.changes, before, is_old=_is_old(version))


def _block(
    server: ServerAddress, backend: Backend, verb: str, commands: Sequence[str], chosen: EntryChanges, version: Version
) -> str:  # fmt: skip
    """Return commands as one block that ends with a check; up to 5.2 as they are, because builds are not among them."""
    title = f"{verb} the index of {', '.join(chosen.attributes)}" if chosen.changes else f"{verb} every index"
    return "\n".join(commands) if _is_old(version) else checked(server, backend, title, commands, chosen.changes)


def _missing(backend: Backend, version: Version, *, builds: bool) -> list[str]:
    """Return the names that the commands need and the evidence lacks."""
    if _is_old(version):
        directory = (not builds, "the directory of the instance with db2index.pl")
        return missing_names((backend_name(backend), NO_BACKEND), directory)
    return missing_names((_suffix(backend), NO_SUFFIX))


def _is_old(version: Version) -> bool:
    return () < version < FIRST_WITH_DSCONF


def _dsconf(server: ServerAddress, command: str, *words: str) -> str:
    """Return a dsconf command; it prompts for the password."""
    return " ".join([f"dsconf {command} -h {host(server)} -p {port(server)}", *words])


def _suffix(backend: Backend) -> str:
    """Return the suffix, quoted; empty if none is known."""
    return next((shlex.quote(suffix) for suffix in backend.suffixes if is_distinguished_name(suffix)), "")


def _set(server: ServerAddress, backend: Backend, attribute: str, values: dict[str, str]) -> str:
    properties = (f"{name}-enabled:{value}" for name, value in values.items())
    return _dsconf(server, "set-index-prop", _suffix(backend), attribute, *properties)


def _add_commands(server: ServerAddress, backend: Backend, chosen: EntryChanges, version: Version) -> list[str]:
    changed = (*chosen.new, *chosen.extended)
    if _is_old(version):
        return [modify(server, *joined(ldif_add(one, backend) for one in changed))] if changed else []
    return [command for one in changed for command in _add_commands_for(server, backend, one)]


def _add_commands_for(server: ServerAddress, backend: Backend, one: EntryChange) -> list[str]:
    """Return the commands for one attribute; create-index enables types of its own choice, so each one is set."""
    if one.known is not None:
        return [_set(server, backend, one.attribute, dict.fromkeys(one.types, "on"))]
    values = {name: "on" if name in one.types else "off" for name in TYPES}
    created = _dsconf(server, "create-index", _suffix(backend), one.attribute)
    return [created, _set(server, backend, one.attribute, values)]


def _build_commands(server: ServerAddress, backend: Backend, attributes: Sequence[str], version: Version) -> list[str]:
    if _is_old(version):
        return []  # the path of the script is not known: _missing
    return [_dsconf(server, "reindex", *(f"-t {attribute}" for attribute in attributes), _suffix(backend))]


def _undo_add(server: ServerAddress, backend: Backend, chosen: EntryChanges, version: Version) -> list[str]:
    changed = (*chosen.new, *chosen.extended)
    if _is_old(version):
        lines = joined(ldif_drop(one, backend, whole=one.known is None) for one in changed)
        return [modify(server, *lines)] if changed else []
    further = tuple(one.attribute for one in chosen.extended)
    return [
        *(_dsconf(server, "delete-index", _suffix(backend), one.attribute) for one in chosen.new),
        *(_set(server, backend, one.attribute, dict.fromkeys(one.types, "off")) for one in chosen.extended),
        *(_build_commands(server, backend, further, version) if further else []),
    ]


def _drop_commands(server: ServerAddress, backend: Backend, chosen: EntryChanges, version: Version) -> list[str]:
    if _is_old(version):
        lines = joined(ldif_drop(change, backend, whole=removes_all(change)) for change in chosen.changes)
        return [here_document(from_file(as_manager("ldapmodify", server)), *lines)] if chosen.changes else []
    return [
        _dsconf(server, "delete-index", _suffix(backend), change.attribute)
        if removes_all(change)
        else _set(server, backend, change.attribute, dict.fromkeys(change.types, "off"))
        for change in chosen.changes
    ]


def _undo_drop(server: ServerAddress, backend: Backend, chosen: EntryChanges, version: Version) -> list[str]:
    if _is_old(version):
        return [modify(server, *joined(ldif_restore(change, backend) for change in chosen.changes))]
    return [
        command
        for change in chosen.changes
        for command in _add_commands_for(
            server,
            backend,
            EntryChange(change.attribute, change.types, known=None if removes_all(change) else change.known),
        )
    ]


def _verify_commands(server: ServerAddress, backend: Backend, attributes: Sequence[str], version: Version) -> str:
    if _is_old(version):
        tool = as_manager("ldapsearch", server)
        return f"{tool} -b {shlex.quote(container(backend))} '(objectClass=nsIndex)' nsIndexType"
    if not attributes:
        return _dsconf(server, "list-indexes", "-v", _suffix(backend))
    return "\n".join(_dsconf(server, "get-index-prop", _suffix(backend), attribute) for attribute in attributes)


REMOVED = "may be removed, in part or all"
UNBUILT = "may be configured and not built: until dsconf reindex has ended, searches by them scan the database"


def checked(
    server: ServerAddress, backend: Backend, title: str, commands: Iterable[str], changes: Sequence[EntryChange],
    before: Sequence[str] = (), *, is_old: bool = False,
) -> str:  # fmt: skip
    """Return the block that runs commands, and checks the answers of these indexes.

    What fails of `before` ends it, and nothing is changed; `is_old`: the commands are not dsconf.
    """
    named = ", ".join(change.attribute for change in changes)
    lines = [
        f"step='{title}'",
        REACHED,
        *before,
        *([] if is_old else _credentials(server)),
        f"state='{named}: {REMOVED if is_old else UNBUILT}'",
        *commands,
        f"state='{named}: the commands have ended; the check of the answers has not passed'",
        *(line for change in changes for line in _checks(backend, change)),
        "answers_right",
        f"none_wrong '{named}'",
    ]
    search = search_function(from_file(as_manager("ldapsearch", server)))
    return block(search, "\n".join(lines), FUNCTIONS, *([DEFINITIONS] if before else []))


def _credentials(server: ServerAddress) -> list[str]:
    """Return the settings by which dsconf binds as ldapsearch does; none for SASL, where dsconf prompts."""
    session = server.session
    if session is not None and session.mechanism:
        return []
    file = shlex.quote(session.password_file) if session is not None and session.password_file else '"$password_copy"'
    account = (session.dn if session is not None else "") or manager_of(server)
    return [f"export LDAP_ADMIN_USER={quoted(account)} LDAP_ADMIN_PWF={file}"]


def _checks(backend: Backend, one: EntryChange) -> list[str]:
    known = one.known.types if one.known else ()
    return check_suffixes(backend, one.attribute, in_order({*one.types, *known}))
