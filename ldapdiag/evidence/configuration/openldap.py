"""cn=config of OpenLDAP, from a search or slapcat -n0.

    dn: cn=config
    objectClass: olcGlobal
    olcIdleTimeout: 900
    olcThreads: 16

It contains no ports: they are arguments of slapd. Source: slapd-config(5).

The global settings of a slapd.conf that concern connections.

    idletimeout 900
    threads 16
    syncrepl rid=001 provider=ldap://a binddn="cn=replicator,dc=example,dc=com"
      bindmethod=simple credentials=…

Source: slapd.conf(5).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import CONFIG, MOST_ACCOUNTS, WHOLE_ENTRY, Configuration
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.ldif import whole_number
from ldapdiag.evidence.slapd_directives import words_of
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

BELOW_CONFIG = ",cn=config"
OWN_NAMES = "olc"

ATTRIBUTES = (*WHOLE_ENTRY, "olcIdleTimeout", "olcThreads")
"""The attributes read of cn=config itself."""
UPDATE_DN, SYNCREPL = "olcUpdateDN", "olcSyncrepl"

SYNCREPL_ACCOUNT = pattern(r'\bbinddn=(?:"([^"]*)"|(\S+))', re.IGNORECASE)
"""The bind DN of a syncrepl specification; nothing else of it is read, because it contains the password."""


class OpenldapConfiguration:
    """Makes one Configuration from cn=config and the replication accounts of its databases."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.main: Configuration | None = None
        self.replication_accounts: dict[str, None] = {}

    def take(self, entry: Entry) -> None:
        """Read an entry at or below cn=config with attributes or an object class of OpenLDAP."""
        names = (*entry.attributes, *map(str.lower, entry.values("objectClass")))
        if not entry.key.endswith(CONFIG) or not any(name.startswith(OWN_NAMES) for name in names):
            return
        if entry.key == CONFIG:
            self.main = Configuration(
                origin=self.document.origin(),
                identity=ServerIdentity(family=Family.OPENLDAP),
                complete=entry.closed and all(name in entry for name in WHOLE_ENTRY),
                idle_timeout_seconds=entry.number("olcIdleTimeout"),
                threads=entry.number("olcThreads"),
            )
        elif entry.key.endswith(BELOW_CONFIG) and len(self.replication_accounts) < MOST_ACCOUNTS:
            accounts = [*entry.values(UPDATE_DN), *map(syncrepl_account, entry.values(SYNCREPL))]
            self.replication_accounts.update(dict.fromkeys(filter(None, accounts)))

    def facts(self) -> Iterator[Configuration]:
        """Return the configuration, if any entry contributed to it."""
        if self.main is None and not self.replication_accounts:
            return
        main = self.main or Configuration(
            origin=self.document.origin(), identity=ServerIdentity(family=Family.OPENLDAP)
        )
        yield replace(main, origin=self.document.origin(), replication_accounts=tuple(self.replication_accounts))


def syncrepl_account(specification: str) -> str:
    """Return the bind DN of a syncrepl specification; empty if it has none."""
    found = SYNCREPL_ACCOUNT.search(specification)
    return (found[1] or found[2] or "") if found else ""


SCHEMA = (".schema", ".oc.conf", ".at.conf")
"""Endings of included files that contain schema and no settings."""


class SettingDirectives:
    """Collects the global settings of a slapd.conf that concern connections, and its replication accounts."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.numbers: dict[str, int | None] = {}
        self.accounts: dict[str, None] = {}
        self.complete = True

    def take(self, word: str, rest: str) -> None:
        """Read a directive and its arguments; others than these are ignored."""
        arguments = words_of(rest)
        match word, arguments:
            case "idletimeout" | "threads", [value, *_]:
                self.numbers[word] = whole_number(value)
            case "updatedn", [value, *_] if len(self.accounts) < MOST_ACCOUNTS:
                self.accounts[value.strip('"')] = None
            case "syncrepl", _ if len(self.accounts) < MOST_ACCOUNTS:
                self.accounts[syncrepl_account(" ".join(arguments))] = None
            case "include", [path, *_] if not path.strip('"').lower().endswith(SCHEMA):
                self.complete = False
                self.document.note("It includes other files; settings in those are not read.")
            case _:
                pass

    def configuration(self) -> Configuration:
        """Return the settings read."""
        self.accounts.pop("", None)
        return Configuration(
            origin=self.document.origin(),
            identity=ServerIdentity(family=Family.OPENLDAP),
            complete=self.complete,
            idle_timeout_seconds=self.numbers.get("idletimeout"),
            threads=self.numbers.get("threads"),
            replication_accounts=tuple(self.accounts),
        )
