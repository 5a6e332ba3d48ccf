"""Indexes of slapd: how they are added, built and taken away. All of it was tried with 2.5.13 and back-mdb.

while a new index is built           searches scan as before, and find all of it
a type added to an indexed attribute its other types stay in use
slapd stopped before the build ends  it takes the half for the whole afterwards: 47 of 600 entries were found
cn=config changed while it is built  nobody gets an answer until the build has ended
an index line new in slapd.conf      nothing is found by it until slapindex has run (slapd_conf.py)
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, is_distinguished_name, ldif_line
from ldapdiag.servers.missing_names import NO_SUFFIX, advice_if_missing
from ldapdiag.servers.openldap.index_changes import LineChanges, again, with_types, without_types
from ldapdiag.servers.openldap.remedies import modify
from ldapdiag.servers.openldap.slapd_conf import alone, building, checked, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.candidates import Change

SLAPD_CONF = "slapd.conf"
DATABASE = re.compile(r"\{\d{1,6}\}[a-z]+", re.ASCII)

AS_ROOT = "ldapsearch -Q -Y EXTERNAL -H ldapi:///"
SEARCH = f"{AS_ROOT} -LLL"
EXPECTED_IN_LOG = (
    "It must be answered within milliseconds: slapd notes no scan, but from 2.5 on its SEARCH RESULT in the log has an "
    "etime."
)
# bdb_online_index of 2.4 is named alike. Where root may not read cn=Monitor, or there is none, the loop ends at once.
UNTIL_BUILT = (
    f"while {SEARCH} -b cn=Tasklist,cn=Threads,cn=Monitor -s base monitoredInfo 2>/dev/null | grep -q online_index; "
    "do sleep 1; done    # until the build has ended"
)

IN_BACKGROUND = (
    "slapd builds in the background, an entry at a time (60 000 entries took 4.5 minutes; slapindex, with slapd "
    "stopped, less than a second). Until it has ended searches look at every entry, as today, and find all of it. The "
    "monitor database lists the build below cn=Tasklist,cn=Threads,cn=Monitor; without it nothing tells the end but "
    "the searches, which are quick then. "
)
UNDISTURBED = (
    "Until the build has ended, do not stop slapd: 2.5.13 takes the half-built index for the whole afterwards, and "
    "searches silently miss entries (delete the line, then add it again). And change nothing in cn=config: 2.5.13 "
    "answers nobody until the build has ended. "
)
OFFLINE = (
    "slapd is stopped while slapindex runs. With the new line, but without slapindex, it starts all the same, and "
    "searches by the attribute find nothing. "
)
EACH_SERVER = (
    "Index configuration is not replicated, unless cn=config is: do the same on each replica, one at a time, off peak. "
    "Every index makes writing its attribute dearer, sub the most."
)


def ldapsearch_command(server: str, version: Version) -> str:
    """Return ldapsearch as root has it at the server itself."""
    del server, version  # the same in each
    return AS_ROOT


def add_indexes(
    server: str, backend: Backend, changes: Sequence[Change], configuration: IndexConfiguration, schema: Schema
) -> Remedy:
    """Add indexes and build them; `schema` tells of supertypes whose lines have answered so far."""
    wanted = with_types(changes, backend, schema)
    by_file = configuration.file == SLAPD_CONF
    text = _done(wanted, backend, schema, by_file=by_file)
    remedy = Remedy(
        title=f"Index {wanted.listed}" if text else "Index what cannot be named in a command",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if text else RemedyKind.ADVICE,
        text=text or _in_words(wanted),
        changes=(
            "Searches by these attributes find their candidates in an index once it is built. "
            f"{'' if by_file else IN_BACKGROUND}{wanted.sentence}"
        ).strip(),
        risk=f"{OFFLINE if by_file else UNDISTURBED}{EACH_SERVER}",
        undo=_done(wanted.reversed, backend, schema, by_file=by_file),
        verify=_shown(backend, by_file=by_file),
        family=Family.OPENLDAP,
        needs=Needs.REINDEX,
    )
    return advice_if_missing(remedy, _lacking(backend, by_file=by_file))


def add_indexes_ldif(
    server: str,  # noqa: ARG001  the same question for every product
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
) -> str | None:
    """Return the same as LDIF for ldapmodify; None where a file sets the indexes, or nothing can be said."""
    entry = _entry(backend)
    wanted = with_types(changes, backend, schema)
    if configuration.file == SLAPD_CONF or entry is None or not (wanted.gone or wanted.come):
        return None
    return "\n".join(_ldif(entry, wanted)) + "\n"


def build_indexes(
    server: str, backend: Backend, attributes: Sequence[str], configuration: IndexConfiguration, schema: Schema
) -> Remedy:
    """Build indexes that are configured; all of the database where no name is fit for a command."""
    lines, entry = again(attributes, backend, schema), _entry(backend)
    by_file = configuration.file == SLAPD_CONF
    online = not by_file and entry is not None and bool(lines.gone)
    if online and entry is not None:
        gone, come = LineChanges(lines.gone, (), "", (), 0), LineChanges((), lines.come, "", (), 0)
        text = "\n".join([modify(*_ldif(entry, gone)), modify(*_ldif(entry, come)), UNTIL_BUILT])
    else:
        build = building(_suffix(backend), lines.attributes)
        text = checked(lines, _suffix(backend), schema, build) if by_file else alone(build)
    remedy = Remedy(
        title=f"Build the indexes of {lines.listed}" if lines.listed else "Build every index",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=text,
        changes=(
            f"The indexes are whole again. {IN_BACKGROUND if online else ''}"
            f"{'Lines that go and come in one change are not built anew.' if online else ''}"
        ).strip(),
        risk=f"{UNDISTURBED if online else OFFLINE}{EACH_SERVER}",
        undo="",
        verify=_shown(backend, by_file=by_file),
        family=Family.OPENLDAP,
        needs=Needs.REINDEX,
    )
    return advice_if_missing(remedy, _lacking(backend, by_file=not online))


def drop_indexes(
    server: str, backend: Backend, changes: Sequence[Change], configuration: IndexConfiguration, schema: Schema
) -> Remedy:
    """Take indexes away; never one that slapd itself needs."""
    wanted = without_types(changes, backend, schema)
    by_file = configuration.file == SLAPD_CONF
    text = _done(wanted, backend, schema, by_file=by_file)
    remedy = Remedy(
        title=f"Drop the index of {wanted.listed}" if text else "Drop no index",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if text else RemedyKind.ADVICE,
        text=text or _in_words(wanted),
        changes=f"Writing these attributes costs less. {wanted.sentence}".strip(),
        risk=(
            "A search that needs it once a month looks at every entry from now on. Only a build brings it back. Index "
            "configuration is not replicated, unless cn=config is: each replica by itself."
        ),
        undo=_done(wanted.reversed, backend, schema, by_file=by_file),
        verify=_shown(backend, by_file=by_file),
        family=Family.OPENLDAP,
        needs=Needs.RESTART if by_file else Needs.NONE,
    )
    return advice_if_missing(remedy, _lacking(backend, by_file=by_file))


def _done(lines: LineChanges, backend: Backend, schema: Schema, *, by_file: bool) -> str:
    """Return the commands that change lines, and build what they add; nothing where no line changes."""
    entry = _entry(backend)
    if not (lines.gone or lines.come) or (entry is None and not by_file):
        return ""
    if not by_file and entry is not None:
        return "\n".join([modify(*_ldif(entry, lines)), *([UNTIL_BUILT] if lines.come else [])])
    suffix = _suffix(backend)
    edit = [
        f"# In slapd.conf, in the section of the database with the suffix {suffix}",
        *(f"# take out:  index {_commented(one)}" for one in lines.gone),
        *(f"# put in:    index {_commented(one)}" for one in lines.come),
        "# Then this; it does nothing unless slapd.conf says so:",
    ]
    act = building(suffix, lines.attributes) if lines.added else ["systemctl restart slapd"]
    return "\n".join([*edit, checked(lines, suffix, schema, act)])


def _ldif(entry: str, lines: LineChanges) -> list[str]:
    """Return one modification of a database's entry: in two, slapd would build in between."""
    gone = [ldif_line("olcDbIndex", one) for one in lines.gone]
    come = [ldif_line("olcDbIndex", one) for one in lines.come]
    return [
        ldif_line("dn", entry),
        "changetype: modify",
        *(["delete: olcDbIndex", *gone] if gone else []),
        *(["-"] if gone and come else []),
        *(["add: olcDbIndex", *come] if come else []),
    ]


def _entry(backend: Backend) -> str | None:
    """Return the DN of a database's entry in cn=config; None where it is not known."""
    if is_distinguished_name(backend.entry):
        return backend.entry
    return f"olcDatabase={backend.name},cn=config" if DATABASE.fullmatch(backend.name) else None


def _suffix(backend: Backend) -> str:
    """Return a suffix of the database; empty where none is known."""
    return next((one for one in backend.suffixes if is_distinguished_name(one)), "")


def _lacking(backend: Backend, *, by_file: bool) -> list[str]:
    """Return what the commands need and is not told. The server is none of it: root is there."""
    return [NO_SUFFIX] if by_file and not _suffix(backend) else []


def _commented(line: str) -> str:
    """Return a line as it may stand behind a number sign: nothing ends the comment."""
    return " ".join(line.split()) if line.isprintable() else "(a line with characters that do not print)"


def _shown(backend: Backend, *, by_file: bool) -> str:
    entry = _entry(backend)
    if by_file or entry is None:
        return shown(_suffix(backend))
    return f"{SEARCH} -b {shlex.quote(entry)} -s base olcDbIndex"


def _in_words(lines: LineChanges) -> str:
    """Return what there is to say where no command can be given."""
    done = f"Set in the configuration of the database: {lines.listed}. " if lines.gone or lines.come else ""
    return f"{done}{lines.sentence}".strip() or "Nothing is to be changed: the lines are as they should be."
