"""The blocks of commands that add, build, restore and drop indexes of 389-ds, and the LDIF in them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.remedy import is_attribute_type
from ldapdiag.servers.ds389.index_build import TASKS, building, changing
from ldapdiag.servers.index_answers import REACHED, check_suffixes
from ldapdiag.servers.ldap_tools import as_manager, waiting
from ldapdiag.servers.ldbm_index_changes import EntryChange, EntryChanges, in_order, removes_all
from ldapdiag.servers.ldbm_ldif import backend_name, container, joined, ldif_add, ldif_drop, ldif_restore
from ldapdiag.servers.remedy_texts import NOTHING_DONE
from ldapdiag.servers.shell_text import here_document, inert

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.servers.server_address import ServerAddress


HANDLED = (
    "case $code in",
    "0) ;;",
    "20|68) echo 'An index above is configured already (20, 68): it keeps its types and rules, and is built.' ;;",
    "*) echo 'Refused: an index that was added above may not be built. Do not restart the server,' >&2",
    "echo 'remove the cause, and run these commands again.' >&2; exit 1 ;;",
    "esac",
)
"""What follows from the result of `ldapmodify -c`, the last one that is not 0."""


def adding(server: ServerAddress, backend: Backend, verb: str, chosen: EntryChanges) -> str:
    """Return the block that configures and builds indexes, and checks their answers."""
    return building(
        as_manager("ldapsearch", server),
        as_manager("ldapmodify", server),
        f"{verb} {chosen.listed}",
        backend_name(backend),
        chosen.attributes,
        joined(definitions(backend, chosen)),
        [line for one in chosen.changes for line in _checks(backend, one)],
        *(f"no_unordered_number {one.attribute}" for one in chosen.perhaps_numbers),
    )


def brief(server: ServerAddress, backend: Backend, chosen: EntryChanges) -> str:
    """Return the few lines that configure and build indexes, and wait; empty: only the block is safe.

    One ldapmodify, which goes on after an error (-c), so that what it has configured is built in any case. Its task has
    a new name each time: the server keeps the entry of a task for minutes, and would refuse a second one of that name.
    """
    if not chosen.changes or chosen.perhaps_numbers:
        return ""
    added = [[inert(line) for line in one] for one in definitions(backend, chosen)]
    ldif = joined([*added, _task("$task", backend, chosen.attributes)])
    search = as_manager("ldapsearch", server)
    adds = "add and " if chosen.new or chosen.extended else ""
    return "\n".join(
        [
            f"# {adds}build, in the database {backend_name(backend)}:",
            f"code=0 task=ldapdiag-{backend_name(backend)}-$(date +%s)-$$",
            f"{as_manager('ldapmodify -c', server)} <<LDIF || code=$?",
            *ldif,
            "LDIF",
            *HANDLED,
            "echo 'waiting for the end of the build, an hour at most: nsTaskExitCode: 0'",
            *waiting(search, f'"cn=$task,{TASKS}"', "nsTaskExitCode=*", "nsTaskExitCode", "0$", 5),
        ]
    )


def undoing_add(server: ServerAddress, backend: Backend, chosen: EntryChanges) -> str:
    """Return the commands that remove what was added; an index that loses a rule must be built again."""
    changed = (*chosen.new, *chosen.extended)
    if not changed:
        return NOTHING_DONE
    lines = joined(ldif_drop(one, backend, whole=one.known is None) for one in changed)
    ruled = [one.attribute for one in chosen.extended if one.rules]
    if not ruled:
        return here_document(as_manager("ldapmodify -c", server), *lines)
    checks = [
        line
        for one in chosen.extended
        if one.rules and one.known is not None
        for line in _answers(backend, one.attribute, in_order(set(one.known.types)), ())
    ]
    search, modify = as_manager("ldapsearch", server), as_manager("ldapmodify", server)
    return building(search, modify, "Remove what was added", backend_name(backend), ruled, lines, checks)


def dropping(server: ServerAddress, backend: Backend, chosen: EntryChanges) -> str:
    """Return the block that removes indexes, and checks that searches by their attributes still find entries."""
    named = f"{', '.join(chosen.attributes)} in {backend_name(backend)}"
    changes = joined(ldif_drop(one, backend, whole=removes_all(one)) for one in chosen.changes)
    lines = [
        f"step='Drop the index of {named}'",
        REACHED,
        f"state='the index of {named} may be removed, in part or all'",
        here_document("change", *changes),
        f"state='the index of {named} is removed; the check of the answers has not passed'",
        *(line for one in chosen.changes for line in _answers(backend, one.attribute, one.types, ())),
        "answers_right",
    ]
    return changing(as_manager("ldapsearch", server), as_manager("ldapmodify", server), lines)


def undoing_drop(server: ServerAddress, backend: Backend, chosen: EntryChanges) -> str:
    """Return the block that restores and builds the indexes."""
    search, modify = as_manager("ldapsearch", server), as_manager("ldapmodify", server)
    lines = joined(ldif_restore(one, backend) for one in chosen.changes)
    checks = [line for one in chosen.changes for line in _checks(backend, one)]
    title = f"Restore the index of {chosen.listed}"
    return building(search, modify, title, backend_name(backend), chosen.attributes, lines, checks)


def definitions(backend: Backend, chosen: EntryChanges) -> list[list[str]]:
    """Return the changes of entries; those of existing indexes come last, because their build must follow at once."""
    return [ldif_add(one, backend) for one in (*chosen.new, *chosen.extended)]


def task_entry(backend: Backend, attributes: Sequence[str]) -> list[str]:
    """Return the task entry that builds indexes; the server deletes it some minutes after the end."""
    return _task(f"ldapdiag-{backend_name(backend)}-{'-'.join(attributes)}"[:200], backend, attributes)


def _task(name: str, backend: Backend, attributes: Sequence[str]) -> list[str]:
    return [
        f"dn: cn={name},{TASKS}",
        "changetype: add",
        "objectClass: top",
        "objectClass: extensibleObject",
        f"cn: {name}",
        f"nsInstance: {backend_name(backend)}",
        *(f"nsIndexAttribute: {attribute}" for attribute in attributes),
    ]


def _checks(backend: Backend, one: EntryChange) -> list[str]:
    """Return the commands that check a built index: it is configured as wanted, and its answers are right."""
    types, rules = _types_and_rules(one)
    wanted = [f"(nsIndexType={type_})" for type_ in types] + [f"(nsMatchingRule={rule})" for rule in one.rules]
    entry = shlex.quote(f"cn={one.attribute},{container(backend)}")
    return [
        f"configured {entry} '(&(objectClass=nsIndex){''.join(wanted)})'",
        *_answers(backend, one.attribute, types, rules),
    ]


def _types_and_rules(one: EntryChange) -> tuple[list[str], list[str]]:
    """Return all types and rules of an index after its change; settings in the form of rules are left out."""
    known = one.known
    types = in_order({*one.types, *(known.types if known else ())})
    rules = [rule for rule in (*one.rules, *(known.rules if known else ())) if is_attribute_type(rule)]
    return list(types), rules


def _answers(backend: Backend, attribute: str, types: Iterable[str], rules: Iterable[str]) -> list[str]:
    """Return the commands that check an index; a suffix that the evidence lacks is read from the server."""
    entry = shlex.quote(container(backend).removeprefix("cn=index,"))
    return check_suffixes(backend, attribute, types, rules, unknown=f'"$(suffix_of {entry})"')
