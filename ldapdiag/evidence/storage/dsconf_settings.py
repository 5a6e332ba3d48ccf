"""Where DSEE keeps its data, and when changes are on the disk, as its dsconf prints them.

    db-batched-transaction-count    :  0
    db-durable-transaction-enabled  :  on
    db-log-path                     :  /local/ds/db

`dsconf get-server-prop` prints those of the server, `get-suffix-prop` the db-path of a suffix.
Source: Oracle E28967 (man pages of section 5dsconf); Sun 820-4811 (Transaction Log).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.storage.settings import Role, SettingsReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.storage.settings import StorageSettings

DURABLE, BATCH, CHECKPOINT = "db-durable-transaction-enabled", "db-batched-transaction-count", "db-checkpoint-interval"
LOG_PATH, DATABASE_PATH = "db-log-path", "db-path"
SETTINGS = (DURABLE, BATCH, CHECKPOINT)
PROPERTIES = frozenset({*SETTINGS, LOG_PATH, DATABASE_PATH})


def of_properties(document: Document, properties: Mapping[str, str]) -> Iterator[StorageSettings]:
    """Yield the storage settings among the properties of a server or a suffix."""
    reader = SettingsReader(document)
    for role, name in ((Role.DATABASE, DATABASE_PATH), (Role.TRANSACTION_LOG, LOG_PATH)):
        if properties.get(name):
            reader.keep_place(role, properties[name])
    for name in SETTINGS:
        if name in properties:
            reader.keep_setting(name, properties[name])
    yield from reader.found(Family.DSEE, complete=DURABLE in properties)
