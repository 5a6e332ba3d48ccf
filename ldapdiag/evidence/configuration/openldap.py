"""cn=config of OpenLDAP, from a search or slapcat -n0.

    dn: cn=config
    objectClass: olcGlobal
    olcIdleTimeout: 900
    olcThreads: 16

Ports are no part of it: slapd takes them on its command line. Source: slapd-config(5).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import CONFIG, MOST_ACCOUNTS, WHOLE_ENTRY, Configuration
from ldapdiag.evidence.family import Family, ServerIdentity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

BELOW_CONFIG = ",cn=config"
OWN_NAMES = "olc"

ATTRIBUTES = (*WHOLE_ENTRY, "olcIdleTimeout", "olcThreads")
"""What is read of cn=config itself."""
UPDATE_DN, SYNCREPL = "olcUpdateDN", "olcSyncrepl"

SYNCREPL_ACCOUNT = re.compile(r'\bbinddn=(?:"([^"]*)"|(\S+))', re.IGNORECASE)
"""In a syncrepl specification, which also holds the password: only the DN is taken out of it."""


class OpenldapConfiguration:
    """Makes one Configuration of cn=config and the replication accounts its databases name."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.main: Configuration | None = None
        self.replication_accounts: dict[str, None] = {}

    def take(self, entry: Entry) -> None:
        """Read an entry at or below cn=config that carries olc attributes, or is of a class of that name."""
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
        """Return the configuration, if any entry said something."""
        if self.main is None and not self.replication_accounts:
            return
        main = self.main or Configuration(
            origin=self.document.origin(), identity=ServerIdentity(family=Family.OPENLDAP)
        )
        yield replace(main, origin=self.document.origin(), replication_accounts=tuple(self.replication_accounts))


def syncrepl_account(specification: str) -> str:
    """Return the DN a syncrepl specification binds with, empty where it names none."""
    found = SYNCREPL_ACCOUNT.search(specification)
    return (found[1] or found[2] or "") if found else ""
