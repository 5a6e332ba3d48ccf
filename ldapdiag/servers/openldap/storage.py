"""When slapd has its changes on the disk.

Measured with 2.5.13 by its calls of fdatasync and msync, and by a simulated power cut: with the defaults one change
waits for two flushes (data, then the meta page), and none was lost; with dbnosync all 15,388 changes of 2.5 s were
lost, with writemap and mapasync all 29,071, with nometasync the last one in each of three cuts. kill -9 lost none.
Sources: slapd-mdb(5); lmdb.h (MDB_NOSYNC, MDB_NOMETASYNC, MDB_MAPASYNC).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.servers.openldap.storage_remedies import flush_each_change
from ldapdiag.servers.openldap.written_storage import Written, written
from ldapdiag.servers.storage_rules import LOSS, UNTIL_WRITTEN, WRITE_BACK_SECONDS, Durability, Window, not_known

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.storage.settings import StoragePlace, StorageSettings
    from ldapdiag.remedy import Remedy
    from ldapdiag.servers.server_address import ServerAddress

DISORDER = "LMDB's pages reach the disk in any order, so the database may be damaged, not only older."
LAST = "A power cut or a crash of the system may lose the last confirmed change of the database."
DB_CONFIG = "The file DB_CONFIG of the database can turn the flushes off (DB_TXN_NOSYNC); it is not in the evidence."
NO_GAIN = (
    "writemap brought no gain with 2.5.13 (39 to 43 changes per second with it, 34 to 49 without), and a stray write "
    "of slapd can then damage the database."
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
