"""StorageSettings: where a directory server keeps its data, and its settings of when that is on the disk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

from ldapdiag.evidence.family import ServerIdentity
from ldapdiag.evidence.origin import Origin

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
    """The databases that the text describes; empty: one whose name is not in the text."""
    complete: bool = False
    """True: the text shows all settings of these databases, so a missing one has its default."""
    file: str = ""
    """`slapd.conf` if the server is configured by that file; empty: by its cn=config."""
    root: str = ""
    """The folder that relative paths are below (OpenDJ); empty: unknown."""

    def value(self, name: str, backend: str = "") -> str:
        """Return a setting of a backend, else that of all; empty if it is not in the text. Names without case."""
        of = {one.backend: one.value for one in self.settings if one.name.lower() == name.lower()}
        return of.get(backend, of.get("", ""))


def merged_settings(found: Iterable[StorageSettings]) -> StorageSettings | None:
    """Return one server's settings: each backend's from the most complete text, of equal ones from the latest."""
    ordered = sorted(found, key=lambda one: (one.complete, one.origin.order), reverse=True)
    if not ordered:
        return None
    best = ordered[0]
    for other in ordered[1:]:
        new = frozenset(other.backends) - frozenset(best.backends)
        known = {(place.role, place.backend) for place in best.places}
        best = replace(
            best,
            places=best.places + tuple(one for one in other.places if (one.role, one.backend) not in known),
            settings=best.settings + tuple(one for one in other.settings if one.backend in new),
            backends=best.backends + tuple(one for one in other.backends if one in new),
            complete=best.complete and (other.complete or not new),
            root=best.root or other.root,
        )
    return best
