"""Storage rules: what the settings of a product mean for a power cut, and the commands that make it safe again.

A module `storage` of a product offers the functions of `StorageRules`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.storage.settings import Role, StoragePlace, StorageSettings
    from ldapdiag.remedy import Remedy
    from ldapdiag.servers.commands.server_address import ServerAddress


WRITE_BACK_SECONDS = 30
"""The age of a changed page from which Linux writes it to the disk (vm.dirty_expire_centisecs); it looks every 5 s."""
WITH_FLUSHES = "changes are made one after the other: measure the disk first (ldapdiag storage --probe)."
LOSS = "A power cut or a crash of the system loses the confirmed changes that are not on the disk yet."
UNTIL_WRITTEN = f"The kernel writes them to the disk by itself, after up to about {WRITE_BACK_SECONDS} s."


class Window(StrEnum):
    """Which of the acknowledged changes a power cut loses."""

    NONE = "none"
    LAST = "the last ones"
    """At most the last transaction, or the few that wait for a common flush."""
    SECONDS = "seconds"
    """Those of the last seconds: the kernel or the server writes the others back by itself."""
    UNBOUNDED = "unbounded"
    """All since the last flush: nothing requests one."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Durability:
    """What one setting means for the acknowledged changes of one backend; of each backend the first one applies."""

    backend: str
    """userRoot, {1}mdb, …; empty: all."""
    setting: str
    """As the server spells it."""
    value: str
    """The value in force, a default included; empty: not known."""
    is_default: bool = False
    """The setting is not in the text: the value is the default of this version."""
    window: Window
    window_seconds: int | None = None
    """The longest age of the changes that are lost; None: not in seconds, or not known."""
    loss: str = ""
    """What a power cut loses, as a sentence; empty: nothing."""
    corrupts: bool = False
    """It may leave a database that is damaged, not only older."""
    survives_kill: bool = True
    """The end of the process alone (kill -9) loses nothing."""
    effective: bool = True
    """False: the setting has no effect, because of `why`."""
    why: str = ""
    """Why it has no effect, brings nothing or is not known, as sentences; empty: it has its effect."""
    flushes_per_write: int | None = None
    """How often the server waits for the disk per change; None: not known."""
    tested: bool = False
    """It was measured; False: by the product's manual or source."""

    @property
    def is_safe(self) -> bool:
        """Return whether a power cut loses no acknowledged change, as far as the server's settings decide."""
        return self.window is Window.NONE


def not_known(backend: str, setting: str, value: str = "", why: str = "") -> Durability:
    """Return that it is not known what a power cut loses: the setting is not in an excerpt, or as `why` states."""
    return Durability(
        backend=backend,
        setting=setting,
        value=value,
        window=Window.UNKNOWN,
        survives_kill=False,
        why=why or f"The evidence does not contain {setting}, and it is an excerpt: the default need not apply.",
    )


def never_stops(settings: StorageSettings, version: Version, paths: Sequence[tuple[Role, str]]) -> int:
    """Return that no setting that is read makes the server stop while there is room."""
    del settings, version, paths
    return 0


class StorageRules(Protocol):
    """The module `storage` of a product. `version`: that of the server, empty where it is not known."""

    def durability(self, settings: StorageSettings, version: Version) -> tuple[Durability, ...]:
        """Return what the settings mean: of each backend the one that applies, then those without effect."""

    def places(self, settings: StorageSettings, version: Version, instance: str) -> tuple[StoragePlace, ...]:
        """Return the places in the text, and those that the defaults of the version give an instance."""

    def when_full(self, settings: StorageSettings, version: Version) -> str:
        """Return in sentences what the server does when a volume of its data is full; empty: it is not known."""

    def stops_below(self, settings: StorageSettings, version: Version, paths: Sequence[tuple[Role, str]]) -> int | None:
        """Return the free bytes below which the server stops, or refuses changes; 0: it does not; None: not known.

        `paths`: what it keeps on the volume.
        """

    def make_safe(
        self, server: ServerAddress, settings: StorageSettings, unsafe: Durability, version: Version
    ) -> Remedy | None:
        """Return the commands that make the server wait for the disk; None where the setting needs no change."""
