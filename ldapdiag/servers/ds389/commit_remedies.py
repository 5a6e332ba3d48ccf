"""What shortens the wait of 389 Directory Server's writes for the disk. Measured with 2.3.1.

A change waits for one flush of the transaction log (Berkeley DB), with LMDB for two. Batches of transactions
(nsslapd-db-transaction-batch-val) brought nothing: 67 to 99 changes per second with batches of 5 and 20, 80 to 98
without. nsslapd-db-durable-transaction: off loses every change since the last flush, and is no remedy.
"""

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
    "account, set nsslapd-db-logdirectory in dse.ldif to it (cn=bdb,cn=config,cn=ldbm database,cn=plugins,cn=config), "
    "and start the server."
)
DATABASE = (
    "copy the folder of the database, set nsslapd-directory in dse.ldif to the new one, and start the server. LMDB "
    "keeps no log of its own, so the whole database moves."
)


def shorten_commits(
    server: ServerAddress, settings: StorageSettings | None, version: Version = ()
) -> tuple[Remedy, ...]:
    """Return the remedy; there is no other that keeps every acknowledged change."""
    implementation = settings.value("nsslapd-backend-implement").lower() if settings else ""
    if implementation == "mdb" or (not implementation and version >= (3,)):
        return (faster_disk(server, "the database", DATABASE, Family.DS389),)
    return (faster_disk(server, "the transaction log", LOG, Family.DS389),)
