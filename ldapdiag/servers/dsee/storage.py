"""When Directory Server Enterprise Edition has its changes on the disk: by its manuals, not tested.

Source: Oracle E28967 (nsslapd-db-durable-transactions, nsslapd-db-transaction-batch-val), Sun 820-4811.

What shortens the wait of DSEE's writes for the disk: by its manual, as for 389 Directory Server; not measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.ldif import whole_number
from ldapdiag.evidence.storage import dsconf_settings as dsconf
from ldapdiag.evidence.storage.ds389_settings import BATCH, CHECKPOINT, DISK_FULL, DISK_LOW, DURABLE_IN_DSEE
from ldapdiag.evidence.storage.settings import LASTING
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.commands.ldap_tools import host, modify, port, shown
from ldapdiag.servers.dsee.remedies import FIRST_WITH_DSCONF, RESTART, WHERE_IT_IS
from ldapdiag.servers.ldbm.storage import DATABASES, durable_transactions, of_batches
from ldapdiag.servers.volumes.layout_remedies import faster_disk
from ldapdiag.servers.volumes.storage_rules import WITH_FLUSHES, Durability, not_known
from ldapdiag.wording import size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.storage.settings import Role, StoragePlace, StorageSettings
    from ldapdiag.servers.commands.server_address import ServerAddress

ENTRY = f"cn=config,{DATABASES}"
PROPERTIES = {DURABLE_IN_DSEE: dsconf.DURABLE, BATCH: dsconf.BATCH}
"""Attributes, and their properties in dsconf."""


def durability(settings: StorageSettings, version: Version) -> tuple[Durability, ...]:
    """Return what applies to all databases."""
    del version  # the same in every version
    by_dsconf = any(setting.name == dsconf.DURABLE for setting in settings.settings)
    durable = PROPERTIES[DURABLE_IN_DSEE] if by_dsconf else DURABLE_IN_DSEE
    value = settings.value(durable)
    if not value and not settings.complete:
        return (not_known("", durable),)
    checkpoint = whole_number(settings.value(CHECKPOINT)) or 60
    found = durable_transactions(durable, value, checkpoint, tested=False)
    batch = PROPERTIES[BATCH] if by_dsconf else BATCH
    count = whole_number(settings.value(batch)) or 0
    if count > 1 and found.is_safe:
        return of_batches(batch, count, "an unknown time", "", tested=False), found
    return (found,)


def places(settings: StorageSettings, version: Version, instance: str) -> tuple[StoragePlace, ...]:
    """Return the places in the text: an instance may be anywhere."""
    del version, instance
    return settings.places


THRESHOLDS = {DISK_LOW: 100, DISK_FULL: 10}
"""Their defaults, in MB (Oracle E28967, 5dsconf)."""


def _thresholds(settings: StorageSettings) -> tuple[int, ...]:
    """Return both thresholds in bytes."""
    known = (whole_number(settings.value(name)) for name in THRESHOLDS)
    pairs = zip(known, THRESHOLDS.values(), strict=True)
    return tuple((default if value is None else value) << 20 for value, default in pairs)


def stops_below(settings: StorageSettings, version: Version, paths: Sequence[tuple[Role, str]]) -> int | None:
    """Return the free bytes below which it refuses changes, on a volume with data; None: not known."""
    del version  # the same in every version
    known = settings.complete or settings.value(DISK_LOW)
    if LASTING.isdisjoint(role for role, _ in paths):
        return 0
    return max(_thresholds(settings)) if known else None


def when_full(settings: StorageSettings, version: Version) -> str:
    """Return what its manual states of both thresholds."""
    del version
    low, full = _thresholds(settings)
    default = "" if settings.complete else ", unless they are set otherwise: the evidence does not show all settings"
    return (
        f"With less than {size(low)} free ({DISK_LOW}) it accepts changes of its directory manager alone, with less "
        f"than {size(full)} ({DISK_FULL}) none: unwillingToPerform (53){default}."
    )


def make_safe(server: ServerAddress, settings: StorageSettings, unsafe: Durability, version: Version) -> Remedy | None:
    """Return the commands that make the server flush each transaction; None where nothing has to be changed."""
    del settings
    attribute = next((one for one, name in PROPERTIES.items() if unsafe.setting in {one, name}), "")
    if unsafe.is_safe or not unsafe.value or not attribute:
        return None
    of_batch = attribute == BATCH
    safe, former = ("0", unsafe.value) if of_batch else ("on", "off")
    return Remedy(
        title="Flush each transaction by itself" if of_batch else "Flush each transaction to the disk",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([_setting(server, attribute, safe, version), RESTART]),
        changes="From its next start on, the server confirms a change when its transaction is on the disk. "
        f"{WHERE_IT_IS}",
        risk=f"A restart. Each change then waits for a flush of the disk, and {WITH_FLUSHES}",
        undo="\n".join([_setting(server, attribute, former, version), RESTART]),
        verify=_shown(server, attribute, version),
        family=Family.DSEE,
        needs=Needs.RESTART,
    )


def _setting(server: ServerAddress, attribute: str, value: str, version: Version) -> str:
    if () < version < FIRST_WITH_DSCONF:
        return modify(server, f"dn: {ENTRY}", "changetype: modify", f"replace: {attribute}", f"{attribute}: {value}")
    return f"dsconf set-server-prop -h {host(server)} -p {port(server)} {PROPERTIES[attribute]}:{value}"


def _shown(server: ServerAddress, attribute: str, version: Version) -> str:
    if () < version < FIRST_WITH_DSCONF:
        return shown(server, attribute, entry=ENTRY)
    return f"dsconf get-server-prop -h {host(server)} -p {port(server)} {PROPERTIES[attribute]}"


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
