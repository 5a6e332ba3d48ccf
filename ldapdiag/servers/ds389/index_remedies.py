"""Index remedies of 389-ds: add, build and drop indexes. All commands and effects were tested with 2.3.1.

    a new index of an attribute         is not used until it is built; after a restart it is, and nothing is found
    a new type of an existing index     is used at once, and finds nothing until its build has started
    a new rule of an existing index     likewise, with keys in the order of the former one: even equality finds nothing
    during the build                    no search uses any index of its attribute
    two builds of a backend at once     the second fails
    a removed type                      is used and maintained until the next restart
    the deleted entry of a default index    is recreated at the next start, and then nothing is found

So one ldapmodify adds an index together with the task that builds it, and a block of commands waits for the build and
checks its answers (index_build.py). dsconf is not used: it needs one command for each step.

The blocks of commands that add, build, restore and drop indexes of 389-ds, and the LDIF in them.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, is_attribute_type
from ldapdiag.servers.commands.ldap_tools import as_manager, waiting
from ldapdiag.servers.commands.remedy_texts import (
    INDEX_BY_HAND,
    INDEX_ON_EACH_REPLICA,
    NO_BACKEND,
    NOTHING_DONE,
    advice_if_missing,
    missing_names,
)
from ldapdiag.servers.commands.shell_text import here_document, inert
from ldapdiag.servers.ds389.index_build import BUILDING, ENDED, KEPT, TASKS, building, changing
from ldapdiag.servers.index_remedies import build_seconds, interval
from ldapdiag.servers.indexes.index_answers import FUNCTIONS, REACHED, check_suffixes
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
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.commands.server_address import ServerAddress
    from ldapdiag.servers.index_remedies import Rate
    from ldapdiag.servers.indexes.candidates import Change, IndexPlace

EXPECTED_IN_LOG = "Its RESULT in the access log must have no notes=A and an etime of milliseconds."
LIBRARIES: tuple[str, ...] = (FUNCTIONS, BUILDING, DEFINITIONS)
BETWEEN_LDIF = ""

FIRST_WITH_LMDB = (2, 1)
"""389-ds could be configured with it from then on."""
READ_ONLY = "The database is read-only meanwhile: changes are refused (53). "
STOPS_SEARCHES = (
    "While an index of an LMDB database is built, 2.3.1 ends searches with 53 or without entries: let no client search "
    "it then."
)
NO_RESTART = (
    "Stopped before the build has ended, the server would treat the index as built, and searches would find nothing: "
    "let nothing restart it."
)
LOSES_ENTRIES = (
    "can lose every entry (389ds#7539, mended in releases since June 2026): back up first, and let nothing stop the "
    "server before the build has ended."
)
ON_LMDB = f"Stopped during a build, this LMDB database {LOSES_ENTRIES}"
PERHAPS_ON_LMDB = (
    "Stopped during a build, an LMDB database (nsslapd-backend-implement: mdb; the evidence does not contain it) "
    f"{LOSES_ENTRIES}"
)
UNDISTURBED = (
    "Do not change this index either, and start no second build or import of the same database: it would fail."
)
NUMBER_OR_NOT = (
    "No known schema defines it: if it is a number without an ordering rule, ranges would miss entries. The script "
    "(--script) reads the schema of the server before it changes anything; or give ldapdiag that schema, too."
)
APPROXIMATE = (
    "With an approx index, approximate matches find the entries that have all words of the value; without one, the "
    "server also returns some that have fewer."
)
"""Measured with 2.3.1: (businessCategory~=main street) found 3 entries without the index, and with it 1."""
REMOVED_TYPE = "A removed type is maintained and used until the next restart."
WHAT_DROPPING_RISKS = (
    f"{NAMED_IS_KEPT} A search that needs the index, even once a month, becomes unindexed, or is refused where the "
    "backend requires an index. Only a new build restores the index: never add it again without one. Index "
    "configuration is not replicated: repeat this on each replica."
)


def ldapsearch_command(server: ServerAddress, version: Version) -> str:
    """Return ldapsearch with the options to connect and bind as the manager."""
    del version  # the same in every version
    return as_manager("ldapsearch", server)


def add_indexes(place: IndexPlace, changes: Sequence[Change]) -> Remedy:
    """Add indexes and build them."""
    server, backend, configuration, schema = place
    chosen = to_add(changes, backend, configuration, schema)
    remedy = Remedy(
        title=f"Index {chosen.listed}" if chosen.changes else INDEX_BY_HAND,
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if chosen.changes else RemedyKind.ADVICE,
        text=adding(server, backend, "Index", chosen) if chosen.changes else chosen.why_none,
        changes=(
            f"Searches by these attributes use an index once it is built; until then they {_unindexed(backend)}, as "
            f"before. {_time_sentences(chosen, backend)}{_offline_sentence(chosen, backend)}{chosen.left_out_sentence}"
        ).strip(),
        risk=" ".join(
            [
                _risk_of_building(backend, configuration),
                *[APPROXIMATE for one in chosen.changes if "approx" in one.types][:1],
            ]
        ),
        undo=undoing_add(server, backend, chosen),
        verify=_verify_commands(server, backend, chosen.attributes),
        family=Family.DS389,
        needs=Needs.REINDEX,
        brief=brief(server, backend, chosen),
    )
    return advice_if_missing(remedy, _missing(backend))


def indexes_set(
    backend: Backend, changes: Sequence[Change], configuration: IndexConfiguration, schema: Schema
) -> tuple[IndexDefinition, ...]:
    """Return the index types that the commands of add_indexes add."""
    return set_by(to_add(changes, backend, configuration, schema))


def add_indexes_ldif(place: IndexPlace, changes: Sequence[Change]) -> str | None:
    """Return the same as LDIF for ldapmodify, with the build task; None where nothing can be done."""
    _, backend, configuration, schema = place
    chosen = to_add(changes, backend, configuration, schema)
    if not chosen.changes or not backend_name(backend):
        return None
    doubtful = chosen.perhaps_numbers
    chosen = replace(chosen, changes=tuple(change for change in chosen.changes if change not in doubtful))
    comments = [f"# Not in this LDIF: {one.attribute}. {NUMBER_OR_NOT}" for one in doubtful]
    entries = [*definitions(backend, chosen), task_entry(backend, chosen.attributes)]
    return "\n".join([*comments, *joined(entries if chosen.changes else ())]) + "\n"


def build_indexes(place: IndexPlace, attributes: Sequence[str]) -> Remedy:
    """Build configured indexes; all of them where no name is valid in a command."""
    server, backend, configuration, schema = place
    wanted = [attribute for attribute in attributes if is_attribute_type(attribute)]
    every = [definition.attribute for definition in backend.definitions if not definition.system]
    chosen = _as_configured(to_build(wanted or every, backend, schema), backend, schema)
    remedy = Remedy(
        title=f"Build the indexes of {', '.join(chosen.attributes)}" if wanted else "Build every index",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if chosen.changes else RemedyKind.ADVICE,
        text=adding(server, backend, "Build", chosen) if chosen.changes else chosen.why_none,
        changes="The indexes are used again. Until the build has ended, no search uses any index of these attributes"
        f"{_then_refused(backend)}. {_time_sentences(chosen, backend)}".strip(),
        risk=_risk_of_building(backend, configuration),
        undo="None needed: the same indexes are rebuilt.",
        verify=_verify_commands(server, backend, chosen.attributes),
        family=Family.DS389,
        needs=Needs.REINDEX,
        brief=brief(server, backend, chosen),
    )
    return advice_if_missing(remedy, _missing(backend))


def drop_indexes(place: IndexPlace, changes: Sequence[Change]) -> Remedy:
    """Remove indexes."""
    server, backend, configuration, schema = place
    chosen = to_drop(changes, backend, configuration, schema)
    types = [change for change in chosen.changes if not removes_all(change)]
    remedy = Remedy(
        title=f"Drop the index of {chosen.listed}" if chosen.changes else "Drop no index",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if chosen.changes else RemedyKind.ADVICE,
        text=dropping(server, backend, chosen, schema) if chosen.changes else chosen.why_none,
        changes=(
            f"Changes of these attributes become cheaper. {_kept_sentence(chosen)}"
            f"{REMOVED_TYPE + ' ' if types else ''}{chosen.left_out_sentence}"
        ).strip(),
        risk=WHAT_DROPPING_RISKS,
        undo=undoing_drop(server, backend, chosen) if chosen.changes else NOTHING_DONE,
        verify=_verify_commands(server, backend, chosen.attributes),
        family=Family.DS389,
        needs=Needs.RESTART if types else Needs.NONE,
    )
    return advice_if_missing(remedy, _missing(backend))


def _missing(backend: Backend) -> list[str]:
    return missing_names((backend_name(backend), NO_BACKEND))


def _risk_of_building(backend: Backend, configuration: IndexConfiguration) -> str:
    version = configuration.identity.version
    lmdb = ""
    if backend.kind == "mdb":
        lmdb = f"{ON_LMDB} {STOPS_SEARCHES} "
    elif not backend.kind and (not version or version >= FIRST_WITH_LMDB):
        lmdb = f"{PERHAPS_ON_LMDB} {STOPS_SEARCHES} "
    return f"{lmdb}{NO_RESTART} {UNDISTURBED} {INDEX_ON_EACH_REPLICA}"


def _as_configured(names: Iterable[str], backend: Backend, schema: Schema) -> EntryChanges:
    """Return changes that add nothing: the indexes of these attributes are to be built as they are configured."""
    found = ((name, backend.definition(schema.names(name))) for name in names)
    return EntryChanges(tuple(EntryChange(one, (), known=known) for one, known in found if known is not None))


def _unindexed(backend: Backend) -> str:
    """Return what becomes of an unindexed search, as a verb."""
    return "are refused" if backend.refuses_unindexed else "scan the database"


def _then_refused(backend: Backend) -> str:
    """Return what a build means where unindexed searches are refused, as a clause."""
    why = ": they are refused meanwhile, because the database requires an index (nsslapd-require-index)"
    return why if backend.refuses_unindexed else ""


def _time_sentences(chosen: EntryChanges, backend: Backend) -> str:
    """Return how long the build takes, and what it refuses meanwhile."""
    if not chosen.changes:
        return ""
    return f"{build_time(backend, [_types_and_rules(one)[0] for one in chosen.changes])}{READ_ONLY}"


def _offline_sentence(chosen: EntryChanges, backend: Backend) -> str:
    """Return a sentence on the existing indexes of the attributes."""
    named = ", ".join(change.attribute for change in chosen.changes if change.known is not None and change.known.types)
    unused = f"During the build no search by {named} uses an index, not even an existing type{_then_refused(backend)}. "
    return unused if named else ""


def _kept_sentence(chosen: EntryChanges) -> str:
    """Return a sentence on the dropped default indexes."""
    kept = ", ".join(change.attribute for change in chosen.changes if removes_all(change) and change.is_default)
    if not kept:
        return ""
    return (
        f"{kept}: is or may be a default index, so its entry stays, with nsIndexType none. Do not delete it: the "
        "server would recreate it at its next start, from cn=default indexes, empty, and searches would find nothing. "
    )


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
        [line for change in chosen.changes for line in _checks(backend, change)],
        *(f"no_unordered_number {number.attribute}" for number in chosen.perhaps_numbers),
    )


def brief(server: ServerAddress, backend: Backend, chosen: EntryChanges) -> str:
    """Return the few lines that configure and build indexes, and wait; empty: only the block is safe.

    One ldapmodify, which goes on after an error (-c), so that what it has configured is built in any case. Its task has
    a new name each time: the server keeps the entry of a task for a day, and would refuse a second one of that name.
    """
    if not chosen.changes or chosen.perhaps_numbers:
        return ""
    added = [[inert(line) for line in definition] for definition in definitions(backend, chosen)]
    ldif = joined([*added, [*_task("$task", backend, chosen.attributes), KEPT]])
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
            *waiting(search, f'"cn=$task,{TASKS}"', ENDED[1:-1], "nsTaskExitCode", "0$", 5),
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


def dropping(server: ServerAddress, backend: Backend, chosen: EntryChanges, schema: Schema) -> str:
    """Return the block that removes indexes, and checks that searches by their attributes still find entries."""
    named = f"{', '.join(chosen.attributes)} in {backend_name(backend)}"
    changes = joined(ldif_drop(change, backend, whole=removes_all(change)) for change in chosen.changes)
    lines = [
        f"step='Drop the index of {named}'",
        REACHED,
        *(
            line
            for name in chosen.attributes
            for line in in_no_definition(backend, name, schema, _suffix_read(backend))
        ),
        f"state='the index of {named} may be removed, in part or all'",
        here_document("change", *changes),
        f"state='the index of {named} is removed; the check of the answers has not passed'",
        *(line for change in chosen.changes for line in _answers(backend, change.attribute, change.types, ())),
        "answers_right",
    ]
    return changing(as_manager("ldapsearch", server), as_manager("ldapmodify", server), lines, DEFINITIONS)


def undoing_drop(server: ServerAddress, backend: Backend, chosen: EntryChanges) -> str:
    """Return the block that restores and builds the indexes."""
    search, modify = as_manager("ldapsearch", server), as_manager("ldapmodify", server)
    lines = joined(ldif_restore(change, backend) for change in chosen.changes)
    checks = [line for change in chosen.changes for line in _checks(backend, change)]
    title = f"Restore the index of {chosen.listed}"
    return building(search, modify, title, backend_name(backend), chosen.attributes, lines, checks)


def definitions(backend: Backend, chosen: EntryChanges) -> list[list[str]]:
    """Return the changes of entries; those of existing indexes come last, because their build must follow at once."""
    return [ldif_add(one, backend) for one in (*chosen.new, *chosen.extended)]


def task_entry(backend: Backend, attributes: Sequence[str]) -> list[str]:
    """Return the task entry that builds indexes.

    Its name is the same each time, so it is not kept for a day: until then the server would add the same indexes again,
    and refuse to build them.
    """
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
    return check_suffixes(backend, attribute, types, rules, unknown=_suffix_read(backend))


def _suffix_read(backend: Backend) -> str:
    """Return the word of a command that reads a suffix from the server."""
    entry = shlex.quote(container(backend).removeprefix("cn=index,"))
    return f'"$(suffix_of {entry})"'


RATE, RATE_SUB = (5_000, 60_000), (2_000, 10_000)
"""Entries per second of each attribute, without and with an index of substrings. Measured with 2.3.1 on 2 processors:

eq of an attribute, Berkeley DB      12,000 to 38,000
sub, or eq and sub                   4,100 to 6,500
eq, LMDB                             20,000
eq of three attributes in one task   20,000: a task reads each entry once
"""
SUBSTRING = "sub"


def build_time(backend: Backend, types: Iterable[Iterable[str]]) -> str:
    """Return a sentence: how long the build of attributes takes, of each its types."""
    rates: list[Rate] = [RATE_SUB if SUBSTRING in one else RATE for one in types]
    read = f"{interval(RATE)} entries per second for an attribute, {interval(RATE_SUB)} with sub"
    if not rates:
        return ""
    if backend.entries is None:
        return f"The build reads {read}; the evidence does not contain the number of entries. "
    seconds = interval(build_seconds(backend.entries, rates))
    return f"The build takes {seconds} s ({number(backend.entries)} entries, {read}). "
