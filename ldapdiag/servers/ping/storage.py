"""When PingDirectory has its changes on the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.servers.opends import dsconfig_storage
from ldapdiag.servers.ping.remedies import RESTART, dsconfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.storage.settings import Role, StoragePlace, StorageSettings
    from ldapdiag.remedy import Remedy
    from ldapdiag.servers.commands.server_address import ServerAddress
    from ldapdiag.servers.volumes.storage_rules import Durability


def durability(settings: StorageSettings, version: Version) -> tuple[Durability, ...]:
    """Return what applies to each backend."""
    del version  # the same in every version
    return dsconfig_storage.durability(settings)


def places(settings: StorageSettings, version: Version, instance: str) -> tuple[StoragePlace, ...]:
    """Return the places in the text."""
    del version, instance
    return dsconfig_storage.places(settings)


def stops_below(settings: StorageSettings, version: Version, paths: Sequence[tuple[Role, str]]) -> None:
    """Return that the thresholds of its disk space usage monitor are not known: they are not read."""
    del settings, version, paths  # it watches the volumes of its logs and its root, too


def when_full(settings: StorageSettings, version: Version) -> str:
    """Return what its configuration reference states of the Disk Space Usage Monitor Provider."""
    del settings, version  # the thresholds are not read
    return (
        "With less free than the low space error threshold of its disk space usage monitor, it rejects the operations "
        "of all but root users; with less than the out of space error threshold it shuts down. Neither is read here."
    )


def make_safe(server: ServerAddress, settings: StorageSettings, unsafe: Durability, version: Version) -> Remedy | None:
    """Return the commands that make the server flush each change; None where nothing has to be changed."""
    del settings, version
    return dsconfig_storage.make_safe(dsconfig(server), unsafe, server.name, Family.PING, RESTART)
