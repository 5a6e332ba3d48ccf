"""The indexes in a slapd.conf.

    index_substr_if_minlen 3
    database mdb
    suffix "dc=example,dc=com"
    index objectClass eq
    overlay refint
    refint_attributes member

Databases have the names that slapd gives them in a conversion to cn=config: their number in the file, without
`frontend` and `config`. Sources: slapd.conf(5), slapd-mdb(5).
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, SubstringKeys
from ldapdiag.evidence.indexes.openldap import MOST_DATABASES, REFUSED
from ldapdiag.evidence.indexes.slapd_internal_searches import SlapdInternalSearches
from ldapdiag.evidence.indexes.slapd_lines import DATABASES, IndexLines
from ldapdiag.evidence.ldif import whole_number
from ldapdiag.lazy_dataclass import dataclass

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
INCLUDES = "it includes other files, whose settings were not read"
NO = frozenset({"false", "no", "off"})


@dataclass(slots=True)
class _Database:
    """A database while its directives are read."""

    name: str
    kind: str
    suffixes: list[str] = field(default_factory=list)
    lines: IndexLines = field(default_factory=IndexLines)
    glued: bool = False
    directory: bool = False
    """It has the `directory` directive, as every database does; an excerpt without it may also lack index lines."""

    @property
    def indexes_known(self) -> bool:
        """Return whether the text shows which indexes the database has."""
        return self.directory or bool(self.lines.definitions)


class IndexDirectives:
    """Collects the index directives of a slapd.conf."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.numbered = 0
        self.databases: list[_Database] = []
        self.current: _Database | None = None
        self.substring_keys = SubstringKeys()
        self.searches = SlapdInternalSearches()

    def take(self, word: str, rest: str) -> None:
        """Read a directive; others than those of indexes are ignored."""
        if word == "database":
            self._database(rest.strip('"').lower())
        elif word == "suffix" and self.current:
            if len(self.current.suffixes) < MOST_SUFFIXES:
                self.current.suffixes.append(rest.strip('"'))
        elif word == "subordinate" and self.current:
            self.current.glued = rest.lower() not in NO
        elif word == "directory" and self.current:
            self.current.directory = True
        elif word == "index" and self.current:
            self.current.lines.take(rest)
        elif word in SUBSTRING_KEYS:
            self.substring_keys = replace(self.substring_keys, **{SUBSTRING_KEYS[word]: whole_number(rest)})
        elif word == "overlay":
            self.searches.overlay(rest)
        else:
            self.searches.setting(word, rest)

    def configuration(self, *, whole: bool) -> IndexConfiguration | None:
        """Return the configuration; None if the indexes of no database are known."""
        known = [database for database in self.databases if database.indexes_known]
        if not known:
            return None
        if any(database.lines.refused for database in known):
            self.document.note(REFUSED)
        return IndexConfiguration(
            origin=self.document.origin(),
            identity=ServerIdentity(family=Family.OPENLDAP),
            backends=tuple(map(_backend, known)),
            whole=whole,
            file="slapd.conf",
            substring_keys=self.substring_keys,
            virtual_attributes=self.searches.computed,
            internal_searches=self.searches.searches({each.name: tuple(each.suffixes) for each in self.databases}),
            hidden_searches=tuple(self.searches.hidden) + (() if whole else (INCLUDES,)),
        )

    def _database(self, kind: str) -> None:
        self.numbered += kind not in UNNUMBERED
        self.current = None
        self.searches.database = f"{{{self.numbered}}}{kind}"
        if kind in DATABASES and len(self.databases) < MOST_DATABASES:
            self.current = _Database(name=f"{{{self.numbered}}}{kind}", kind=kind)
            self.databases.append(self.current)


def _backend(database: _Database) -> Backend:
    return Backend(
        name=database.name,
        suffixes=tuple(database.suffixes),
        definitions=tuple(database.lines.definitions.values()),
        kind=database.kind,
        glued=database.glued,
    )
