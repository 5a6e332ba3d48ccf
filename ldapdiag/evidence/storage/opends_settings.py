"""Where OpenDJ, its relatives and PingDirectory keep their data, and when changes are on the disk.

    dn: ds-cfg-backend-id=userRoot,cn=Backends,cn=config
    ds-cfg-java-class: org.opends.server.backends.jeb.JEBackend
    ds-cfg-db-directory: db
    ds-cfg-db-txn-no-sync: false
    ds-cfg-db-txn-write-no-sync: true

The files of a backend are in a folder of its name below db-directory, which is relative to the folder of the instance.
dsconfig prints the same properties without `ds-cfg-`; those of durability only with --advanced.
Source: opendj-server-legacy, org.opends.server.backends.jeb (JEStorage, ConfigurableEnvironment).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes.opends import NAMES
from ldapdiag.evidence.storage.settings import Role, SettingsReader
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry
    from ldapdiag.evidence.storage.settings import StorageSettings

PREFIX = "ds-cfg-"
BACKEND, DIRECTORY, JAVA_CLASS = "backend-id", "db-directory", "java-class"
NO_SYNC, WRITE_NO_SYNC = "db-txn-no-sync", "db-txn-write-no-sync"
DURABILITY = "db-durability"
DISK_LOW, DISK_FULL = "disk-low-threshold", "disk-full-threshold"
OF_BACKENDS = (JAVA_CLASS, NO_SYNC, WRITE_NO_SYNC, DURABILITY, DISK_LOW, DISK_FULL)
PROPERTIES = frozenset({BACKEND, DIRECTORY, "enabled", *OF_BACKENDS})
"""The properties read of a backend, as dsconfig spells them."""
CHANGELOG, LOG_FILE = "ds-cfg-replication-db-directory", "ds-cfg-log-file"
PUBLISHERS = {
    "audit-log-publisher": Role.AUDIT_LOG,
    "access-log-publisher": Role.ACCESS_LOG,
    "error-log-publisher": Role.ERRORS_LOG,
}
"""Ends of the object classes of what writes logs: the first that an entry has. An audit log is one of access, too."""
ATTRIBUTES = (*(f"{PREFIX}{one}" for one in (DIRECTORY, *OF_BACKENDS[1:])), CHANGELOG, LOG_FILE)
"""The attributes read, beside those of indexes."""
FILTER = f"({PREFIX}{DIRECTORY}=*)({CHANGELOG}=*)({LOG_FILE}=*)"
"""Terms of a filter that matches the entries that are read."""
CONFIG_FILE = pattern(r"(/[^\s,]{1,1000})/config/config\.ldif\b")


class OpendsStorageSettings:
    """Makes one StorageSettings from the entries of backends, the replication server and access logs."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.reader = SettingsReader(document)
        self.of_ping = False
        self.closed = True

    def take(self, entry: Entry) -> None:
        """Read an entry of the configuration."""
        if entry.first("ds-cfg-enabled").lower() == "false":
            return
        backend = next((entry.first(name) for name in NAMES if name in entry), "")
        if backend and f"{PREFIX}{DIRECTORY}" in entry:
            self.closed &= entry.closed
            self._take_backend(entry, backend)
        if entry.first(CHANGELOG):
            self.reader.keep_place(Role.CHANGELOG, entry.first(CHANGELOG))
        classes = " ".join(entry.values("objectClass")).lower()
        role = next((role for publisher, role in PUBLISHERS.items() if publisher in classes), None)
        if entry.first(LOG_FILE) and role is not None:
            self.reader.keep_place(role, entry.first(LOG_FILE))

    def facts(self) -> Iterator[StorageSettings]:
        """Return the fact, if a backend was read."""
        if self.reader.backends:
            family = Family.PING if self.of_ping else Family.OPENDJ
            found = CONFIG_FILE.search(self.document.asked)
            yield from self.reader.found(family, complete=self.closed, root=found[1] if found else "")

    def _take_backend(self, entry: Entry, backend: str) -> None:
        self.reader.keep_backend(backend)
        self.of_ping |= entry.first(PREFIX + JAVA_CLASS).startswith("com.unboundid")
        self.reader.keep_place(Role.DATABASE, f"{entry.first(PREFIX + DIRECTORY)}/{backend}", backend)
        self.reader.keep_settings(entry, (PREFIX + one for one in OF_BACKENDS), backend)


def of_tables(document: Document, tables: Sequence[Mapping[str, str]]) -> Iterator[StorageSettings]:
    """Yield the settings in tables of dsconfig; only --advanced shows those of durability."""
    reader = SettingsReader(document)
    complete = True
    for properties in tables:
        backend, folder = properties.get(BACKEND, ""), properties.get(DIRECTORY, "")
        if not backend or not folder or properties.get("enabled") == "false":
            continue
        reader.keep_backend(backend)
        reader.keep_place(Role.DATABASE, f"{folder}/{backend}", backend)
        for name in OF_BACKENDS:
            if properties.get(name):
                reader.keep_setting(name, properties[name], backend)
        complete &= bool(properties.get(NO_SYNC) or properties.get(DURABILITY))
    of_ping = any(
        setting.name == JAVA_CLASS and setting.value.startswith("com.unboundid") for setting in reader.settings
    )
    yield from reader.found(Family.PING if of_ping else Family.OPENDJ, complete=complete)
