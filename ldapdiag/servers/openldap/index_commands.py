"""The commands that change and build the index lines of one database, by where slapd has its configuration.

cn=config, with a monitor database   while slapd answers searches (online_build.py)
cn=config, without one               while slapd is stopped: the end of a build would not be visible (offline_build.py)
slapd.conf                           edited by hand, then while slapd is stopped (slapd_conf.py)

All end with searches that prove the indexes right.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from ldapdiag.remedy import is_attribute_description, is_distinguished_name, ldif_line
from ldapdiag.servers.index_answers import FUNCTIONS, check_answers, search_function
from ldapdiag.servers.ldap_tools import as_root
from ldapdiag.servers.openldap.offline_build import FOLDER, in_subshell, offline, rebuilt, slapindex
from ldapdiag.servers.openldap.online_build import online, unwatched
from ldapdiag.servers.openldap.remedies import modify
from ldapdiag.servers.openldap.slapd_conf import PLACE, RESTARTED, checked, edited

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.candidates import Change
    from ldapdiag.servers.openldap.index_changes import LineChanges
    from ldapdiag.servers.server_address import ServerAddress

SLAPD_CONF = "slapd.conf"
DATABASE = re.compile(r"\{\d{1,6}\}[a-z]+", re.ASCII)


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
    server: ServerAddress, lines: LineChanges, backend: Backend, configuration: IndexConfiguration, schema: Schema
) -> str:
    """Return the commands that change lines and build what they add; empty if no line changes."""
    entry, suffix, search = entry_of(backend), suffix_of(backend), _search(server)
    procedure = procedure_of(lines, backend, configuration)
    if not (lines.removed_lines or lines.added_lines) or (entry is None and procedure is not Procedure.FILE):
        return ""
    answers = _answers(suffix, (*lines.added, *lines.removed))
    if procedure is Procedure.FILE:
        built = _named(lines.added)
        act = rebuilt(slapindex(suffix, built, PLACE)) if built else RESTARTED
        return edited(lines, suffix, checked(lines, suffix, schema, [search, *act, *answers]))
    ldif = modification(entry or "", lines)
    if procedure is Procedure.OFFLINE:
        build = [slapindex(suffix, _named(lines.added))] if lines.added else []
        return offline(search, ldif, modification(entry or "", lines.reversed), build, answers)
    if procedure is Procedure.UNWATCHED:
        return unwatched(search, modify(server, *ldif), answers)
    return online(search, suffix, [modify(server, *ldif)], answers, builds=bool(lines.added_lines))


def building(
    server: ServerAddress, lines: LineChanges, backend: Backend, configuration: IndexConfiguration, schema: Schema
) -> str:
    """Return the commands that build the indexes of configured lines; all of the database if there is no line."""
    entry, suffix, search = entry_of(backend), suffix_of(backend), _search(server)
    answers = _answers(suffix, lines.added)
    procedure = procedure_of(lines, backend, configuration)
    if procedure is Procedure.FILE:
        act = [search, *rebuilt(slapindex(suffix, lines.attributes, PLACE)), *answers]
        return checked(replace(lines, added=()), suffix, schema, act)
    if procedure is not Procedure.ONLINE or entry is None or not lines.removed_lines:
        return in_subshell([search, FOLDER, *rebuilt(slapindex(suffix, lines.attributes)), *answers])
    # Lines that one change removes and adds are not built again.
    halves = (replace(lines, added_lines=()), replace(lines, removed_lines=()))
    return online(search, suffix, [modify(server, *modification(entry, half)) for half in halves], answers, builds=True)


def modification(entry: str, lines: LineChanges) -> list[str]:
    """Return one modification of a database's entry, as LDIF; between two, slapd would start to build."""
    removed = [ldif_line("olcDbIndex", one) for one in lines.removed_lines]
    added = [ldif_line("olcDbIndex", one) for one in lines.added_lines]
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
    return next((one for one in backend.suffixes if is_distinguished_name(one)), "")


def _search(server: ServerAddress) -> str:
    return search_function(as_root("ldapsearch", server))


def _named(changes: Iterable[Change]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(change.attribute for change in changes))


def _answers(suffix: str, changes: Iterable[Change]) -> list[str]:
    """Return the commands that prove that searches by these indexes are right, or were they are not any more."""
    types: dict[str, list[str]] = {}
    for change in changes:
        if is_attribute_description(change.attribute):
            types.setdefault(change.attribute, []).append(change.type)
    checks = [check_answers(suffix, attribute, each) for attribute, each in types.items()]
    if not (suffix and checks):
        return ["echo 'not checked: the suffix of the database or the attributes are not known'"]
    return [FUNCTIONS, *checks, "answers_right"]
