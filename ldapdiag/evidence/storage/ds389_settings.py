"""Where 389-ds and DSEE keep their data, and when changes are on the disk, from dse.ldif or a search.

    dn: cn=config,cn=ldbm database,cn=plugins,cn=config
    nsslapd-directory: /var/lib/dirsrv/slapd-ds1/db
    nsslapd-backend-implement: bdb

    dn: cn=bdb,cn=config,cn=ldbm database,cn=plugins,cn=config
    nsslapd-db-logdirectory: /var/lib/dirsrv/slapd-ds1/db
    nsslapd-db-durable-transaction: on

Where the entry of the implementation exists (cn=bdb, cn=mdb), 389-ds reads nsslapd-db-durable-transaction there and
ignores it above, although it shows both (2.3.1, by its calls of fdatasync). DSEE spells it in the plural.
Source: ldap/servers/slapd/back-ldbm/db-bdb/bdb_config.c; Oracle E28967.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import CONFIG
from ldapdiag.evidence.configuration.ds389 import identity_of
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes.ds389 import BELOW, DATABASES, NO_BACKENDS, VENDORS_OF_DSEE, rdns
from ldapdiag.evidence.storage.settings import Role, SettingsReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry
    from ldapdiag.evidence.storage.settings import StorageSettings

DIRECTORY, LOG_DIRECTORY, CHANGELOG = "nsslapd-directory", "nsslapd-db-logdirectory", "nsslapd-changelogdir"
ACCESS_LOG, LOG_BUFFERING = "nsslapd-accesslog", "nsslapd-accesslog-logbuffering"
ERRORS_LOG, AUDIT_LOG, FAILED_LOG = "nsslapd-errorlog", "nsslapd-auditlog", "nsslapd-auditfaillog"
ENABLED = "-logging-enabled"
LOGS = {
    ACCESS_LOG: Role.ACCESS_LOG,
    ERRORS_LOG: Role.ERRORS_LOG,
    AUDIT_LOG: Role.AUDIT_LOG,
    FAILED_LOG: Role.AUDIT_LOG,
}
OFF_BY_DEFAULT = (AUDIT_LOG, FAILED_LOG)
IMPLEMENTATION = "nsslapd-backend-implement"
DURABLE, DURABLE_IN_DSEE = "nsslapd-db-durable-transaction", "nsslapd-db-durable-transactions"
BATCH, LONGEST_WAIT = "nsslapd-db-transaction-batch-val", "nsslapd-db-transaction-batch-max-wait"
CHECKPOINT = "nsslapd-db-checkpoint-interval"
DISK_LOW, DISK_FULL = "nsslapd-disk-low-threshold", "nsslapd-disk-full-threshold"
"""Of DSEE, in MB."""
OF_DATABASES = (IMPLEMENTATION, DURABLE, DURABLE_IN_DSEE, BATCH, LONGEST_WAIT, CHECKPOINT, DISK_LOW, DISK_FULL)
ATTRIBUTES = (DIRECTORY, LOG_DIRECTORY, *OF_DATABASES)
"""The attributes read of the entries below DATABASES."""
MONITORING = "nsslapd-disk-monitoring"
MONITORING_FROM, MONITORING_MINUTES = f"{MONITORING}-threshold", f"{MONITORING}-grace-period"
MONITORING_READ_ONLY, MONITORING_LOGS = f"{MONITORING}-readonly-on-threshold", f"{MONITORING}-logging-critical"
OF_MONITORING = (MONITORING, MONITORING_FROM, MONITORING_MINUTES, MONITORING_READ_ONLY, MONITORING_LOGS)
OF_CONFIG = (*LOGS, *(one + ENABLED for one in OFF_BY_DEFAULT), LOG_BUFFERING, *OF_MONITORING)
"""The attributes read of cn=config."""


class Ds389StorageSettings:
    """Makes one StorageSettings from cn=config, cn=ldbm database and what is below it."""

    def __init__(self, document: Document) -> None:
        self.reader = SettingsReader(document)
        self.of_dsee = False
        self.shows_directory = False
        """The entry that every such server has was read with this attribute: the text is no excerpt without it."""
        self.closed = True

    def take(self, entry: Entry) -> None:
        """Read an entry of the server's configuration."""
        self.closed = entry.closed
        if entry.key == CONFIG:
            self._take_config(entry)
        elif entry.key == DATABASES:
            self.of_dsee |= entry.first("nsslapd-pluginVendor").lower().startswith(VENDORS_OF_DSEE)
        elif entry.key.endswith(BELOW):
            self._take_below(tuple(rdns(entry.key.removesuffix(BELOW))), entry)
        elif entry.key.endswith(f",{CONFIG}") and entry.first(CHANGELOG):
            self.reader.keep_place(Role.CHANGELOG, entry.first(CHANGELOG))

    def facts(self) -> Iterator[StorageSettings]:
        """Return the fact, if any entry contributed to it."""
        family = Family.DSEE if self.of_dsee else Family.DS389
        yield from self.reader.found(family, complete=self.closed and self.shows_directory)

    def _take_config(self, entry: Entry) -> None:
        for name, role in LOGS.items():
            is_written = name not in OFF_BY_DEFAULT or entry.first(name + ENABLED).lower() == "on"
            if entry.first(name) and is_written:
                self.reader.keep_place(role, entry.first(name))
        self.reader.keep_settings(entry, (LOG_BUFFERING, *OF_MONITORING))
        self.of_dsee |= identity_of(entry).family is Family.DSEE

    def _take_below(self, relative: tuple[str, ...], entry: Entry) -> None:
        match relative:
            case ("cn=config",):
                self.shows_directory |= DIRECTORY in entry
                self._take_databases(entry, "")
            case ("cn=bdb" | "cn=mdb" as implementation, "cn=config"):
                self._take_databases(entry, implementation)
            case (name,) if name not in NO_BACKENDS and "nsslapd-suffix" in entry:
                backend = entry.first("cn") or name.partition("=")[2]
                if entry.first(DIRECTORY):
                    self.reader.keep_place(Role.DATABASE, entry.first(DIRECTORY), backend)
            case _:
                pass

    def _take_databases(self, entry: Entry, implementation: str) -> None:
        for role, name in ((Role.DATABASE, DIRECTORY), (Role.TRANSACTION_LOG, LOG_DIRECTORY)):
            if entry.first(name):
                self.reader.keep_place(role, entry.first(name))
        self.reader.keep_settings(entry, OF_DATABASES, of=implementation)
        self.of_dsee |= DURABLE_IN_DSEE in entry
