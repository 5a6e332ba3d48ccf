"""slapd.conf, OpenLDAP's configuration as text.

    idletimeout 900
    threads 16
    database mdb
    syncrepl rid=001 provider=ldap://a binddn="cn=replicator,dc=example,dc=com"
      bindmethod=simple credentials=…

Source: slapd.conf(5). Only the settings named here and those of the indexes are looked at; nothing else of the file,
where passwords stand, is kept or shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import MOST_ACCOUNTS, Configuration
from ldapdiag.evidence.configuration.openldap import syncrepl_account
from ldapdiag.evidence.configuration.slapd_directives import CHARACTERISTIC, DIRECTIVE, directives, words_of
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.indexes.slapd_conf import IndexDirectives
from ldapdiag.evidence.ldif import whole_number
from ldapdiag.evidence.schema.slapd_schema import SchemaDirectives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.origin import Fact

USUAL = CHARACTERISTIC | frozenset(
    {
        "access",
        "allow",
        "attributetype",
        "authz-regexp",
        "backend",
        "checkpoint",
        "conn_max_pending",
        "directory",
        "disallow",
        "include",
        "index",
        "limits",
        "loglevel",
        "maxsize",
        "objectclass",
        "overlay",
        "password-hash",
        "pidfile",
        "rootpw",
        "schemacheck",
        "security",
        "sizelimit",
        "syncrepl",
        "threads",
        "timelimit",
        "tlscacertificatefile",
        "tlscertificatefile",
        "updatedn",
        "updateref",
        "writetimeout",
    }
)
SCHEMA = (".schema", ".oc.conf", ".at.conf")
"""Included files that hold schema, never settings."""


def recognises(head: Head) -> bool:
    """Tell slapd.conf by two directives, one of which nobody else has, and no line that is LDIF's."""
    found = {word[0].lower() for line in head.lines if (word := DIRECTIVE.match(line))}
    return bool(found & CHARACTERISTIC) and len(found & USUAL) >= 2


def read(document: Document) -> Iterator[Fact]:
    """Read the global settings and the accounts that replicate, the indexes, and the schema that stands here."""
    settings = _Settings(document)
    indexes, schema = IndexDirectives(document), SchemaDirectives(document)
    for word, rest in directives(document):
        settings.take([word, *words_of(rest)])
        indexes.take(word, rest)
        schema.take(word, rest)
    yield settings.configuration()
    yield from filter(None, (indexes.configuration(whole=settings.complete), schema.schema()))


class _Settings:
    """Gathers what is set of connections."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.numbers: dict[str, int | None] = {}
        self.accounts: dict[str, None] = {}
        self.complete = True

    def take(self, words: list[str]) -> None:
        """Read a directive, if it is one of these."""
        match words:
            case ["idletimeout" | "threads" as name, value, *_]:
                self.numbers[name] = whole_number(value)
            case ["updatedn", value, *_] if len(self.accounts) < MOST_ACCOUNTS:
                self.accounts[value.strip('"')] = None
            case ["syncrepl", *specification] if len(self.accounts) < MOST_ACCOUNTS:
                self.accounts[syncrepl_account(" ".join(specification))] = None
            case ["include", path, *_] if not path.strip('"').lower().endswith(SCHEMA):
                self.complete = False
                self.document.note("It includes other files, which may hold settings that are not seen here.")

    def configuration(self) -> Configuration:
        """Return the fact."""
        self.accounts.pop("", None)
        return Configuration(
            origin=self.document.origin(),
            identity=ServerIdentity(family=Family.OPENLDAP),
            complete=self.complete,
            idle_timeout_seconds=self.numbers.get("idletimeout"),
            threads=self.numbers.get("threads"),
            replication_accounts=tuple(self.accounts),
        )


FORMAT = Format(name="slapd-conf", title="a slapd.conf of OpenLDAP", recognises=recognises, read=read)
