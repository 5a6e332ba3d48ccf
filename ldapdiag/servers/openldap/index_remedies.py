"""Index remedies of slapd: add, build and drop indexes. All commands and effects were tested with 2.5.13 and back-mdb.

during the build of a new index              searches scan as before and find all entries
a type added to an indexed attribute         its other types stay in use
slapd stopped before the build has ended     treats the index as complete afterwards: 47 of 600 entries were found
a database that is full during the build     the same, without a message: 1,900 of 8,000 entries were found
cn=config changed during the build           slapd answers no request until the build has ended
cn=config changed during a search            it may end with err 51 and some of its entries
a word without letters after another         an approx index found 0 of 98 entries for `Foo 12`
a line removed and added by one change       is not built again; by two changes it is
a new index line in slapd.conf               nothing is found by it until slapindex has run (slapd_conf.py)

The remedy that lets slapd keep ID lists of more than 65,535 entries (idlexp). Effect and undo: tested with 2.5.13.

A list beyond 2^idlexp entries becomes the range from the first to the last; only slapindex -t, which empties the index
before it builds it, makes a list of it again. Until then the index lacks entries, so slapd stays stopped if that fails.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import Assertion
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, is_attribute_description
from ldapdiag.servers.commands.ldap_tools import as_root
from ldapdiag.servers.commands.remedy_texts import INDEX_BY_HAND, NO_SUFFIX, advice_if_missing
from ldapdiag.servers.index_remedies import build_seconds, interval
from ldapdiag.servers.indexes.candidates import Change, IndexPlace
from ldapdiag.servers.indexes.index_answers import FUNCTIONS
from ldapdiag.servers.openldap.index_changes import rewritten, with_types, without_types
from ldapdiag.servers.openldap.index_commands import (
    SLAPD_CONF,
    Procedure,
    answers_of,
    block_of,
    brief,
    building,
    changing,
    entry_of,
    halves_of,
    modification,
    procedure_of,
    suffix_of,
)
from ldapdiag.servers.openldap.index_lines import SUBSTRING_TYPES, types_of
from ldapdiag.servers.openldap.index_lookup import LONGEST_LIST
from ldapdiag.servers.openldap.online_build import ABOVE, STOPPED, WATCH, build_function
from ldapdiag.servers.openldap.online_build import RESTARTED_UNPROVEN as UNPROVEN
from ldapdiag.servers.openldap.slapd_conf import shown
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.filter_tree import Node
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.commands.server_address import ServerAddress
    from ldapdiag.servers.openldap.index_changes import LineChanges

EXPECTED_IN_LOG = (
    "It must be answered within milliseconds: slapd does not log unindexed searches, but from 2.5 on its SEARCH RESULT "
    "in the log has an etime."
)
LIBRARIES: tuple[str, ...] = (FUNCTIONS, WATCH, STOPPED)
BETWEEN_LDIF = (
    "Apply this part, without the number signs, only when ldapsearch -b cn=Threads,cn=Monitor -s one "
    "'(monitoredInfo=*online_index*)' finds no entry: a change of cn=config while an index is built stops every "
    "database of the server until the build has ended. --script waits by itself."
)
IN_BACKGROUND = (
    "slapd builds the index in the background, entry by entry. Until the build has ended, searches scan the database "
    "as before and find all entries. The monitor database shows the build (cn=Tasklist,cn=Threads,cn=Monitor); where "
    "it does not, the commands change nothing. "
)
UNDISTURBED = (
    "Stopped before the build has ended, slapd would treat the incomplete index as complete, and searches would "
    "silently miss entries: let nothing stop it (if so, remove the line and add it again). Do not change cn=config "
    "either: slapd would answer no request until the build has ended. "
)
BUSY = "A search that is answered at the moment of the change may end early, with the result 51 (busy). "
APPROXIMATE = (
    "With an approx index, slapd finds nothing for a word without letters that follows another, as in (cn~=Main 12); "
    "without the index, it does. "
)
TWO_CHANGES = "slapd does not build a line that one change removes and adds, so there are two."
OFFLINE = (
    "If a command fails, the former index lines are restored before slapd starts. A power failure while slapindex runs "
    "can damage the database: keep the output of slapcat. "
)
BY_FILE = (
    "With the new line, but without slapindex, slapd starts all the same, and searches by the attribute find nothing: "
    "nothing else may start slapd between the edit and these commands. A power failure while slapindex runs can damage "
    "the database: keep the output of slapcat. "
)
EACH_SERVER = (
    "Index configuration is not replicated, unless cn=config is: repeat this on each replica, one at a time, off peak. "
    "Every index makes changes of its attribute more expensive, sub the most."
)


def ldapsearch_command(server: ServerAddress, version: Version) -> str:
    """Return ldapsearch as the session of the evidence, else for root on the server itself."""
    del version  # the same in every version
    return as_root("ldapsearch", server)


def add_indexes(place: IndexPlace, changes: Sequence[Change]) -> Remedy:
    """Add indexes and build them; `schema` has the supertypes whose lines were used before."""
    server, backend, configuration, schema = place
    wanted = with_types(changes, backend, schema)
    title = f"Index {wanted.listed}"
    text = changing(server, title, wanted, backend, configuration, schema)
    procedure = procedure_of(wanted, backend, configuration)
    remedy = Remedy(
        title=title if text else INDEX_BY_HAND,
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if text else RemedyKind.ADVICE,
        text=text or _advice(wanted),
        changes=(
            f"Searches by these attributes use an index once it is built. {_building(procedure, backend)}"
            f"{wanted.left_out_sentence}"
        ).strip(),
        risk=f"{_risk(procedure, backend, wanted.added)}{EACH_SERVER}",
        undo=changing(server, f"Undo: {title}", wanted.reversed, backend, configuration, schema),
        verify=_shown(server, backend, configuration),
        family=Family.OPENLDAP,
        needs=Needs.REINDEX,
        brief=brief(server, [wanted], backend, procedure),
    )
    return advice_if_missing(remedy, _missing(backend, procedure))


def indexes_set(
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,  # noqa: ARG001  part of the interface
    schema: Schema,
) -> tuple[IndexDefinition, ...]:
    """Return the indexes that the commands of add_indexes set: whole lines, those of attributes beside them too."""
    return with_types(changes, backend, schema).written


def add_indexes_ldif(place: IndexPlace, changes: Sequence[Change]) -> str | None:
    """Return the same as LDIF for ldapmodify; None unless slapd shows the end of the build, or nothing can be done."""
    _, backend, configuration, schema = place
    entry = entry_of(backend)
    wanted = with_types(changes, backend, schema)
    if entry is None or not wanted.added_lines or procedure_of(wanted, backend, configuration) is not Procedure.ONLINE:
        return None
    return "\n".join(modification(entry, wanted)) + "\n"


def build_indexes(place: IndexPlace, attributes: Sequence[str]) -> Remedy:
    """Build configured indexes; all of the database where no name is valid in a command."""
    server, backend, configuration, schema = place
    lines = rewritten(attributes, backend, schema)
    procedure = procedure_of(lines, backend, configuration)
    if procedure is Procedure.ONLINE and not (lines.removed_lines and entry_of(backend)):
        procedure = Procedure.OFFLINE
    title = f"Build the indexes of {lines.listed}" if lines.listed else "Build every index"
    remedy = Remedy(
        title=title,
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=building(server, title, lines, backend, configuration, schema),
        changes=(
            f"The indexes are complete again. {_building(procedure, backend)}"
            f"{TWO_CHANGES if procedure is Procedure.ONLINE else ''}"
        ).strip(),
        risk=f"{_risk(procedure, backend, lines.added)}{EACH_SERVER}",
        undo="",
        verify=_shown(server, backend, configuration),
        family=Family.OPENLDAP,
        needs=Needs.REINDEX,
        brief=brief(server, halves_of(lines), backend, procedure),
    )
    return advice_if_missing(remedy, _missing(backend, procedure))


def drop_indexes(place: IndexPlace, changes: Sequence[Change]) -> Remedy:
    """Remove indexes; never one that slapd itself needs."""
    server, backend, configuration, schema = place
    wanted = without_types(changes, backend, schema)
    title = f"Drop the index of {wanted.listed}"
    text = changing(server, title, wanted, backend, configuration, schema)
    procedure = procedure_of(wanted, backend, configuration)
    remedy = Remedy(
        title=title if text else "Drop no index",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if text else RemedyKind.ADVICE,
        text=text or _advice(wanted),
        changes=f"Changes of these attributes become cheaper. {wanted.left_out_sentence}".strip(),
        risk=(
            "A search that needs the index, even once a month, becomes unindexed. Only a new build restores the index. "
            f"{_interruption(procedure, backend, wanted)}"
            "Index configuration is not replicated, unless cn=config is: repeat this on each replica."
        ),
        undo=changing(server, f"Undo: {title}", wanted.reversed, backend, configuration, schema),
        verify=_shown(server, backend, configuration),
        family=Family.OPENLDAP,
        needs=Needs.RESTART if procedure in {Procedure.FILE, Procedure.OFFLINE} else Needs.NONE,
    )
    return advice_if_missing(remedy, _missing(backend, procedure))


def _building(procedure: Procedure, backend: Backend) -> str:
    return f"{IN_BACKGROUND}{how_long_online(backend)} " if procedure is Procedure.ONLINE else ""


def _risk(procedure: Procedure, backend: Backend, built: Sequence[Change]) -> str:
    """Return what a build costs searches, and what must not happen meanwhile."""
    lost = APPROXIMATE if any(change.type == "approx" for change in built) else ""
    if procedure in {Procedure.ONLINE, Procedure.UNWATCHED}:
        return f"{UNDISTURBED}{BUSY}{lost}"
    return f"{how_long_stopped(backend, built)}{BY_FILE if procedure is Procedure.FILE else OFFLINE}{lost}"


def _interruption(procedure: Procedure, backend: Backend, lines: LineChanges) -> str:
    """Return what the removal of lines costs searches."""
    if procedure in {Procedure.FILE, Procedure.OFFLINE}:
        return how_long_stopped(backend, ())
    return UNDISTURBED if lines.added_lines else "While another index is built, slapd would answer no request. "


def _missing(backend: Backend, procedure: Procedure) -> list[str]:
    """Return the names that the commands need and the evidence lacks; not the server's: root runs them there."""
    return [NO_SUFFIX] if procedure in {Procedure.FILE, Procedure.OFFLINE} and not suffix_of(backend) else []


def _shown(server: ServerAddress, backend: Backend, configuration: IndexConfiguration) -> str:
    entry = entry_of(backend)
    if configuration.file == SLAPD_CONF or entry is None:
        return shown(suffix_of(backend))
    return f"{as_root('ldapsearch', server)} -LLL -b {shlex.quote(entry)} -s base olcDbIndex"


def _advice(lines: LineChanges) -> str:
    """Return the advice for changes that no command can make."""
    done = (
        f"Set in the configuration of the database: {lines.listed}. "
        if lines.removed_lines or lines.added_lines
        else ""
    )
    return f"{done}{lines.left_out_sentence}".strip() or "Nothing to change: the index lines are correct."


DEFAULT, GREATEST = 16, 30
"""Exponents: slapd-mdb(5), idlexp."""
STACK = 16
"""Lists that a thread keeps (searchstack), of twice the length, with 8 octets for each entry."""

LENGTHEN = r"""configured() {
runuser -u "$user" -- slapcat -n 0 ${folder:+-F "$folder"} -o ldif-wrap=no -a '(olcBackend=*mdb)' | sed -n "s/^$1: //p"
}
after() {
if [ -n "$entry" ]; then
printf '%s\n' "dn: $entry" 'changetype: modify' 'replace: olcBkMdbIdlExp' "olcBkMdbIdlExp: $exponent"
else
printf '%s\n' 'dn: olcBackend=mdb,cn=config' 'changetype: add' 'objectClass: olcBackendConfig' \
'objectClass: olcMdbBkConfig' 'olcBackend: mdb' "olcBkMdbIdlExp: $exponent"
fi
}
lengthen() (
trap 'systemctl start slapd' EXIT
trap 'exit 1' HUP INT TERM
stop
after | modify
trap '' HUP INT TERM
trap - EXIT
build || refuse 'slapindex failed: the index is incomplete, so slapd is not started. Run slapindex again, then start it'
start_slapd
)"""


def raise_scan_limit(
    server: ServerAddress, backend: Backend, filter_: Node | None, entries: int, schema: Schema
) -> Remedy | None:
    """Return the remedy for a filter of one assertion that so many entries match; None if its list is kept already."""
    exponent = max((entries + entries // 4).bit_length(), DEFAULT + 1)
    if not isinstance(filter_, Assertion) or entries <= LONGEST_LIST or exponent > GREATEST or backend.kind != "mdb":
        return None
    definition = backend.definition(schema.names(filter_.attribute))
    if definition is None or not is_attribute_description(definition.attribute):
        return None
    attribute, suffix, length = definition.attribute, suffix_of(backend), 1 << exponent
    built = [Change(attribute, type_) for type_ in sorted(types_of(definition))]
    by_file = not backend.entry
    title = f"Keep ID lists of up to {length:,} entries, and build the index of {attribute}"
    remedy = Remedy(
        title=title,
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE if by_file else RemedyKind.SHELL,
        text=_by_hand(exponent, suffix, attribute) if by_file else _commands(server, title, exponent, suffix, built),
        changes=f"Searches {filter_.text} and filters that contain it read a list of entries in place of all between "
        "the first and the last. An index that is not built again keeps its ranges.",
        risk=f"{how_long_stopped(backend, built)}If slapindex fails, slapd stays stopped, for the index is emptied "
        f"first. Each thread of slapd may then use {_megabytes(exponent)} MiB for lists, in place of "
        f"{_megabytes(DEFAULT)}; the setting is that of all mdb databases. It is not replicated, unless cn=config is.",
        undo="" if by_file else _commands(server, f"Undo: {title}", DEFAULT, suffix, built),
        verify="" if by_file else f"{as_root('ldapsearch', server)} -LLL -b cn=config '(olcBackend=*)' olcBkMdbIdlExp",
        family=Family.OPENLDAP,
        needs=Needs.REINDEX,
    )
    return advice_if_missing(remedy, [] if suffix else [NO_SUFFIX])


def _commands(server: ServerAddress, title: str, exponent: int, suffix: str, built: Iterable[Change]) -> str:
    changes = list(built)
    attribute = changes[0].attribute
    build = build_function(suffix, [attribute]).replace("slapindex -q", "slapindex -q -t")
    steps = ["only_slapd", f"entry=$(configured dn) exponent={exponent}", "can_change", ABOVE, "lengthen", UNPROVEN]
    return block_of(server, title, [build, LENGTHEN], [*steps, *answers_of(suffix, changes)], STOPPED)


def _by_hand(exponent: int, suffix: str, attribute: str) -> str:
    return (
        f"Write into slapd.conf, before the first database, 'backend mdb' and below it 'idlexp {exponent}'. Stop "
        f"slapd, run slapindex -q -t -b {shlex.quote(suffix)} {attribute} as its account, and start it only when "
        "that has succeeded."
    )


def _megabytes(exponent: int) -> int:
    return STACK * 2 * 8 * (1 << exponent) >> 20


STOP_AND_START = (1, 10)
"""Seconds: slapd waits for the operations that are running."""
SLAPINDEX, SLAPINDEX_SUB, ONLINE = (50_000, 500_000), (2_000, 100_000), (100, 2_000)
"""Entries per second; for slapindex of each attribute. Measured with 2.5.13 and back-mdb on an SSD:

slapindex -q, eq or pres                            200,000 to 450,000
slapindex -q, sub, values of 6 to 200 octets        2,100 to 150,000
the online indexer, one transaction for each entry  220 to 1,400; 60 to 80,000 in a file system in memory
stop and start of slapd, without a load             0.1 s
"""


def stopped_seconds(entries: int, changes: Iterable[Change]) -> tuple[int, int]:
    """Return for how many seconds slapd is stopped to build these indexes, at least and at most."""
    substring = {change.attribute.lower() for change in changes if change.type in SUBSTRING_TYPES}
    others = {change.attribute.lower() for change in changes} - substring
    shortest, longest = build_seconds(entries, [*[SLAPINDEX_SUB] * len(substring), *[SLAPINDEX] * len(others)])
    return shortest + STOP_AND_START[0], longest + STOP_AND_START[1]


def how_long_stopped(backend: Backend, changes: Iterable[Change]) -> str:
    """Return a sentence: for how long slapd is stopped, and by which assumptions."""
    rates = (
        f"slapindex reads {interval(SLAPINDEX)} entries per second for eq or pres of an attribute, "
        f"{interval(SLAPINDEX_SUB)} for sub"
    )
    built = tuple(changes)
    if not built:
        return f"slapd is stopped and started again: no search is answered for {interval(STOP_AND_START)} s. "
    if backend.entries is None:
        return (
            f"slapd is stopped while slapindex runs. The evidence does not contain the number of entries: {rates}, and "
            f"slapd needs {interval(STOP_AND_START)} s to stop and start. "
        )
    return (
        f"No search is answered for {interval(stopped_seconds(backend.entries, built))} s, while slapd is stopped: "
        f"{rates}, and there are {number(backend.entries)}. "
    )


def how_long_online(backend: Backend) -> str:
    """Return a sentence: how long the online indexer runs."""
    rate = f"{interval(ONLINE)} entries per second"
    if backend.entries is None:
        return f"The online indexer reads {rate}."
    seconds = build_seconds(backend.entries, [ONLINE])
    return f"The build takes {interval(seconds)} s ({number(backend.entries)} entries, {rate})."
