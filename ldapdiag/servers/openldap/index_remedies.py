"""Index remedies of slapd: add, build and drop indexes. All commands and effects were tested with 2.5.13 and back-mdb.

during the build of a new index              searches scan as before and find all entries
a type added to an indexed attribute         its other types stay in use
slapd stopped before the build has ended     treats the index as complete afterwards: 47 of 600 entries were found
cn=config changed during the build           slapd answers no request until the build has ended
a new index line in slapd.conf               nothing is found by it until slapindex has run (slapd_conf.py)
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, is_distinguished_name, ldif_line
from ldapdiag.servers.ldap_tools import as_root
from ldapdiag.servers.missing_names import NO_SUFFIX, advice_if_missing
from ldapdiag.servers.openldap.index_changes import LineChanges, rewritten, with_types, without_types
from ldapdiag.servers.openldap.remedies import modify
from ldapdiag.servers.openldap.slapd_conf import building, checked, in_subshell, shown
from ldapdiag.servers.remedy_texts import INDEX_BY_HAND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.candidates import Change
    from ldapdiag.servers.server_address import ServerAddress

SLAPD_CONF = "slapd.conf"
DATABASE = re.compile(r"\{\d{1,6}\}[a-z]+", re.ASCII)

EXPECTED_IN_LOG = (
    "It must be answered within milliseconds: slapd does not log unindexed searches, but from 2.5 on its SEARCH RESULT "
    "in the log has an etime."
)
IN_BACKGROUND = (
    "slapd builds the index in the background, entry by entry (60,000 entries took 4.5 min; slapindex, with slapd "
    "stopped, less than 1 s). Until the build has ended, searches scan the database as before and find all entries. "
    "The monitor database lists the build below cn=Tasklist,cn=Threads,cn=Monitor; without it, only faster searches "
    "show its end. "
)
UNDISTURBED = (
    "Until the build has ended, do not stop slapd: 2.5.13 would treat the incomplete index as complete, and searches "
    "would silently miss entries (if so, delete the line and add it again). Do not change cn=config either: 2.5.13 "
    "would answer no request until the build has ended. "
)
OFFLINE = (
    "slapd is stopped while slapindex runs. With the new line, but without slapindex, slapd starts all the same, and "
    "searches by the attribute find nothing. "
)
EACH_SERVER = (
    "Index configuration is not replicated, unless cn=config is: repeat this on each replica, one at a time, off peak. "
    "Every index makes changes of its attribute more expensive, sub the most."
)


def ldapsearch_command(server: ServerAddress, version: Version) -> str:
    """Return ldapsearch as the session of the evidence, else for root on the server itself."""
    del version  # the same in every version
    return as_root("ldapsearch", server)


def add_indexes(
    server: ServerAddress,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
) -> Remedy:
    """Add indexes and build them; `schema` has the supertypes whose lines were used before."""
    wanted = with_types(changes, backend, schema)
    by_file = configuration.file == SLAPD_CONF
    text = _commands(server, wanted, backend, schema, by_file=by_file)
    remedy = Remedy(
        title=f"Index {wanted.listed}" if text else INDEX_BY_HAND,
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if text else RemedyKind.ADVICE,
        text=text or _advice(wanted),
        changes=(
            "Searches by these attributes use an index once it is built. "
            f"{'' if by_file else IN_BACKGROUND}{wanted.left_out_sentence}"
        ).strip(),
        risk=f"{OFFLINE if by_file else UNDISTURBED}{EACH_SERVER}",
        undo=_commands(server, wanted.reversed, backend, schema, by_file=by_file),
        verify=_shown(server, backend, by_file=by_file),
        family=Family.OPENLDAP,
        needs=Needs.REINDEX,
    )
    return advice_if_missing(remedy, _missing(backend, by_file=by_file))


def add_indexes_ldif(
    server: ServerAddress,  # noqa: ARG001  part of the interface
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
) -> str | None:
    """Return the same as LDIF for ldapmodify; None if the indexes are set in slapd.conf, or nothing can be done."""
    entry = _entry(backend)
    wanted = with_types(changes, backend, schema)
    if configuration.file == SLAPD_CONF or entry is None or not (wanted.removed_lines or wanted.added_lines):
        return None
    return "\n".join(_ldif(entry, wanted)) + "\n"


def build_indexes(
    server: ServerAddress,
    backend: Backend,
    attributes: Sequence[str],
    configuration: IndexConfiguration,
    schema: Schema,
) -> Remedy:
    """Build configured indexes; all of the database where no name is valid in a command."""
    lines, entry = rewritten(attributes, backend, schema), _entry(backend)
    by_file = configuration.file == SLAPD_CONF
    online = not by_file and entry is not None and bool(lines.removed_lines)
    if online and entry is not None:
        removal, addition = replace(lines, added_lines=()), replace(lines, removed_lines=())
        text = "\n".join(
            [modify(server, *_ldif(entry, removal)), modify(server, *_ldif(entry, addition)), _until_built(server)]
        )
    else:
        build = building(_suffix(backend), lines.attributes)
        text = checked(lines, _suffix(backend), schema, build) if by_file else in_subshell(build)
    remedy = Remedy(
        title=f"Build the indexes of {lines.listed}" if lines.listed else "Build every index",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=text,
        changes=(
            f"The indexes are complete again. {IN_BACKGROUND if online else ''}"
            f"{'Lines that one change removes and adds are not rebuilt, so there are two.' if online else ''}"
        ).strip(),
        risk=f"{UNDISTURBED if online else OFFLINE}{EACH_SERVER}",
        undo="",
        verify=_shown(server, backend, by_file=by_file),
        family=Family.OPENLDAP,
        needs=Needs.REINDEX,
    )
    return advice_if_missing(remedy, _missing(backend, by_file=not online))


def drop_indexes(
    server: ServerAddress,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
) -> Remedy:
    """Remove indexes; never one that slapd itself needs."""
    wanted = without_types(changes, backend, schema)
    by_file = configuration.file == SLAPD_CONF
    text = _commands(server, wanted, backend, schema, by_file=by_file)
    remedy = Remedy(
        title=f"Drop the index of {wanted.listed}" if text else "Drop no index",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if text else RemedyKind.ADVICE,
        text=text or _advice(wanted),
        changes=f"Changes of these attributes become cheaper. {wanted.left_out_sentence}".strip(),
        risk=(
            "A search that needs the index, even once a month, becomes unindexed. Only a new build restores the index. "
            "Index configuration is not replicated, unless cn=config is: repeat this on each replica."
        ),
        undo=_commands(server, wanted.reversed, backend, schema, by_file=by_file),
        verify=_shown(server, backend, by_file=by_file),
        family=Family.OPENLDAP,
        needs=Needs.RESTART if by_file else Needs.NONE,
    )
    return advice_if_missing(remedy, _missing(backend, by_file=by_file))


def _commands(server: ServerAddress, lines: LineChanges, backend: Backend, schema: Schema, *, by_file: bool) -> str:
    """Return the commands that change lines and build what they add; empty if no line changes."""
    entry = _entry(backend)
    if not (lines.removed_lines or lines.added_lines) or (entry is None and not by_file):
        return ""
    if not by_file and entry is not None:
        return "\n".join([modify(server, *_ldif(entry, lines)), *([_until_built(server)] if lines.added_lines else [])])
    suffix = _suffix(backend)
    edit = [
        f"# In slapd.conf, in the section of the database with the suffix {suffix}:",
        *(f"# remove:  index {_commented(one)}" for one in lines.removed_lines),
        *(f"# add:     index {_commented(one)}" for one in lines.added_lines),
        "# Then run this; it does nothing unless slapd.conf was changed as above:",
    ]
    act = building(suffix, lines.attributes) if lines.added else ["systemctl restart slapd"]
    return "\n".join([*edit, checked(lines, suffix, schema, act)])


def _until_built(server: ServerAddress) -> str:
    """Return a loop that ends with the build."""
    # bdb_online_index of 2.4 matches too. If root may not read cn=Monitor, or there is none, the loop ends at once.
    tasks = f"{as_root('ldapsearch', server)} -LLL -b cn=Tasklist,cn=Threads,cn=Monitor -s base monitoredInfo"
    return f"while {tasks} 2>/dev/null | grep -q online_index; do sleep 1; done    # until the build has ended"


def _ldif(entry: str, lines: LineChanges) -> list[str]:
    """Return one modification of a database's entry; between two, slapd would start to build."""
    removed = [ldif_line("olcDbIndex", one) for one in lines.removed_lines]
    added = [ldif_line("olcDbIndex", one) for one in lines.added_lines]
    return [
        ldif_line("dn", entry),
        "changetype: modify",
        *(["delete: olcDbIndex", *removed] if removed else []),
        *(["-"] if removed and added else []),
        *(["add: olcDbIndex", *added] if added else []),
    ]


def _entry(backend: Backend) -> str | None:
    """Return the DN of a database's entry in cn=config; None if it is not known."""
    if is_distinguished_name(backend.entry):
        return backend.entry
    return f"olcDatabase={backend.name},cn=config" if DATABASE.fullmatch(backend.name) else None


def _suffix(backend: Backend) -> str:
    """Return a suffix of the database; empty if none is known."""
    return next((one for one in backend.suffixes if is_distinguished_name(one)), "")


def _missing(backend: Backend, *, by_file: bool) -> list[str]:
    """Return the names that the commands need and the evidence lacks; not the server's: root runs them there."""
    return [NO_SUFFIX] if by_file and not _suffix(backend) else []


def _commented(line: str) -> str:
    """Return a line for use in a comment, which nothing in it ends."""
    return " ".join(line.split()) if line.isprintable() else "(a line with non-printable characters)"


def _shown(server: ServerAddress, backend: Backend, *, by_file: bool) -> str:
    entry = _entry(backend)
    if by_file or entry is None:
        return shown(_suffix(backend))
    return f"{as_root('ldapsearch', server)} -LLL -b {shlex.quote(entry)} -s base olcDbIndex"


def _advice(lines: LineChanges) -> str:
    """Return the advice for changes that no command can make."""
    done = (
        f"Set in the configuration of the database: {lines.listed}. "
        if lines.removed_lines or lines.added_lines
        else ""
    )
    return f"{done}{lines.left_out_sentence}".strip() or "Nothing to change: the index lines are correct."
