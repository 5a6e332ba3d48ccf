"""The indexes that a slapd.conf sets.

    index_substr_if_minlen 3
    database mdb
    suffix "dc=example,dc=com"
    index objectClass eq
    overlay refint
    refint_attributes member

Sources: slapd.conf(5), slapd-mdb(5). Databases are named as slapd names them once it is converted to cn=config: by
their number in the file, which starts behind those of `frontend` and `config`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, SubstringKeys
from ldapdiag.evidence.indexes.openldap import MOST_DATABASES, REFUSED
from ldapdiag.evidence.indexes.slapd_internal_searches import SlapdInternalSearches
from ldapdiag.evidence.indexes.slapd_lines import DATABASES, IndexLines
from ldapdiag.evidence.ldif import whole_number

if TYPE_CHECKING:
    from ldapdiag.evidence.document import Document

UNNUMBERED = frozenset({"frontend", "config"})
SUBSTRING_KEYS = {
    "index_substr_if_minlen": "if_minlen",
    "index_substr_if_maxlen": "if_maxlen",
    "index_substr_any_len": "any_len",
    "index_substr_any_step": "any_step",
}
MOST_SUFFIXES = 1000


@dataclass(slots=True)
class _Database:
    """A database while its directives are read."""

    name: str
    kind: str
    suffixes: list[str] = field(default_factory=list)
    lines: IndexLines = field(default_factory=IndexLines)
    directory: bool = False
    """Told where it lies, as each of them is: a text that leaves that out may leave out the index lines, too."""

    @property
    def told(self) -> bool:
        """Tell whether the text says which indexes it has."""
        return self.directory or bool(self.lines.definitions)


class IndexDirectives:
    """Gathers what the directives of a slapd.conf say on indexes."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.numbered = 0
        self.databases: list[_Database] = []
        self.current: _Database | None = None
        self.substring_keys = SubstringKeys()
        self.own = SlapdInternalSearches()

    def take(self, word: str, rest: str) -> None:
        """Read a directive, if it is one of these."""
        if word == "database":
            self._database(rest.strip('"').lower())
        elif word == "suffix" and self.current:
            if len(self.current.suffixes) < MOST_SUFFIXES:
                self.current.suffixes.append(rest.strip('"'))
        elif word == "directory" and self.current:
            self.current.directory = True
        elif word == "index" and self.current:
            self.current.lines.take(rest)
        elif word in SUBSTRING_KEYS:
            self.substring_keys = replace(self.substring_keys, **{SUBSTRING_KEYS[word]: whole_number(rest)})
        elif word == "overlay":
            self.own.overlay(rest)
        else:
            self.own.setting(word, rest)

    def configuration(self, *, whole: bool) -> IndexConfiguration | None:
        """Return the configuration; None where the text tells of no database which indexes it has."""
        told = [database for database in self.databases if database.told]
        if not told:
            return None
        if any(database.lines.passed_over for database in told):
            self.document.note(REFUSED)
        return IndexConfiguration(
            origin=self.document.origin(),
            identity=ServerIdentity(family=Family.OPENLDAP),
            backends=tuple(map(_backend, told)),
            whole=whole,
            file="slapd.conf",
            substring_keys=self.substring_keys,
            virtual_attributes=self.own.computed,
            internal_searches=self.own.internal_searches,
        )

    def _database(self, kind: str) -> None:
        self.numbered += kind not in UNNUMBERED
        self.current = None
        if kind in DATABASES and len(self.databases) < MOST_DATABASES:
            self.current = _Database(name=f"{{{self.numbered}}}{kind}", kind=kind)
            self.databases.append(self.current)


def _backend(database: _Database) -> Backend:
    return Backend(
        name=database.name,
        suffixes=tuple(database.suffixes),
        definitions=tuple(database.lines.definitions.values()),
        kind=database.kind,
    )
