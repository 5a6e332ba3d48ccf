"""When slapd has its changes on the disk.

Measured with 2.5.13 by its calls of fdatasync and msync, and by a simulated power cut: with the defaults one change
waits for two flushes (data, then the meta page), and none was lost; with dbnosync all 15,388 changes of 2.5 s were
lost, with writemap and mapasync all 29,071, with nometasync the last one in each of three cuts. kill -9 lost none.
Sources: slapd-mdb(5); lmdb.h (MDB_NOSYNC, MDB_NOMETASYNC, MDB_MAPASYNC).

The remedy that makes slapd flush each change of a database to the disk, and its undo. Tested with 2.5.13.

What shortens the wait of slapd's writes for the disk. Measured with 2.5.13 and LMDB.

A change waits for two flushes, the data and then the meta page. With nometasync it waits for one: 72 to 83 changes per
second instead of 34 to 49 with a flush of 8 ms, and each of three power cuts lost the last acknowledged change, no more
(slapd-mdb(5): at most the last transaction). writemap brought nothing; nosync and mapasync lose seconds of changes and
are no remedy.
"""

from __future__ import annotations

import re
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.ldif import whole_number
from ldapdiag.evidence.storage import slapd_conf_settings, slapd_settings
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, alternative
from ldapdiag.servers.commands.ldap_tools import as_root
from ldapdiag.servers.openldap.remedies import RESTART, modify
from ldapdiag.servers.volumes.layout_remedies import faster_disk
from ldapdiag.servers.volumes.storage_rules import (
    LOSS,
    UNTIL_WRITTEN,
    WITH_FLUSHES,
    WRITE_BACK_SECONDS,
    Durability,
    Window,
    never_stops,
    not_known,
)

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.storage.settings import StoragePlace, StorageSettings
    from ldapdiag.servers.commands.server_address import ServerAddress

KNOWN_FLAGS = frozenset({"nosync", "nometasync", "writemap", "mapasync", "nordahead"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The settings of one database."""

    backend: str
    """{1}mdb"""
    names: tuple[str, str, str]
    """Of olcDbNoSync, olcDbEnvFlags and olcDbCheckpoint."""
    no_sync: str
    """TRUE, FALSE or empty."""
    flags: tuple[str, ...]
    checkpoint: str

    @property
    def is_lmdb(self) -> bool:
        """Return whether it is an LMDB database."""
        return self.backend.endswith("mdb")

    @property
    def is_unsynced(self) -> bool:
        """Return whether no change is flushed: either setting has this effect; after a start the last one read wins."""
        return self.no_sync.upper() == "TRUE" or "nosync" in self.flags

    @property
    def minutes(self) -> int | None:
        """Return the minutes between checkpoints; None: none is set."""
        return whole_number([*self.checkpoint.split(), "0"][1]) if self.checkpoint else None


def written(settings: StorageSettings, backend: str) -> Written:
    """Return the settings of one database."""
    of_file = bool(settings.file) and not any(setting.name.startswith("olc") for setting in settings.settings)
    source = slapd_conf_settings if of_file else slapd_settings
    flags = settings.value(source.FLAGS, backend).lower().split()
    return Written(
        backend=backend,
        names=(source.NO_SYNC, source.FLAGS, source.CHECKPOINT),
        no_sync=settings.value(source.NO_SYNC, backend),
        flags=tuple(dict.fromkeys(flag for flag in flags if flag in KNOWN_FLAGS)),
        checkpoint=settings.value(source.CHECKPOINT, backend),
    )


DISORDER = "LMDB's pages reach the disk in any order, so the database may be damaged, not only older."
LAST = "A power cut or a crash of the system may lose the last confirmed change of the database."
DB_CONFIG = "The file DB_CONFIG of the database can turn the flushes off (DB_TXN_NOSYNC); it is not in the evidence."
NO_GAIN = (
    "writemap brought no gain with 2.5.13 (39 to 43 changes per second with it, 34 to 49 without), and a stray write "
    "of slapd can then damage the database."
)
WHEN_FULL = (
    "slapd goes on. A change that needs new pages of an LMDB database is refused with result 80 (other); one that fits "
    "into pages that are free within the file still succeeds, and so do searches."
)
NO_MINUTES = "It bounds nothing: only the minutes of a checkpoint are implemented, and they are 0."


def durability(settings: StorageSettings, version: Version) -> tuple[Durability, ...]:
    """Return what applies to each database, then settings without effect."""
    del version  # the same in every version
    databases = [written(settings, backend) for backend in settings.backends]
    found = [one for each in databases for one in _of_database(each, complete=settings.complete)]
    return tuple(sorted(found, key=lambda one: not one.effective))


def places(settings: StorageSettings, version: Version, instance: str) -> tuple[StoragePlace, ...]:
    """Return the places in the text: every database names its folder."""
    del version, instance  # no default is the same in all builds
    return settings.places


stops_below = never_stops


def when_full(settings: StorageSettings, version: Version) -> str:
    """Return what slapd does. Measured with 2.5.13 on a full ext4 (tests/live/test_volume_full.py)."""
    del settings, version  # no setting changes it
    return WHEN_FULL


def make_safe(server: ServerAddress, settings: StorageSettings, unsafe: Durability, version: Version) -> Remedy | None:
    """Return the commands that make slapd flush each change; None where nothing has to be changed."""
    del version  # the same in every version
    if unsafe.is_safe or unsafe.window is Window.UNKNOWN:
        return None
    return flush_each_change(server, written(settings, unsafe.backend), by_file=bool(settings.file))


def _of_database(one: Written, *, complete: bool) -> list[Durability]:
    """Return what applies to a database, then its settings without effect."""
    no_sync, flags, _ = one.names
    if not one.is_lmdb and not one.is_unsynced:
        return [not_known(one.backend, no_sync, one.no_sync, DB_CONFIG)]
    if one.is_unsynced:
        return [_unsynced(one), *_without_effect(one)]
    if not complete and not one.no_sync and not one.flags:
        return [not_known(one.backend, no_sync)]
    by_flags = Durability(
        backend=one.backend,
        setting=flags,
        value=" ".join(one.flags),
        window=Window.LAST,
        flushes_per_write=1,
        tested=True,
    )
    if {"writemap", "mapasync"} <= {*one.flags}:
        lost = f"{LOSS} {UNTIL_WRITTEN} {DISORDER}"
        window, seconds = Window.SECONDS, WRITE_BACK_SECONDS
        return [replace(by_flags, window=window, window_seconds=seconds, loss=lost, corrupts=True, flushes_per_write=0)]
    if "nometasync" in one.flags:
        return [replace(by_flags, loss=LAST), *_without_effect(one)]
    safe = replace(by_flags, setting=no_sync, value=one.no_sync or "FALSE", window=Window.NONE, flushes_per_write=2)
    return [replace(safe, is_default=not one.no_sync), *_without_effect(one)]


def _unsynced(one: Written) -> Durability:
    """Return what a database that never flushes loses."""
    no_sync, flags, _ = one.names
    minutes, seconds, bound = one.minutes or 0, WRITE_BACK_SECONDS, UNTIL_WRITTEN
    if "writemap" in one.flags:  # lmdb.h: the system then has no hint when to write
        seconds = 60 * minutes
        bound = f"A checkpoint flushes them every {minutes} min." if minutes else "Nothing requests a flush."
    by_setting = one.no_sync.upper() == "TRUE"
    return Durability(
        backend=one.backend,
        setting=no_sync if by_setting else flags,
        value=one.no_sync if by_setting else " ".join(one.flags),
        window=Window.SECONDS if seconds else Window.UNBOUNDED,
        window_seconds=seconds or None,
        loss=f"{LOSS} {bound} {DISORDER}" if one.is_lmdb else f"{LOSS} {bound}",
        corrupts=one.is_lmdb,
        flushes_per_write=0,
        tested=one.is_lmdb,
    )


def _without_effect(one: Written) -> list[Durability]:
    """Return the settings that do nothing, or not what they are set for."""
    _, flags, checkpoint = one.names
    void = Durability(
        backend=one.backend, setting=flags, value="mapasync", window=Window.NONE, effective=False, tested=True
    )
    found = []
    if "mapasync" in one.flags and one.is_unsynced:
        found.append(replace(void, why="mapasync has no effect beside nosync, which requests no flush at all."))
    elif "mapasync" in one.flags and "writemap" not in one.flags:
        found.append(replace(void, why="mapasync has no effect without writemap: each change is flushed as before."))
    if "writemap" in one.flags and not one.is_unsynced:
        found.append(replace(void, value="writemap", why=NO_GAIN))
    if one.is_unsynced and one.minutes == 0:
        found.append(replace(void, setting=checkpoint, value=one.checkpoint, why=NO_MINUTES))
    return found


UNSAFE_FLAGS = frozenset({"nosync", "nometasync", "mapasync"})
BACKEND = pattern(r"\{\d{1,6}\}[a-z]{1,20}", re.ASCII)
FLUSH_RISK = (
    f"Each change then waits for two flushes of the disk, and {WITH_FLUSHES} A bulk load is faster with slapadd -q."
)


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
        risk=FLUSH_RISK,
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
        risk=f"A restart. {FLUSH_RISK}",
        undo="",
        verify="",
        family=Family.OPENLDAP,
        needs=Needs.RESTART,
    )


MDB = pattern(r"\{\d{1,6}\}mdb", re.ASCII)
FLAGS = "olcDbEnvFlags"
TITLE = "Flush once per change instead of twice"
CHANGES = "A write waits for one flush instead of two, and about twice as many are made per second."
COMMIT_RISK = (
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
        backend
        for backend in settings.backends
        if MDB.fullmatch(backend)
        and not {"nometasync", "nosync"} & {*settings.value(FLAGS, backend).lower().split()}
        and settings.value("olcDbNoSync", backend).upper() != "TRUE"
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
        risk=COMMIT_RISK,
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
        risk=COMMIT_RISK,
        undo="",
        verify="",
        family=Family.OPENLDAP,
    )
