"""What shortens the wait of slapd's writes for the disk. Measured with 2.5.13 and LMDB.

A change waits for two flushes, the data and then the meta page. With nometasync it waits for one: 72 to 83 changes per
second instead of 34 to 49 with a flush of 8 ms, and each of three power cuts lost the last acknowledged change, no more
(slapd-mdb(5): at most the last transaction). writemap brought nothing; nosync and mapasync lose seconds of changes and
are no remedy.
"""

from __future__ import annotations

import re
from shlex import quote
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Remedy, RemedyKind, Where, alternative
from ldapdiag.servers.faster_disk import faster_disk
from ldapdiag.servers.ldap_tools import as_root
from ldapdiag.servers.openldap.remedies import modify

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.storage.settings import StorageSettings
    from ldapdiag.servers.server_address import ServerAddress

MDB = re.compile(r"\{\d{1,6}\}mdb", re.ASCII)
FLAGS = "olcDbEnvFlags"
TITLE = "Flush once per change instead of twice"
CHANGES = "A write waits for one flush instead of two, and about twice as many are made per second."
RISK = (
    "A power cut, a crash of the kernel or a reset of the storage may lose the last acknowledged change. "
    "It is wrong where that change matters on its own: a password, the lock of an account, a provider whose "
    "consumers may already have it. It suits a consumer, which receives the change again."
)


def shorten_commits(
    server: ServerAddress, settings: StorageSettings | None, version: Version = ()
) -> tuple[Remedy, ...]:
    """Return the remedies, the one that loses nothing first."""
    del version  # the same in every version
    how = (
        "copy the database with mdb_copy, or slapcat and slapadd -q, into a folder on the new volume, set "
        "olcDbDirectory (slapd.conf: directory) to it, and start slapd. LMDB keeps no log of its own, so the whole "
        "database moves."
    )
    moved = faster_disk(server, "the database", how, Family.OPENLDAP)
    if settings is None:
        return (moved, alternative(_by_hand(server)))
    flushed_twice = [
        one
        for one in settings.backends
        if MDB.fullmatch(one)
        and not {"nometasync", "nosync"} & {*settings.value(FLAGS, one).lower().split()}
        and settings.value("olcDbNoSync", one).upper() != "TRUE"
    ]
    if settings.file or not settings.complete:
        return (moved, alternative(_by_hand(server))) if flushed_twice or not settings.backends else (moved,)
    return (moved, *(alternative(_once(server, one)) for one in flushed_twice))


def _once(server: ServerAddress, backend: str) -> Remedy:
    entry = f"olcDatabase={backend},cn=config"
    flag = f"{FLAGS}: nometasync"
    return Remedy(
        title=f"{TITLE} in {backend}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, f"dn: {entry}", "changetype: modify", f"add: {FLAGS}", flag),
        changes=f"{CHANGES} It applies at once.",
        risk=RISK,
        undo=modify(server, f"dn: {entry}", "changetype: modify", f"delete: {FLAGS}", flag),
        verify=f"{as_root('ldapsearch', server)} -LLL -b {quote(entry)} -s base {FLAGS}",
        family=Family.OPENLDAP,
    )


def _by_hand(server: ServerAddress) -> Remedy:
    return Remedy(
        title=TITLE,
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text="Add the value nometasync to olcDbEnvFlags of the database (slapd.conf: the line 'envflags nometasync' in "
        "its section, and a restart).",
        changes=CHANGES,
        risk=RISK,
        undo="",
        verify="",
        family=Family.OPENLDAP,
    )
