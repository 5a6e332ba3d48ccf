"""The storage settings of one of slapd's databases, as its cn=config or its slapd.conf spells them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.ldif import whole_number
from ldapdiag.evidence.storage import slapd_conf_settings as by_file
from ldapdiag.evidence.storage import slapd_settings as by_entry
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ldapdiag.evidence.storage.settings import StorageSettings

FLAGS = frozenset({"nosync", "nometasync", "writemap", "mapasync", "nordahead"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The settings of one database."""

    backend: str
    """{1}mdb"""
    names: tuple[str, str, str]
    """Of olcDbNoSync, olcDbEnvFlags and olcDbCheckpoint."""
    no_sync: str
    """TRUE, FALSE or empty."""
    flags: tuple[str, ...]
    checkpoint: str

    @property
    def is_lmdb(self) -> bool:
        """Return whether it is an LMDB database."""
        return self.backend.endswith("mdb")

    @property
    def is_unsynced(self) -> bool:
        """Return whether no change is flushed: either setting has this effect; after a start the last one read wins."""
        return self.no_sync.upper() == "TRUE" or "nosync" in self.flags

    @property
    def minutes(self) -> int | None:
        """Return the minutes between checkpoints; None: none is set."""
        return whole_number([*self.checkpoint.split(), "0"][1]) if self.checkpoint else None


def written(settings: StorageSettings, backend: str) -> Written:
    """Return the settings of one database."""
    of_file = bool(settings.file) and not any(setting.name.startswith("olc") for setting in settings.settings)
    source = by_file if of_file else by_entry
    flags = settings.value(source.FLAGS, backend).lower().split()
    return Written(
        backend=backend,
        names=(source.NO_SYNC, source.FLAGS, source.CHECKPOINT),
        no_sync=settings.value(source.NO_SYNC, backend),
        flags=tuple(dict.fromkeys(flag for flag in flags if flag in FLAGS)),
        checkpoint=settings.value(source.CHECKPOINT, backend),
    )
