"""Where slapd keeps its databases, and when changes are on the disk, from its cn=config.

    dn: olcDatabase={1}mdb,cn=config
    olcSuffix: dc=example,dc=com
    olcDbDirectory: /var/lib/ldap
    olcDbNoSync: TRUE
    olcDbEnvFlags: nosync

`dbnosync` of slapd.conf becomes both olcDbNoSync and the flag nosync (2.5.13). A database that an accesslog overlay
writes is a changelog. Sources: slapd-config(5), slapd-mdb(5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import CONFIG
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes.openldap import BELOW_CONFIG, DATABASE, OF_SLAPD_D
from ldapdiag.evidence.indexes.slapd_lines import DATABASES
from ldapdiag.evidence.ldif import comparable
from ldapdiag.evidence.storage.settings import Role, SettingsReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry
    from ldapdiag.evidence.storage.settings import StorageSettings

DIRECTORY, LOG_FILE, LOGGED_TO = "olcDbDirectory", "olcLogFile", "olcAccessLogDB"
NO_SYNC, FLAGS, CHECKPOINT = "olcDbNoSync", "olcDbEnvFlags", "olcDbCheckpoint"
OF_DATABASES = (NO_SYNC, FLAGS, CHECKPOINT)
MARK = "structuralObjectClass"
"""In every entry of slapd.d, and requested by a collection that requests all of these settings."""
WHOLE = (MARK, NO_SYNC, "olcRootDN", "olcLastMod", "olcDbMaxSize", "olcAccess")
"""An entry with one of these is no excerpt that lacks the settings."""


class OpenldapStorageSettings:
    """Makes one StorageSettings from the databases in cn=config."""

    def __init__(self, document: Document) -> None:
        self.reader = SettingsReader(document)
        self.folders: dict[str, tuple[str, str]] = {}
        """By suffix, comparable: the name of a database and its folder."""
        self.logged_to: set[str] = set()
        """Suffixes that an accesslog overlay writes, comparable."""
        self.partial: set[str] = set()
        self.file = ""

    def take(self, entry: Entry) -> None:
        """Read cn=config, a database or an overlay of one."""
        if entry.key == CONFIG:
            if entry.first(LOG_FILE):
                self.reader.keep_place(Role.ACCESS_LOG, entry.first(LOG_FILE))
            self.file = "slapd.conf" if entry.first("olcConfigFile") and not entry.first("olcConfigDir") else ""
        elif entry.key.endswith(BELOW_CONFIG) or entry.key.startswith(OF_SLAPD_D):
            self.logged_to.update(map(comparable, entry.values(LOGGED_TO)))
            database = DATABASE.fullmatch(entry.key)
            if database and database["kind"] in DATABASES:
                self._take_database(entry, database["name"])

    def facts(self) -> Iterator[StorageSettings]:
        """Return the fact, if a database was read."""
        for suffix, (backend, folder) in self.folders.items():
            role = Role.CHANGELOG if suffix in self.logged_to else Role.DATABASE
            self.reader.keep_place(role, folder, backend)
        complete = bool(self.reader.backends) and not self.partial
        if self.reader.backends:
            yield from self.reader.found(Family.OPENLDAP, complete=complete, file=self.file)

    def _take_database(self, entry: Entry, name: str) -> None:
        if DIRECTORY not in entry and not any(setting in entry for setting in OF_DATABASES):
            return  # the result of another search
        if name in self.reader.backends:
            return
        self.reader.keep_backend(name)
        self.reader.keep_settings(entry, OF_DATABASES, name)
        if entry.first(DIRECTORY):
            self.folders[comparable(entry.first("olcSuffix")) or name] = name, entry.first(DIRECTORY)
        if not any(mark in entry for mark in WHOLE):
            self.partial.add(name)
