"""StorageSettings: where a directory server keeps its data, and its settings of when that is on the disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

MOST_ROWS = 2000
"""Limit on places and on settings of one text; further ones are dropped, with a note."""
LONGEST_PATH = 4096
LONGEST_VALUE = 255


class Role(StrEnum):
    """What a server keeps in a folder or a file."""

    DATABASE = "database"
    TRANSACTION_LOG = "transaction log"
    CHANGELOG = "changelog"
    ACCESS_LOG = "access log"
    ERRORS_LOG = "errors log"
    AUDIT_LOG = "audit log"


LASTING = frozenset({Role.DATABASE, Role.TRANSACTION_LOG, Role.CHANGELOG})
"""What a server needs after a power cut; its logs are no part of the data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoragePlace:
    """A folder or a file of a server."""

    role: Role
    path: str
    """As written; a relative one is below the folder of the server's instance (OpenDJ)."""
    backend: str = ""
    """userRoot, {1}mdb, …; empty: all."""
    is_default: bool = False
    """It is not in the text: it follows from the defaults of the product's version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSetting:
    """A setting that decides when changes are on the disk."""

    name: str
    """As the server spells it: olcDbNoSync in cn=config, dbnosync in slapd.conf."""
    value: str
    """As written; several values are separated by blanks."""
    backend: str = ""
    entry: str = ""
    """The RDN of its entry, where a server has it in more than one and reads one of them (389-ds: cn=bdb)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """Places and settings as configured. A setting that is not listed has its default, if the text is complete."""

    kind: ClassVar[str] = "storage-settings"
    how: ClassVar[str] = (
        "389-ds, DSEE: its dse.ldif; OpenLDAP: slapcat -n0 > config.ldif, or slapd.conf; OpenDJ, PingDirectory: its "
        "config.ldif, or dsconfig get-backend-prop --backend-name … > backend.txt"
    )

    origin: Origin
    identity: ServerIdentity
    places: tuple[StoragePlace, ...]
    settings: tuple[StorageSetting, ...]
    backends: tuple[str, ...] = ()
    """The databases with settings of their own; empty: the settings are those of all (389-ds, DSEE)."""
    complete: bool = False
    """True: the text shows all settings of these databases, so a missing one has its default."""
    file: str = ""
    """`slapd.conf` if the server is configured by that file; empty: by its cn=config."""
    root: str = ""
    """The folder that relative paths are below (OpenDJ); empty: unknown."""

    def value(self, name: str, backend: str = "") -> str:
        """Return a setting of a backend, else that of all; empty if it is not in the text. Names without case."""
        of = {setting.backend: setting.value for setting in self.settings if setting.name.lower() == name.lower()}
        return of.get(backend, of.get("", ""))


class SettingsReader:
    """Collects the places and settings of one text, within limits."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.places: list[StoragePlace] = []
        self.settings: list[StorageSetting] = []
        self.backends: dict[str, None] = {}

    def keep_place(self, role: Role, path: str, backend: str = "") -> None:
        """Keep a folder or a file; a path that no system has is left out, with a note."""
        path = path.strip().strip('"')
        if not path or not path.isprintable() or len(path) > LONGEST_PATH:
            self.document.note("A path of the server's data is no path and was left out.")
        elif self._has_room():
            self.places.append(StoragePlace(role=role, path=path, backend=backend))

    def keep_setting(self, name: str, value: str, backend: str = "", entry: str = "") -> None:
        """Keep a setting."""
        if self._has_room():
            value = " ".join(value[:LONGEST_VALUE].split())
            self.settings.append(StorageSetting(name=name, value=value, backend=backend, entry=entry))

    def keep_settings(self, entry: Entry, names: Iterable[str], backend: str = "", of: str = "") -> None:
        """Keep those of these attributes that an entry has."""
        for name in names:
            if name in entry:
                self.keep_setting(name, " ".join(entry.values(name)), backend, of)

    def keep_backend(self, name: str) -> None:
        """Keep the name of a database that the text describes."""
        if len(self.backends) < MOST_ROWS:
            self.backends[name] = None

    def found(self, family: Family, *, complete: bool, file: str = "", root: str = "") -> Iterator[StorageSettings]:
        """Yield the fact, if there is anything to report."""
        if self.places or self.settings:
            yield StorageSettings(
                origin=self.document.origin(),
                identity=ServerIdentity(family=family),
                places=tuple(self.places),
                settings=tuple(self.settings),
                backends=tuple(self.backends),
                complete=complete,
                file=file,
                root=root,
            )

    def _has_room(self) -> bool:
        if len(self.places) + len(self.settings) < MOST_ROWS:
            return True
        self.document.note(f"Only the first {MOST_ROWS:,} places and settings of storage were kept.")
        return False


def merged_settings(found: Iterable[StorageSettings]) -> StorageSettings | None:
    """Return one server's settings: each backend's from the most complete text, of equal ones from the latest."""
    ordered = sorted(found, key=lambda one: (one.complete, one.origin.order), reverse=True)
    if not ordered:
        return None
    best = ordered[0]
    for other in ordered[1:]:
        new = frozenset(other.backends) - frozenset(best.backends)
        placed = {(place.role, place.backend) for place in best.places}
        named = {(setting.name, setting.entry) for setting in best.settings if not setting.backend}
        best = replace(
            best,
            places=best.places + tuple(place for place in other.places if (place.role, place.backend) not in placed),
            settings=best.settings
            + tuple(
                setting
                for setting in other.settings
                if (setting.backend in new if setting.backend else (setting.name, setting.entry) not in named)
            ),
            backends=best.backends + tuple(backend for backend in other.backends if backend in new),
            complete=best.complete and (other.complete or not new),
            root=best.root or other.root,
        )
    return best
