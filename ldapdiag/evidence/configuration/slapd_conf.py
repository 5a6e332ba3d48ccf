"""The global settings of a slapd.conf that concern connections.

    idletimeout 900
    threads 16
    syncrepl rid=001 provider=ldap://a binddn="cn=replicator,dc=example,dc=com"
      bindmethod=simple credentials=…

Source: slapd.conf(5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import MOST_ACCOUNTS, Configuration
from ldapdiag.evidence.configuration.openldap import syncrepl_account
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.ldif import whole_number
from ldapdiag.evidence.slapd_directives import words_of

if TYPE_CHECKING:
    from ldapdiag.evidence.document import Document

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
