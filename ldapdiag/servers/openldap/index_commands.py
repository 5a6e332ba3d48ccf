"""The commands that change and build the index lines of one database, by where slapd has its configuration.

cn=config, with a monitor database   while slapd answers searches (online_build.py)
cn=config, without one               while slapd is stopped: the end of a build would not be visible (offline_build.py)
slapd.conf                           edited by hand, then while slapd is stopped (slapd_conf.py)

All end with searches that prove the indexes right.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import is_attribute_description, is_distinguished_name, ldif_line
from ldapdiag.servers.commands.ldap_tools import as_root
from ldapdiag.servers.commands.shell_session import block, from_file
from ldapdiag.servers.indexes.index_answers import FUNCTIONS, check_answers, search_function
from ldapdiag.servers.openldap import online_build
from ldapdiag.servers.openldap.online_build import (
    BY_FILE,
    NO_BUILD,
    STOPPED,
    WATCH,
    build_function,
    offline,
    online,
    printing,
    rebuilt,
    unwatched,
)
from ldapdiag.servers.openldap.slapd_conf import CONVERTED, checked, edited

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.commands.server_address import ServerAddress
    from ldapdiag.servers.indexes.candidates import Change
    from ldapdiag.servers.openldap.index_changes import LineChanges

SLAPD_CONF = "slapd.conf"
DATABASE = pattern(r"\{\d{1,6}\}[a-z]+", re.ASCII)


class Procedure(Enum):
    """How the index lines of a database are changed."""

    ONLINE = auto()
    UNWATCHED = auto()
    """By a write to cn=config that starts no build."""
    OFFLINE = auto()
    FILE = auto()


def procedure_of(lines: LineChanges, backend: Backend, configuration: IndexConfiguration) -> Procedure:
    """Return how these lines are changed: online only where the build that they start can be seen."""
    if configuration.file == SLAPD_CONF:
        return Procedure.FILE
    if configuration.monitored is False and entry_of(backend) is not None:
        return Procedure.OFFLINE if lines.added_lines else Procedure.UNWATCHED
    return Procedure.ONLINE


def changing(
    server: ServerAddress, title: str, lines: LineChanges, backend: Backend, configuration: IndexConfiguration,
    schema: Schema,
) -> str:  # fmt: skip
    """Return the block that changes lines and builds what they add; empty if no line changes."""
    entry, suffix = entry_of(backend), suffix_of(backend)
    procedure = procedure_of(lines, backend, configuration)
    if not (lines.removed_lines or lines.added_lines) or (entry is None and procedure is not Procedure.FILE):
        return ""
    answers = answers_of(suffix, (*lines.added, *lines.removed))
    built = _named(lines.added)
    if procedure is Procedure.FILE:
        build = build_function(suffix, built, BY_FILE) if built else NO_BUILD
        steps = [*checked(lines, suffix, schema), *rebuilt(answers)]
        return edited(lines, suffix, block_of(server, title, [build], steps, STOPPED, CONVERTED))
    ldif = modification(entry or "", lines)
    if procedure is Procedure.OFFLINE:
        build = build_function(suffix, built) if built else NO_BUILD
        former = modification(entry or "", lines.reversed)
        commands = [printing("before", former), printing("after", ldif), build]
        return block_of(server, title, commands, offline(answers), STOPPED)
    if procedure is Procedure.UNWATCHED:
        return block_of(server, title, [_change(server)], unwatched(ldif, answers))
    writing = online(suffix, [ldif], answers, builds=bool(lines.added_lines))
    return block_of(server, title, [_change(server)], writing, WATCH)


def brief(server: ServerAddress, writes: Sequence[LineChanges], backend: Backend, procedure: Procedure) -> str:
    """Return the few lines that make changes online, of which the last builds; empty: only the block is safe."""
    entry, suffix = entry_of(backend), suffix_of(backend)
    if procedure is not Procedure.ONLINE or entry is None or not suffix or not writes[-1].added_lines:
        return ""
    search, modify = as_root("ldapsearch", server), as_root("ldapmodify", server)
    ldif = [modification(entry, write) for write in writes]
    return online_build.brief(search, modify, suffix, ldif, is_mdb=(backend.kind or backend.name).endswith("mdb"))


def building(
    server: ServerAddress, title: str, lines: LineChanges, backend: Backend, configuration: IndexConfiguration,
    schema: Schema,
) -> str:  # fmt: skip
    """Return the block that builds the indexes of configured lines; all of the database if there is no line."""
    entry, suffix = entry_of(backend), suffix_of(backend)
    answers = answers_of(suffix, lines.added)
    procedure = procedure_of(lines, backend, configuration)
    if procedure is Procedure.ONLINE and entry is not None and lines.removed_lines:
        writes = [modification(entry, half) for half in halves_of(lines)]
        return block_of(server, title, [_change(server)], online(suffix, writes, answers, builds=True), WATCH)
    if procedure is Procedure.FILE:
        steps = [*checked(replace(lines, added=()), suffix, schema), *rebuilt(answers)]
        build = build_function(suffix, lines.attributes, BY_FILE)
        return block_of(server, title, [build], steps, STOPPED, CONVERTED)
    steps = ["only_slapd", *rebuilt(answers)]
    return block_of(server, title, [build_function(suffix, lines.attributes)], steps, STOPPED)


def halves_of(lines: LineChanges) -> tuple[LineChanges, LineChanges]:
    """Return the removal and the addition of lines: those that one change removes and adds are not built again."""
    return replace(lines, added_lines=()), replace(lines, removed_lines=())


def modification(entry: str, lines: LineChanges) -> list[str]:
    """Return one modification of a database's entry, as LDIF; between two, slapd would start to build."""
    removed = [ldif_line("olcDbIndex", line) for line in lines.removed_lines]
    added = [ldif_line("olcDbIndex", line) for line in lines.added_lines]
    return [
        ldif_line("dn", entry),
        "changetype: modify",
        *(["delete: olcDbIndex", *removed] if removed else []),
        *(["-"] if removed and added else []),
        *(["add: olcDbIndex", *added] if added else []),
    ]


def entry_of(backend: Backend) -> str | None:
    """Return the DN of a database's entry in cn=config; None if it is not known."""
    if is_distinguished_name(backend.entry):
        return backend.entry
    return f"olcDatabase={backend.name},cn=config" if DATABASE.fullmatch(backend.name) else None


def suffix_of(backend: Backend) -> str:
    """Return a suffix of the database; empty if none is known."""
    return next((suffix for suffix in backend.suffixes if is_distinguished_name(suffix)), "")


def block_of(server: ServerAddress, title: str, commands: Sequence[str], steps: Iterable[str], *libraries: str) -> str:
    """Return a block that announces itself by a title, and searches as root."""
    named = [f"step={shlex.quote(title)}", *steps]
    search = search_function(from_file(as_root("ldapsearch", server)))
    return block("\n".join([search, *commands]), "\n".join(named), FUNCTIONS, *libraries)


def _change(server: ServerAddress) -> str:
    return f'change() {{ {from_file(as_root("ldapmodify", server))} "$@"; }}'


def _named(changes: Iterable[Change]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(change.attribute for change in changes))


def answers_of(suffix: str, changes: Iterable[Change]) -> list[str]:
    """Return the commands that prove that searches by these indexes are right, or were they are not any more."""
    types: dict[str, list[str]] = {}
    for change in changes:
        if is_attribute_description(change.attribute):
            types.setdefault(change.attribute, []).append(change.type)
    checks = [check_answers(suffix, attribute, each) for attribute, each in types.items()]
    if not (suffix and checks):
        return ["skip_check 'the suffix of the database or the attributes are not in the evidence'"]
    return [*checks, "answers_right"]
