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
from ldapdiag.evidence.indexes.slapd_limits import MOST_RULES, AccountLimits, LimitsRule, default_settings, limits_rule
from ldapdiag.evidence.indexes.slapd_lines import DATABASES, IndexLines
from ldapdiag.evidence.ldif import whole_number
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ldapdiag.evidence.document import Document

FRONTEND = "frontend"
UNNUMBERED = frozenset({FRONTEND, "config"})
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
    limits: list[LimitsRule] = field(default_factory=list)
    inherited_limits: tuple[str, ...] = ()
    default_limits: tuple[str, ...] = ()
    unlimited: str = ""
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
        self.default_limits: tuple[str, ...] = ()

    def take(self, word: str, rest: str) -> None:
        """Read a directive; others than those of indexes are ignored."""
        if word == "database":
            self._database(rest.strip('"').lower())
        elif self.current and word in OF_DATABASES:
            _take(self.current, word, rest)
        elif word in DEFAULT_LIMITS and (not self.searches.database or self.searches.database.endswith(FRONTEND)):
            self.default_limits += default_settings(rest, DEFAULT_LIMITS[word])
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
            backends=tuple(_backend(database, limits_known=whole) for database in known),
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
            self.current = _Database(name=f"{{{self.numbered}}}{kind}", kind=kind, inherited_limits=self.default_limits)
            self.databases.append(self.current)


DEFAULT_LIMITS = {"sizelimit": "size", "timelimit": "time"}
OF_DATABASES = frozenset({"suffix", "subordinate", "directory", "index", "limits", "rootdn", *DEFAULT_LIMITS})


def _take(database: _Database, word: str, rest: str) -> None:
    """Read a directive of a database."""
    match word:
        case "suffix" if len(database.suffixes) < MOST_SUFFIXES:
            database.suffixes.append(rest.strip('"'))
        case "subordinate":
            database.glued = rest.lower() not in NO
        case "directory":
            database.directory = True
        case "index":
            database.lines.take(rest)
        case "limits" if len(database.limits) <= MOST_RULES:
            database.limits.append(limits_rule(rest))
        case "sizelimit" | "timelimit":
            database.default_limits += default_settings(rest, DEFAULT_LIMITS[word])
        case "rootdn":
            database.unlimited = rest.strip('"')
        case _:
            pass


def _backend(database: _Database, *, limits_known: bool) -> Backend:
    """Return a database; an included file may have rules that precede those that were read."""
    limits = AccountLimits(
        rules=tuple(database.limits),
        inherited=database.inherited_limits,
        default=database.default_limits,
        unlimited=database.unlimited,
    )
    return Backend(
        name=database.name,
        suffixes=tuple(database.suffixes),
        definitions=tuple(database.lines.definitions.values()),
        kind=database.kind,
        glued=database.glued,
        account_limits=limits if limits_known and len(database.limits) <= MOST_RULES else None,
    )
