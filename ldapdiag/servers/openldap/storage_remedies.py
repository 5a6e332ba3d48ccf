"""The remedy that makes slapd flush each change of a database to the disk, and its undo. Tested with 2.5.13."""

from __future__ import annotations

import re
from shlex import quote
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.ldap_tools import as_root
from ldapdiag.servers.openldap.remedies import RESTART, modify
from ldapdiag.servers.storage_rules import WITH_FLUSHES

if TYPE_CHECKING:
    from ldapdiag.servers.openldap.written_storage import Written
    from ldapdiag.servers.server_address import ServerAddress

UNSAFE_FLAGS = frozenset({"nosync", "nometasync", "mapasync"})
BACKEND = re.compile(r"\{\d{1,6}\}[a-z]{1,20}", re.ASCII)
RISK = f"Each change then waits for two flushes of the disk, and {WITH_FLUSHES} A bulk load is faster with slapadd -q."


def flush_each_change(server: ServerAddress, one: Written, *, by_file: bool) -> Remedy | None:
    """Return the change of cn=config, or the edit of slapd.conf; None for a database that has no name."""
    if not BACKEND.fullmatch(one.backend):
        return None
    kept = tuple(flag for flag in one.flags if flag not in UNSAFE_FLAGS)
    return _by_file(server, one, kept) if by_file else _by_modification(server, one, kept)


def _by_modification(server: ServerAddress, one: Written, kept: tuple[str, ...]) -> Remedy:
    """Return the change of cn=config. slapd may have both settings: one modification writes both."""
    entry = f"olcDatabase={one.backend},cn=config"
    return Remedy(
        title=f"Flush each change of the database {one.backend} to the disk",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, *_replacing(entry, "FALSE", kept)),
        changes="slapd confirms a change when it is on the disk, from the next change on, which also flushes what was "
        "changed before. No restart is needed.",
        risk=RISK,
        undo=modify(server, *_replacing(entry, one.no_sync, one.flags)),
        verify=f"{as_root('ldapsearch', server)} -LLL -b {quote(entry)} -s base olcDbNoSync olcDbEnvFlags",
        family=Family.OPENLDAP,
    )


def _replacing(entry: str, no_sync: str, flags: tuple[str, ...]) -> list[str]:
    """Return the LDIF that sets both settings; without a value it removes one."""
    value = [f"olcDbNoSync: {'TRUE' if no_sync.upper() == 'TRUE' else 'FALSE'}"] if no_sync else []
    head = [f"dn: {entry}", "changetype: modify", "replace: olcDbNoSync", *value, "-"]
    return [*head, "replace: olcDbEnvFlags", *(f"olcDbEnvFlags: {flag}" for flag in flags)]


def _by_file(server: ServerAddress, one: Written, kept: tuple[str, ...]) -> Remedy:
    """Return the edit of slapd.conf, by hand: nothing but its order shows which lines belong to a database."""
    unsafe = [flag for flag in one.flags if flag not in kept]
    removed = [
        *(["the line 'dbnosync'"] if one.no_sync.upper() == "TRUE" else []),
        *([f"{' and '.join(unsafe)} from the lines 'envflags' (and a line that is then empty)"] if unsafe else []),
    ]
    return Remedy(
        title=f"Flush each change of the database {one.backend} to the disk",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=f"In slapd.conf, in the section of the database number {one.backend[1:].partition('}')[0]} "
        f"({one.backend}), remove {', and '.join(removed)}. "
        f"Test the file with slaptest -u, then restart slapd: {RESTART}.",
        changes="From its next start on, slapd confirms a change when it is on the disk.",
        risk=f"A restart. {RISK}",
        undo="",
        verify="",
        family=Family.OPENLDAP,
        needs=Needs.RESTART,
    )
