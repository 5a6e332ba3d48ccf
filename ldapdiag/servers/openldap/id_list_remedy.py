"""The remedy that lets slapd keep ID lists of more than 65,535 entries (idlexp). Effect and undo: tested with 2.5.13.

A list beyond 2^idlexp entries becomes the range from the first to the last; only slapindex -t, which empties the index
before it builds it, makes a list of it again. Until then the index lacks entries, so slapd stays stopped if that fails.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import Assertion
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, is_attribute_description
from ldapdiag.servers.candidates import Change
from ldapdiag.servers.ldap_tools import as_root
from ldapdiag.servers.missing_names import NO_SUFFIX, advice_if_missing
from ldapdiag.servers.openldap import build_times
from ldapdiag.servers.openldap.index_commands import answers_of, block_of, suffix_of
from ldapdiag.servers.openldap.index_lines import types_of
from ldapdiag.servers.openldap.index_lookup import LONGEST_LIST
from ldapdiag.servers.openldap.offline_build import ABOVE, STOPPED, UNPROVEN, build_function

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.filter_tree import Node
    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.server_address import ServerAddress

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
        risk=f"{build_times.stopped(backend, built)}If slapindex fails, slapd stays stopped, for the index is emptied "
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
