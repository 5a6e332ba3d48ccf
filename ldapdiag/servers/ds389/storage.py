"""When 389 Directory Server has its changes on the disk, by version, and how to make it wait again.

Measured with 2.3.1 by its calls of fdatasync, by a simulated power cut, and by what a server accepts and reads back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.ldap_session import question_of
from ldapdiag.evidence.ldif import whole_number
from ldapdiag.evidence.storage.ds389_settings import (
    BATCH,
    CHECKPOINT,
    DURABLE,
    IMPLEMENTATION,
    LONGEST_WAIT,
    MONITORING,
    MONITORING_FROM,
    MONITORING_LOGS,
    MONITORING_MINUTES,
    MONITORING_READ_ONLY,
)
from ldapdiag.evidence.storage.settings import Role, StoragePlace
from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.commands.ldap_tools import modify, shown
from ldapdiag.servers.commands.remedy_texts import advice_if_missing
from ldapdiag.servers.commands.shell_text import ldif_replace
from ldapdiag.servers.ldbm.storage import BATCHED, DATABASES, durable_transactions, of_batches
from ldapdiag.servers.volumes.storage_rules import WITH_FLUSHES, Durability, Window, not_known
from ldapdiag.wording import size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.storage.settings import StorageSettings
    from ldapdiag.servers.commands.server_address import ServerAddress

OWN_ENTRY = {"bdb": "cn=bdb", "mdb": "cn=mdb"}
"""The entry of an implementation, below cn=config of the databases; since 1.4."""
IGNORED_IN_MDB = ((2, 3), (2, 4))
"""From the first version to before the second one. Others were not measured."""
IGNORED_BY_MDB = "With mdb, 2.3 ignores it: each change is flushed as before, so nothing is gained and nothing is lost."
BATCHES_BRING_NOTHING = (
    "It brought no gain with 2.3.1: 67 to 99 changes per second with batches of 5 and 20, 80 to 98 without, by 1 to 40 "
    "clients."
)


MONITORED_FROM, MONITORED_MINUTES = 2 << 20, 60
"""The defaults of disk monitoring, in bytes and minutes."""
FILE = pattern(r"(?<![^ ])/(?!proc/)[A-Za-z0-9._/-]{1,1000}/dse\.ldif\b", re.ASCII)
OF_INSTANCE = pattern(r".*/slapd-([A-Za-z0-9._-]{1,100})/dse\.ldif", re.ASCII)
"""The file of one instance, whose name its folder contains."""


def durability(settings: StorageSettings, version: Version) -> tuple[Durability, ...]:
    """Return what applies to all databases, then settings without effect."""
    implementation = settings.value(IMPLEMENTATION).lower()
    own, entry = _read_entry(settings, implementation), OWN_ENTRY.get(implementation, "")
    value = _value(settings, DURABLE, own)
    if not value and not settings.complete:
        return (not_known("", DURABLE),)
    of_mdb = implementation == "mdb"
    found = [_of_mdb(value, version) if of_mdb else durable_transactions(DURABLE, value, _checkpoint(settings, own))]
    if own == entry and own and _value(settings, DURABLE, "").lower() == "off" and value.lower() != "off":
        found.append(_ignored(own))
    batch = whole_number(_value(settings, BATCH, own)) or 0
    if batch > 1 and not of_mdb:
        batched = of_batches(BATCH, batch, f"{_value(settings, LONGEST_WAIT, own) or 50} ms", BATCHES_BRING_NOTHING)
        found = [batched, *found] if found[0].is_safe else [*found, batched]
    return tuple(found)


def places(settings: StorageSettings, version: Version, instance: str) -> tuple[StoragePlace, ...]:
    """Return the places in the text, and those that the packages give an instance."""
    del version  # the same in every version
    found = list(settings.places)
    roles = {place.role for place in found}
    if instance and Role.DATABASE not in roles:
        found.append(StoragePlace(role=Role.DATABASE, path=f"/var/lib/dirsrv/slapd-{instance}/db", is_default=True))
    for role, name in ((Role.ACCESS_LOG, "access"), (Role.ERRORS_LOG, "errors")):
        if instance and role not in roles:
            found.append(StoragePlace(role=role, path=f"/var/log/dirsrv/slapd-{instance}/{name}", is_default=True))
    database = next((one for one in found if one.role is Role.DATABASE and not one.backend), None)
    if database and Role.TRANSACTION_LOG not in roles and settings.value(IMPLEMENTATION).lower() != "mdb":
        found.append(StoragePlace(role=Role.TRANSACTION_LOG, path=database.path, is_default=True))
    return tuple(found)


def when_full(settings: StorageSettings, version: Version) -> str:
    """Return what disk monitoring does, by its settings; it is off by default.

    Source: port389.org, Disk Monitoring. Measured with 2.3.1: on a full volume it stopped within 14 s.
    """
    del version  # the same in every version that has it
    value = settings.value(MONITORING).lower()
    if not value:
        unknown = f"The evidence does not contain {MONITORING}, which decides whether the server stops then"
        return f"{unknown}; its default is off. {_refused(settings)}"
    if value != "on":
        return f"{MONITORING} is off, so the server does not stop by itself. {_refused(settings)}"
    threshold = whole_number(settings.value(MONITORING_FROM)) or MONITORED_FROM
    minutes = whole_number(settings.value(MONITORING_MINUTES)) or MONITORED_MINUTES
    steps = [
        *(["it makes its databases read-only"] if settings.value(MONITORING_READ_ONLY).lower() == "on" else []),
        *(
            ["it turns the access log and the audit log off, and then deletes its rotated logs"]
            if settings.value(MONITORING_LOGS).lower() != "on"
            else []
        ),
        f"with less than {size(threshold / 2)} it stops after {minutes} min, and does not start before there is more",
        "with less than 4 KiB it stops at once",
    ]
    return f"{MONITORING} is on. With less than {size(threshold)} free on a volume of its data: {'; '.join(steps)}."


def stops_below(settings: StorageSettings, version: Version, paths: Sequence[tuple[Role, str]]) -> int | None:
    """Return half of the threshold, below which disk monitoring ends the server after a while; None: not known."""
    del version, paths  # the same in every version that has it; it watches the volumes of its logs, too
    monitoring = settings.value(MONITORING).lower()
    if monitoring != "on":
        return 0 if monitoring or settings.complete else None  # its default is off
    return (whole_number(settings.value(MONITORING_FROM)) or MONITORED_FROM) // 2


def _refused(settings: StorageSettings) -> str:
    """Return what happens to changes on a full ext4. Measured with 2.3.1 and additions of 200 kB: 48, then 42."""
    if settings.value(IMPLEMENTATION).lower() == "mdb":
        return "What it cannot write fails; with mdb it was not measured how."
    return (
        "With Berkeley DB (2.3.1) changes succeed while the present file of the transaction log has room, and are then "
        'refused with operationsError (1); its errors log has BDB0137 and "No space left on device". With '
        "nsslapd-db-home-directory on the full volume, the first change ended the server without a message."
    )


def make_safe(server: ServerAddress, settings: StorageSettings, unsafe: Durability, version: Version) -> Remedy | None:
    """Return the commands that make the server flush each transaction; None where nothing has to be changed."""
    del version  # the same in every version
    if unsafe.is_safe:
        return None
    if unsafe.setting == BATCH:
        return _without_batches(server, settings, unsafe)
    return _durable(server, settings) if unsafe.setting == DURABLE and unsafe.value else None


def _read_entry(settings: StorageSettings, implementation: str) -> str:
    """Return the entry in which the server reads its settings: that of the implementation, if the text has it."""
    own = OWN_ENTRY.get(implementation, "cn=bdb")
    return own if any(setting.entry == own for setting in settings.settings) else ""


def _value(settings: StorageSettings, name: str, entry: str) -> str:
    return next((setting.value for setting in settings.settings if setting.name == name and setting.entry == entry), "")


def _checkpoint(settings: StorageSettings, entry: str) -> int:
    return whole_number(_value(settings, CHECKPOINT, entry)) or 60


def _of_mdb(value: str, version: Version) -> Durability:
    """Return what LMDB does; 2.3.1 flushes twice per change (20 ms with a flush of 10 ms), off or on."""
    off = value.lower() == "off"
    if off and not IGNORED_IN_MDB[0] <= version < IGNORED_IN_MDB[1]:
        return not_known(
            "", DURABLE, value, why="With mdb it has no effect in 2.3.1; other versions were not measured."
        )
    return Durability(
        backend="",
        setting=DURABLE,
        value=value or "on",
        is_default=not value,
        window=Window.NONE,
        effective=not off,
        why=IGNORED_BY_MDB if off else "",
        flushes_per_write=2,
        tested=version[:2] == IGNORED_IN_MDB[0],
    )


def _ignored(entry: str) -> Durability:
    """Return that the setting above the entry of the implementation is not read."""
    return Durability(
        backend="",
        setting=DURABLE,
        value="off",
        window=Window.NONE,
        effective=False,
        why=f"It is set in cn=config,{DATABASES}; the server reads it in {entry},cn=config,{DATABASES} alone (2.3.1).",
        flushes_per_write=1,
        tested=True,
    )


def _durable(server: ServerAddress, settings: StorageSettings) -> Remedy:
    """Return the edit of dse.ldif: the running server refuses the change (unwillingToPerform, 2.3.1)."""
    named = FILE.search(question_of(settings.origin.asked))
    file = named[0] if named else f"/etc/dirsrv/slapd-{server.instance}/dse.ldif"
    own = OF_INSTANCE.fullmatch(file)
    instance = own[1] if own else server.instance
    unit = f"dirsrv@{instance}" if instance else "dirsrv.target"
    remedy = Remedy(
        title="Flush each transaction to the disk",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=_edited(file, unit, "off", "on"),
        changes="The server confirms a change when its transaction is on the disk. It refuses this change while it "
        f"runs, so dse.ldif is edited between stop and start; {file}.before-durable is a copy of it.",
        risk=f"A restart. Each change then waits for one flush of the disk, and {WITH_FLUSHES} A bulk load is faster "
        "with dsctl ldif2db.",
        undo=_edited(file, unit, "on", "off"),
        verify=shown(server, DURABLE, entry=f"cn=bdb,cn=config,{DATABASES}"),
        family=Family.DS389,
        needs=Needs.RESTART,
    )
    return advice_if_missing(remedy, [] if instance else ["the name of its instance"])


def _edited(file: str, unit: str, former: str, new: str) -> str:
    """Return the commands: the server starts again whether or not the file could be edited."""
    expression = f"s/^\\({DURABLE}:\\) *{former} *$/\\1 {new}/I"
    return "\n".join(
        [
            f"systemctl stop {unit} &&",
            f"sed -i.before-durable '{expression}' {file}",
            f"systemctl start {unit}",
        ]
    )


def _without_batches(server: ServerAddress, settings: StorageSettings, unsafe: Durability) -> Remedy:
    own = _read_entry(settings, settings.value(IMPLEMENTATION).lower())
    entry = ",".join(filter(None, (own, "cn=config", DATABASES)))
    return Remedy(
        title="Flush each transaction by itself",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, *ldif_replace(BATCH, 0, entry)),
        changes="No transaction waits for others before its flush.",
        risk=f"None is known. {BATCHED} {BATCHES_BRING_NOTHING}",
        undo=modify(server, *ldif_replace(BATCH, whole_number(unsafe.value), entry)),
        verify=shown(server, BATCH, entry=entry),
        family=Family.DS389,
    )
