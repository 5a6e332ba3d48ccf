"""Where slapd keeps its databases, and when changes are on the disk, from its slapd.conf.

    database mdb
    suffix "dc=example,dc=com"
    directory /var/lib/ldap
    dbnosync
    envflags writemap mapasync
    checkpoint 512 30

Databases have the names that slapd gives them in cn=config. Sources: slapd.conf(5), slapd-mdb(5).
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes.slapd_conf import NO, UNNUMBERED
from ldapdiag.evidence.indexes.slapd_lines import DATABASES
from ldapdiag.evidence.ldif import comparable
from ldapdiag.evidence.storage.settings import MOST_ROWS, Role, SettingsReader
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.storage.settings import StorageSettings

NO_SYNC, FLAGS, CHECKPOINT = "dbnosync", "envflags", "checkpoint"
SUFFIX, DIRECTORY, LOGGED_TO, LOG_FILE = "suffix", "directory", "logdb", "logfile"
WORDS = frozenset({NO_SYNC, FLAGS, CHECKPOINT, SUFFIX, DIRECTORY})


@dataclass(slots=True)
class _Database:
    """A database while its directives are read."""

    name: str
    words: dict[str, str] = field(default_factory=dict)


class StorageDirectives:
    """Collects the directives of a slapd.conf that concern its files."""

    def __init__(self, document: Document) -> None:
        self.reader = SettingsReader(document)
        self.numbered = 0
        self.databases: list[_Database] = []
        self.current: _Database | None = None
        self.logged_to: set[str] = set()

    def take(self, word: str, rest: str) -> None:
        """Read a directive; others than these are ignored."""
        if word == "database":
            self._start(rest.strip('"').lower())
        elif word == LOGGED_TO:
            self.logged_to.add(comparable(rest.strip('"')))
        elif word == LOG_FILE:
            self.reader.keep_place(Role.ACCESS_LOG, rest)
        elif word in WORDS and self.current:
            known = self.current.words
            value = rest.strip('"') if word != NO_SYNC else str(rest.strip('"').lower() not in NO).upper()
            known[word] = f"{known[word]} {value}" if word == FLAGS and word in known else value

    def facts(self, *, whole: bool) -> Iterator[StorageSettings]:
        """Return the fact, if a database was read; `whole`: the text includes no other file."""
        complete = whole
        for database in self.databases:
            self.reader.keep_backend(database.name)
            words = database.words
            complete &= DIRECTORY in words
            if DIRECTORY in words:
                is_log = comparable(words.get(SUFFIX, "")) in self.logged_to
                self.reader.keep_place(Role.CHANGELOG if is_log else Role.DATABASE, words[DIRECTORY], database.name)
            for name in (NO_SYNC, FLAGS, CHECKPOINT):
                if name in words:
                    self.reader.keep_setting(name, words[name], database.name)
        if self.databases:
            yield from self.reader.found(Family.OPENLDAP, complete=complete, file="slapd.conf")

    def _start(self, kind: str) -> None:
        self.numbered += kind not in UNNUMBERED
        self.current = None
        if kind in DATABASES and len(self.databases) < MOST_ROWS:
            self.current = _Database(name=f"{{{self.numbered}}}{kind}")
            self.databases.append(self.current)
