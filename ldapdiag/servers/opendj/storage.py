"""When OpenDJ has its changes on the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.servers.opendj.remedies import RESTART, dsconfig
from ldapdiag.servers.opends import dsconfig_storage

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.storage.settings import StoragePlace, StorageSettings
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


stops_below = dsconfig_storage.stops_below
when_full = dsconfig_storage.when_full


def make_safe(server: ServerAddress, settings: StorageSettings, unsafe: Durability, version: Version) -> Remedy | None:
    """Return the commands that make the server flush each change; None where nothing has to be changed."""
    del settings
    return dsconfig_storage.make_safe(dsconfig(server, version), unsafe, server.name, Family.OPENDJ, RESTART)
