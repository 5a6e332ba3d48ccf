"""What shortens the wait of DSEE's writes for the disk: by its manual, as for 389 Directory Server; not measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.servers.faster_disk import faster_disk

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.storage.settings import StorageSettings
    from ldapdiag.remedy import Remedy
    from ldapdiag.servers.server_address import ServerAddress

LOG = (
    "move the files log.* of the database's folder into a folder on the new volume that belongs to the server's "
    "account, set nsslapd-db-logdirectory in dse.ldif to it (7.x: the property db-log-path), and start the server."
)


def shorten_commits(
    server: ServerAddress, settings: StorageSettings | None, version: Version = ()
) -> tuple[Remedy, ...]:
    """Return the remedy; there is no other that keeps every acknowledged change."""
    del settings, version  # the same in every version
    return (faster_disk(server, "the transaction log", LOG, Family.DSEE),)
