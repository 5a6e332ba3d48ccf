"""The slapd.conf format: settings, indexes, schema and storage of OpenLDAP, read in one pass.

    idletimeout 900
    database mdb
    index objectClass eq

Only directives of settings, indexes, schema and storage are read: nothing else of the file is kept, as it may contain
passwords.
Source: slapd.conf(5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration.openldap import SettingDirectives
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.indexes.slapd_conf import IndexDirectives
from ldapdiag.evidence.schema.slapd_schema import SchemaDirectives
from ldapdiag.evidence.slapd_directives import CHARACTERISTIC, DIRECTIVE, directives
from ldapdiag.evidence.storage.slapd_conf_settings import StorageDirectives

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


def recognises(head: Head) -> bool:
    """Recognise slapd.conf by two usual directives, one of which occurs in slapd.conf only."""
    found = {word[0].lower() for line in head.lines if (word := DIRECTIVE.match(line))}
    return bool(found & CHARACTERISTIC) and len(found & USUAL) >= 2


def read(document: Document) -> Iterator[Fact]:
    """Read the global settings, the replication accounts, the indexes, the schema and the storage of databases."""
    settings = SettingDirectives(document)
    indexes, schema, storage = IndexDirectives(document), SchemaDirectives(document), StorageDirectives(document)
    for word, rest in directives(document):
        settings.take(word, rest)
        indexes.take(word, rest)
        schema.take(word, rest)
        storage.take(word, rest)
    yield settings.configuration()
    yield from filter(None, (indexes.configuration(whole=settings.complete), schema.schema()))
    yield from storage.facts(whole=settings.complete)


FORMAT = Format(name="slapd-conf", title="a slapd.conf of OpenLDAP", recognises=recognises, read=read)
