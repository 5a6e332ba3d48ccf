"""slapd.conf, OpenLDAP's configuration as text.

    idletimeout 900
    threads 16
    database mdb
    syncrepl rid=001 provider=ldap://a binddn="cn=replicator,dc=example,dc=com"
      bindmethod=simple credentials=…

A line that begins with a blank continues the one before, and only then comments are dropped. Source: slapd.conf(5).
Only the settings named here are looked at; nothing else of the file, where passwords stand, is kept or shown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration import MOST_ACCOUNTS, Configuration
from ldapdiag.evidence.configuration.openldap import syncrepl_account
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.ldif import LONGEST_VALUE, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

DIRECTIVE = re.compile(r"[A-Za-z][\w:#-]{0,80}(?=\s|$)", re.ASCII)
CHARACTERISTIC = frozenset({"database", "suffix", "rootdn", "argsfile", "moduleload", "modulepath", "idletimeout"})
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
WITHHELD = "(a line that begins with no directive)"


def recognises(head: Head) -> bool:
    """Tell slapd.conf by two directives, one of which nobody else has, and no line that is LDIF's."""
    found = {word[0].lower() for line in head.lines if (word := DIRECTIVE.match(line))}
    return bool(found & CHARACTERISTIC) and len(found & USUAL) >= 2


def read(document: Document) -> Iterator[Configuration]:
    """Read the global settings and the accounts that replicate."""
    settings: dict[str, int | None] = {}
    accounts: dict[str, None] = {}
    complete = True
    for words in _directives(document):
        match words:
            case ["idletimeout" | "threads" as name, value, *_]:
                settings[name] = whole_number(value)
            case ["updatedn", value, *_] if len(accounts) < MOST_ACCOUNTS:
                accounts[value.strip('"')] = None
            case ["syncrepl", *specification] if len(accounts) < MOST_ACCOUNTS:
                accounts[syncrepl_account(" ".join(specification))] = None
            case ["include", path, *_] if not path.strip('"').lower().endswith(SCHEMA):
                complete = False
                document.note("It includes other files, which may hold settings that are not seen here.")
    accounts.pop("", None)
    yield Configuration(
        origin=document.origin(),
        identity=ServerIdentity(family=Family.OPENLDAP),
        complete=complete,
        idle_timeout_seconds=settings.get("idletimeout"),
        threads=settings.get("threads"),
        replication_accounts=tuple(accounts),
    )


def _directives(document: Document) -> Iterator[list[str]]:
    """Yield each directive of interest as words, the first in lower case."""
    for line in _continued(document):
        word = DIRECTIVE.match(line)
        if word:
            yield [word[0].lower(), *_words(line[word.end() :])]
        elif not line.startswith("#"):
            document.misread(WITHHELD)


def _words(text: str) -> list[str]:
    """Split arguments at blanks; a DN in quotes stays whole where it is an argument of its own."""
    text = text.strip()
    return [text] if text.startswith('"') and text.find('"', 1) == len(text) - 1 else text.split()


def _continued(document: Document) -> Iterator[str]:
    """Yield lines with those that continue them."""
    parts: list[str] = []
    length = 0
    for line in document.lines:
        if line[:1] in {" ", "\t"} and parts:
            length += len(line)
            if length <= LONGEST_VALUE:
                parts.append(line)
            continue
        if parts:
            yield " ".join(parts)
        parts = [line] if line.strip() else []
        length = len(line)
    if parts:
        yield " ".join(parts)


FORMAT = Format(name="slapd-conf", title="a slapd.conf of OpenLDAP", recognises=recognises, read=read)
