"""When OpenDJ, its relatives and PingDirectory have their changes on the disk, and the commands that make them wait.

Not measured. OpenDJ: JEStorage and its test of 2026 (`db-txn-write-no-sync is on by default`; the two settings exclude
each other; a change applies at once, in older versions perhaps at the next start). Oracle's manual of Berkeley DB Java
Edition: what each durability loses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.storage.opends_settings import (
    DISK_FULL,
    DISK_LOW,
    DURABILITY,
    JAVA_CLASS,
    NO_SYNC,
    PREFIX,
    WRITE_NO_SYNC,
)
from ldapdiag.evidence.storage.settings import Role, StoragePlace
from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.opends.dsconfig import PASSWORD_HINT
from ldapdiag.servers.opends.dsconfig_indexes import BACKEND_NAME
from ldapdiag.servers.volumes.storage_rules import (
    LOSS,
    UNTIL_WRITTEN,
    WRITE_BACK_SECONDS,
    Durability,
    Window,
    not_known,
)
from ldapdiag.wording import size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.family import Family, Version
    from ldapdiag.evidence.storage.settings import StorageSettings
    from ldapdiag.servers.opends.dsconfig import Dsconfig


BUFFERED = "They wait in the memory of the process, so its end alone (kill -9) loses them as well."
UNTIL_SYNCED = f"{LOSS} {UNTIL_WRITTEN}"

THRESHOLDS = {DISK_LOW: 200_000_000, DISK_FULL: 100_000_000}
"""The defaults of OpenDJ 2.4 to 4 (JEBackendConfiguration.xml). Those of 5 and later are not confirmed."""
LATER_DEFAULTS = (5,)
UNITS = " kmgt"
UNIT = pattern(
    r"([0-9]{1,15}(?:\.[0-9]{1,6})?) *(?:(b|bytes)|([kmgt])(?:b|(?:ilo|ega|iga|era)bytes)|([kmgt])(?:ib|[ei]bibytes))"
)


def _bytes_of(text: str) -> int | None:
    """Return a size as OpenDJ writes it: `100 megabytes`, `10 GB`, `5 gib`; None for anything else."""
    found = UNIT.fullmatch(text.strip().lower())
    if found is None:
        return None
    base, unit = (1000, found[3]) if found[3] else (1024, found[4] or "")
    return int(float(found[1]) * base ** (UNITS.index(unit) if found[2] is None else 0))


def _thresholds(settings: StorageSettings, version: Version, name: str, backends: Iterable[str]) -> list[int | None]:
    """Return a threshold of each of these backends in bytes; None: not known."""
    assumed = f"{THRESHOLDS[name]} b" if settings.complete and () < version < LATER_DEFAULTS else ""
    return [_bytes_of(_written(settings, backend, name)[1] or assumed) for backend in backends]


def stops_below(settings: StorageSettings, version: Version, paths: Sequence[tuple[Role, str]]) -> int | None:
    """Return the free bytes below which it refuses changes of a backend whose database is on the volume; None: unknown.

    Of 8.1 disk-full-threshold is 5 % of the file system and 1 GB by default (PingAM 8.1, Install: disk space).
    """
    here = {path.rpartition("/")[2] for role, path in paths if role is Role.DATABASE}
    only = settings.backends if here and len(settings.backends) == 1 else ()  # whatever a symbolic link is called
    backends = here.intersection(settings.backends) or only
    found = [one for name in THRESHOLDS for one in _thresholds(settings, version, name, backends)]
    return max((one for one in found if one is not None), default=None if here else 0)


def when_full(settings: StorageSettings, version: Version) -> str:
    """Return what the reference of its configuration states of both thresholds."""
    known = [_thresholds(settings, version, name, settings.backends) for name in (DISK_LOW, DISK_FULL)]
    low, full = (_in_words([one for one in each if one is not None]) for each in known)
    unknown = (
        " Not all of them are in the evidence, and the defaults differ by version."
        if not settings.backends or any(None in each for each in known)
        else ""
    )
    return (
        f"With less free than the {DISK_LOW} of a backend{low} it refuses updates of accounts without the privilege "
        f"bypass-lockdown, with less than its {DISK_FULL}{full} every update: unwillingToPerform (53).{unknown}"
    )


def _in_words(amounts: Sequence[int]) -> str:
    if not amounts:
        return ""
    least, most = (size(each(amounts)) for each in (min, max))
    return f" ({least})" if least == most else f" ({least} to {most})"


def durability(settings: StorageSettings) -> tuple[Durability, ...]:
    """Return what applies to each backend."""
    return tuple(_of_backend(settings, backend) for backend in settings.backends)


def places(settings: StorageSettings) -> tuple[StoragePlace, ...]:
    """Return the places in the text, relative ones below the folder of the instance where that is known."""
    return tuple(
        StoragePlace(role=place.role, path=f"{settings.root}/{place.path}", backend=place.backend)
        if settings.root and not place.path.startswith("/")
        else place
        for place in settings.places
    )


def make_safe(tool: Dsconfig, unsafe: Durability, target: str, family: Family, restart: str) -> Remedy | None:
    """Return the commands that make a backend flush each change; None where nothing has to be changed."""
    if unsafe.is_safe or unsafe.window is Window.UNKNOWN or not BACKEND_NAME.fullmatch(unsafe.backend):
        return None
    if unsafe.setting.endswith(DURABILITY):
        safe, former = [f"{DURABILITY}:high"], [f"{DURABILITY}:{unsafe.value}"]
    elif unsafe.setting.endswith(WRITE_NO_SYNC):
        safe, former = [f"{WRITE_NO_SYNC}:false"], [f"{WRITE_NO_SYNC}:true"]
    else:
        safe, former = [f"{NO_SYNC}:false", f"{WRITE_NO_SYNC}:false"], [f"{NO_SYNC}:true", f"{WRITE_NO_SYNC}:false"]
    names = [one.partition(":")[0] for one in safe]
    backend = f"--backend-name {unsafe.backend}"
    return Remedy(
        title=f"Flush each change of the backend {unsafe.backend} to the disk",
        target=target,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text="\n".join([tool.set("backend", *safe, component=backend), restart]),
        changes="The server confirms a change when it is on the disk. Not every version applies the setting before its "
        f"next start, so the server is restarted. {PASSWORD_HINT}",
        risk="A restart. Each change then waits for a flush of the disk: measure the disk first (ldapdiag storage "
        "--probe). These commands were not tested.",
        undo="\n".join([tool.set("backend", *former, component=backend), restart]),
        verify=f"{tool.show('backend', *names, component=backend)} --advanced",
        family=family,
        needs=Needs.RESTART,
    )


def _written(settings: StorageSettings, backend: str, name: str) -> tuple[str, str]:
    """Return the name and the value of a property, as LDIF or as dsconfig has it."""
    value = settings.value(PREFIX + name, backend)
    return (PREFIX + name, value.lower()) if value else (name, settings.value(name, backend).lower())


def _of_backend(settings: StorageSettings, backend: str) -> Durability:
    level, no_sync, write_no_sync = (_written(settings, backend, name) for name in (DURABILITY, NO_SYNC, WRITE_NO_SYNC))
    of_persistit = "pdb" in _written(settings, backend, JAVA_CLASS)[1]
    if level[1]:
        return _by_level(backend, *level)
    if no_sync[1] == "true":
        return _losing(backend, *no_sync, loss=f"{UNTIL_SYNCED} {BUFFERED}", survives_kill=False)
    if write_no_sync[1] == "true":
        return _losing(backend, *write_no_sync, loss=UNTIL_SYNCED)
    if write_no_sync[1] == "false" or (of_persistit and (no_sync[1] or settings.complete)):
        return _flushing(backend, *(no_sync if of_persistit else write_no_sync))
    if not settings.complete:
        return not_known(backend, WRITE_NO_SYNC, why=f"{WRITE_NO_SYNC} is not in the evidence: dsconfig shows it only "
                         "with --advanced. Its default is true, which is not safe in a power cut.")  # fmt: skip
    return _losing(backend, PREFIX + WRITE_NO_SYNC, "true", loss=UNTIL_SYNCED, is_default=True)


def _by_level(backend: str, setting: str, level: str) -> Durability:
    """Return what db-durability of ForgeRock DS 7 and PingDS means."""
    if level == "high":
        return _flushing(backend, setting, level)
    if level == "low":
        return _losing(backend, setting, level, loss=f"{UNTIL_SYNCED} {BUFFERED}", survives_kill=False)
    return _losing(backend, setting, level, loss=UNTIL_SYNCED)


def _losing(
    backend: str, setting: str, value: str, *, loss: str, survives_kill: bool = True, is_default: bool = False
) -> Durability:
    return Durability(
        backend=backend,
        setting=setting,
        value=value,
        is_default=is_default,
        window=Window.SECONDS,
        window_seconds=WRITE_BACK_SECONDS,
        loss=loss,
        survives_kill=survives_kill,
        flushes_per_write=0,
    )


def _flushing(backend: str, setting: str, value: str) -> Durability:
    return Durability(
        backend=backend, setting=setting, value=value or "false", is_default=not value, window=Window.NONE
    )
