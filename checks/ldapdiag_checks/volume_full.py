"""volume-full: volumes of a directory server without space or inodes left, or nearly.

The steps of a severity, and how much of a volume is free.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.load.forecast import LimitForecast
from ldapdiag.analysis.storage.filling import NO_RUNS, by_log, clause, filling, reached, when
from ldapdiag.analysis.storage.options import EXT
from ldapdiag.analysis.storage.server_storage import ServerStorage
from ldapdiag.check import MainNumber, Worse, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.history import History
from ldapdiag.evidence.storage import FileSystemSpace, MountTable
from ldapdiag.evidence.storage.settings import Role, StorageSettings
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.servers.volumes.volume_remedies import find_contents, make_room
from ldapdiag.wording import counted, number, size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ldapdiag.analysis.storage.volume import Volume
    from ldapdiag.evidence.storage import Space
    from ldapdiag.servers.volumes.storage_rules import StorageRules

FULL_BYTES, HIGH_BYTES, MEDIUM_BYTES = 10 << 20, 1 << 30, 10 << 30
"""Free bytes: the next file of Berkeley DB's transaction log (10 MiB) does not fit; the logs of one instance with usual
limits take as much; a volume of terabytes with less than a tenth free is not short of space with more."""
FULL_INODES, HIGH_INODES, MEDIUM_INODES = 10, 1_000, 10_000
"""Free inodes, likewise: a file that is rotated, or a file of a database, takes one."""
INODES_ON_DEMAND = frozenset({"btrfs", "xfs", "zfs", "jfs"})
"""File systems that make inodes as long as there is space."""
QUOTAS = ("usrquota", "grpquota", "uquota", "gquota", "usrjquota=", "grpjquota=", "quota")
"""Options of a mount with limits for accounts, which df does not show."""
PROJECTS = frozenset({"prjquota", "pquota"})
"""Options of a mount with limits for folders, which df shows of the folder that it is asked for."""
LOWER = {Severity.CRITICAL: Severity.HIGH, Severity.HIGH: Severity.MEDIUM, Severity.MEDIUM: Severity.LOW}
"""The severity where only logs are on the volume: the server goes on, and its log has gaps."""
SOON = (Severity.HIGH, Severity.MEDIUM)
"""The severities of a volume that will be full within the two times that are set."""
UNKNOWN_SHARE, UNKNOWN_BYTES = 0.1, 10 << 30
"""A server whose limit is not known may refuse changes below this share of the volume and so much: the default of
PingDS 8.1 is half of the share, and 1 or 5 GB."""
LIMIT_UNKNOWN = "below how much free space the server stops or refuses changes is not in the evidence"
UNKNOWN = "What this product does on a full volume is not known here."


@check(group="storage", number=MainNumber("free_percent", "free percentage", "value", worse=Worse.LESS))
def judge(
    storage: ServerStorage,
    server: Instance,
    histories: tuple[History, ...] = (),
    *,
    high_percent: Annotated[float, Threshold("%", "less free is high, if it is less than 1 GiB", most=100)] = 5.0,
    medium_percent: Annotated[float, Threshold("%", "less free is medium, if it is less than 10 GiB", most=100)] = 10.0,
    high_hours: Annotated[float, Threshold("h", "less until it is full is high, by the median of the forecast")] = 24.0,
    medium_hours: Annotated[float, Threshold("h", "less is medium")] = 168.0,
) -> Iterator[Verdict]:
    """Volumes of a server without space or inodes left, or nearly.

    ## What it looks at
    The free space and the free inodes (df -PkT, df -PiT, stat -f) of each volume with the database, the transaction
    log, the changelog or a log (access, errors, audit) of a server. Free is what accounts without privileges may
    use: ext file systems reserve blocks for root, 5 % by default, and the finding names them. btrfs and others have
    no fixed number of inodes.

    Where a server stops or refuses changes below a limit that is not in the evidence (OpenDJ and PingDS from version 5
    on, whose defaults differ by version, without a value; PingDirectory, whose limits are not read), the verdict says
    so, also where that of one of several backends on the volume is not; with less than 10 % and another 10 GiB free it
    is not judged. Of folders with different quotas of projects on one mount point, df does not name the folder: the
    least free of them counts, and the verdict says that it may be that of another folder.

    df does not show the quota of an account. A volume that is mounted with quotas (usrquota, grpquota) is therefore
    not judged, unless it is full as a whole. Neither is the free space of what lies below it: a thin pool, a sparse
    image, a file server.

    One listing is one moment: it shows no growth. With recorded runs (diagnose --record FILE) of the same volume
    it is forecast when the volume is full, or stated why not: from at least five listings since something was last
    removed, only if the volume has gone longer without a removal and is fuller than ever before in these runs, and no
    further ahead than it was watched. So a volume whose logs are rotated is not called full in so many hours. Beside it
    stands when the access log on the volume alone fills it, by the size of its files and the time from their first
    record to their last, if they are in the evidence as the server writes them (not compressed); that decides nothing.

    ## Severity
    By default:

    - critical: less than 10 MiB free, or fewer than 10 inodes; or less than the server needs by its own setting
      (389-ds: half of nsslapd-disk-monitoring-threshold), below which it stops or refuses changes (OpenDJ:
      disk-low-threshold; DSEE: nsslapd-disk-low-threshold).
    - high: less than 5 % free and less than 1 GiB; or less than 5 % of the inodes and fewer than 1,000.
    - medium: less than 10 % free and less than 10 GiB; or less than 10 % of the inodes and fewer than 10,000.
    - high: full within 24 hours by the forecast; medium: within 7 days, or possibly within 24 hours (at the speed of
      the last listings).

    One step lower where only logs of operations, errors or changes (audit) are on the volume.

    ## Why it matters
    A server that cannot write refuses changes, stops, or loses log records, by product and setting; the finding states
    which. 389-ds can watch its volumes (nsslapd-disk-monitoring): then it stops before the volume is full, and does not
    start again while it is. The database need not grow for that: a log on the same volume is enough.

    ## What to do
    Find what takes the space. Move exports, backups and rotated logs elsewhere, then enlarge the volume or give the
    logs one of their own. Never delete files of the database or its transaction log by hand, and do not restart the
    server before there is room.

    ## When it is harmless
    A volume with a database of fixed size, whose files are allocated in full, and with no log on it.
    """
    if not storage.volumes and not storage.unplaced:
        kinds = storage.missing or (StorageSettings.kind,)
        reason = f"the volumes of {server.name} are not in the evidence"
        yield NotJudged(subject=server.name, reason=reason, missing=kinds, how=storage.how)
    for volume in storage.volumes:
        yield _of_volume(volume, storage, server, (high_percent, medium_percent), (high_hours, medium_hours), histories)
    for one in storage.unplaced:
        reason = f"the volume of the {one.role} {one.path} is unknown: {one.why}"
        yield NotJudged.without(MountTable, f"{one.path} of {server.name}", reason, how=storage.how)


def _of_volume(
    volume: Volume,
    storage: ServerStorage,
    server: Instance,
    percents: tuple[float, float],
    hours: tuple[float, float],
    histories: tuple[History, ...],
) -> Verdict:
    subject, space = f"{volume.mount_point} of {server.name}", volume.space
    needed, is_known = _needed(volume, storage, server)
    short = shortages(space, percents, needed) if space else {}
    fill = filling(space, server.name, histories, needed) if space else LimitForecast(not_because=NO_RUNS)
    soon = _soon(fill, hours)
    if space and (short or soon):
        return _finding(volume, space, short, storage, server, (fill, soon, needed), hours[-1])
    if space is None or space.free_bytes is None or space.total_bytes is None:
        return NotJudged.without(FileSystemSpace, subject, f"the free space of {volume.name} is not in the evidence")
    if not space.total_bytes:
        reason = f"{volume.name} reports no size, so how much is free is not known"
        return NotJudged(subject=subject, reason=reason, how="read its limit in its mount options or in its settings")
    quotas = [word for word in volume.options.words if word.startswith(QUOTAS)]
    if quotas:
        reason = (
            f"{_free(space)} on {volume.name}, which is mounted with quotas ({', '.join(quotas)}): what they leave the "
            "account of the server is not in the evidence"
        )
        return NotJudged(subject=subject, reason=reason, how="on the server, as root: repquota -aug")
    if space.free_inodes is None and volume.fs_type not in INODES_ON_DEMAND:
        reason = f"{_free(space)} on {volume.name}, and the number of free inodes is not in the evidence"
        return NotJudged.without(FileSystemSpace, subject, reason)
    if not is_known and space.free_bytes < UNKNOWN_SHARE * space.total_bytes + UNKNOWN_BYTES:
        reason = f"{_free(space)} on {volume.name}, and {LIMIT_UNKNOWN}"
        return NotJudged.without(StorageSettings, subject, reason, how=storage.how)
    limits = [
        *([LIMIT_UNKNOWN] if not is_known else []),
        *(["it is mounted read-only, so nothing is written there (io-errors)"] if volume.options.read_only else []),
        *([] if volume.local else ["quotas of the file server are not in the evidence"]),
        *([clause(fill, needed)] if fill.not_because != NO_RUNS else []),
        *_by_log(volume, server, needed),
        *_of_folders(volume, space),
    ]
    return Clear(subject=subject, reason="; ".join([f"{_free(space)} on {volume.name}{_inodes(space)}", *limits]))


def _needed(volume: Volume, storage: ServerStorage, server: Instance) -> tuple[int, bool]:
    """Return the free bytes that the server needs, and whether the limits of all that is on the volume are known."""
    rules, settings = _rules(server), storage.settings
    if rules is None or settings is None:
        return 0, True
    limits = [rules.stops_below(settings, server.version, paths) for paths in (volume.paths, *zip(volume.paths))]
    return limits[0] or 0, None not in limits


def _by_log(volume: Volume, server: Instance, needed: int) -> Iterator[str]:
    """Yield when the access log on a volume fills it."""
    if volume.space and Role.ACCESS_LOG in volume.roles and (found := by_log(volume.space, server.access_logs, needed)):
        yield found


def _of_folders(volume: Volume, space: Space) -> Iterator[str]:
    """Yield that the space may be that of another folder."""
    if space.folders > 1 and any(word in PROJECTS for word in volume.options.words):
        several = f"df lists {space.folders} rows of this mount point, as folders with quotas of projects have them"
        yield f"{several}: the least free counts, and the evidence does not show of which folder it is"


def _soon(fill: LimitForecast, hours: tuple[float, float]) -> Severity | None:
    """Return how bad it is when the volume will be full, or perhaps will be."""
    if fill.median is None or fill.earliest is None:
        return None
    level = next((one for one, most in zip(SOON, hours, strict=True) if fill.median < most), None)
    return SOON[-1] if level is None and fill.earliest < hours[0] else level


def _rules(server: Instance) -> StorageRules | None:
    return server.product.storage if server.product else None


def shortages(space: Space, percents: tuple[float, float], needed: int) -> Mapping[str, Severity]:
    """Return the severity of each resource that is short: bytes, inodes; the server runs with `needed` bytes free."""
    byte_limits = (max(FULL_BYTES, needed), HIGH_BYTES, MEDIUM_BYTES)
    inode_limits = (FULL_INODES, HIGH_INODES, MEDIUM_INODES)
    found = {
        "bytes": _severity(space.free_bytes, space.total_bytes, byte_limits, percents),
        "inodes": _severity(space.free_inodes, space.total_inodes, inode_limits, percents),
    }
    return {what: severity for what, severity in found.items() if severity is not None}


def _severity(
    free: int | None, total: int | None, limits: tuple[int, int, int], percents: tuple[float, float]
) -> Severity | None:
    """Return how bad it is that so much is free; None: it is enough, not known, or there is no limit (a total of 0)."""
    if free is None or not total:
        return None
    full, *steps = limits
    if free < full:
        return Severity.CRITICAL
    levels = zip((Severity.HIGH, Severity.MEDIUM), steps, percents, strict=True)
    return next((level for level, least, share in levels if free < least and 100 * free < share * total), None)


def _free(space: Space) -> str:
    free, total = space.free_bytes or 0, space.total_bytes or 0
    share = f" ({100 * free // total} %)" if total else ""
    return f"{size(max(free, 0))} of {size(total)}{share} are free"


def _inodes(space: Space) -> str:
    return (
        f", and {number(space.free_inodes or 0)} of {number(space.total_inodes)} inodes" if space.total_inodes else ""
    )


def _reserved(space: Space) -> int:
    """Return the bytes that are neither used nor free for accounts without privileges."""
    if space.total_bytes is None or space.used_bytes is None:
        return 0
    return max(0, space.total_bytes - space.used_bytes - max(space.free_bytes or 0, 0))


def _finding(
    volume: Volume,
    space: Space,
    short: Mapping[str, Severity],
    storage: ServerStorage,
    server: Instance,
    forecast: tuple[LimitForecast, Severity | None, int],
    medium_hours: float,
) -> Finding:
    fill, soon, needed = forecast
    now = max(short.values(), default=None)
    worst = max(one for one in (now, soon) if one is not None)
    inodes_alone = bool(short) and short.get("bytes") is not now
    what = "inodes" if inodes_alone else "space"
    left = (
        f"{counted(space.free_inodes or 0, 'inode')} of {number(space.total_inodes or 0)} left"
        if inodes_alone
        else _left(space)
    )
    stops = not inodes_alone and (space.free_bytes or 0) >= FULL_BYTES
    critical = "has less space left than the server needs by its settings" if stops else f"has no {what} left"
    state = critical if worst is Severity.CRITICAL else f"has little {what} left"
    probable = fill.median is not None and fill.median < medium_hours
    if now is None or now < worst:
        state = f"{'will' if probable else 'may'} {reached(needed)} {when(fill)} if nothing is removed"
        left = _left(space)
    reserved = _reserved(space)
    return Finding(
        subject=f"{volume.mount_point} of {server.name}",
        severity=worst if volume.lasting_paths else LOWER[worst],
        confidence=Confidence.CERTAIN if now is worst else Confidence.LIKELY if probable else Confidence.POSSIBLE,
        title=f"The volume of the {volume.contents} of {server.name} {state}: {left} on {volume.name}",
        detail="\n".join(
            _sentences(volume, space, storage, server, (clause(fill, needed), *_by_log(volume, server, needed)))
        ),
        observed={
            "server": server.name,
            "mount_point": volume.mount_point,
            "file_system": volume.fs_type,
            "roles": [str(role) for role in volume.roles],
            "free_percent": _free_percent(space, short or {"bytes": worst}),
            "free_bytes": space.free_bytes,
            "total_bytes": space.total_bytes,
            "reserved_bytes": reserved,
            "free_inodes": space.free_inodes,
            "total_inodes": space.total_inodes,
            "read_only": volume.options.read_only,
        }
        | fill.numbers,
        server=server.name,
        hosts=(server.host,),
        remedies=(
            find_contents(server.host, volume.mount_point, in_container=volume.in_container),
            make_room(
                server.host,
                volume.mount_point,
                volume.source,
                reserved_percent=100 * reserved / space.total_bytes
                if space.total_bytes and volume.fs_type in EXT
                else 0,
            ),
        ),
        origins=storage.origins,
    )


def _free_percent(space: Space, short: Mapping[str, Severity]) -> float:
    """Return how much is free of what is short, the scarcer of both; it grows with a volume that is enlarged."""
    amounts = {"bytes": (space.free_bytes, space.total_bytes), "inodes": (space.free_inodes, space.total_inodes)}
    shares = [100 * max(free or 0, 0) / total for what, (free, total) in amounts.items() if what in short and total]
    return round(min(shares, default=0.0), 6)


def _left(space: Space) -> str:
    return f"{size(max(space.free_bytes or 0, 0))} of {size(space.total_bytes or 0)} free"


def _sentences(
    volume: Volume, space: Space, storage: ServerStorage, server: Instance, forecasts: tuple[str, ...]
) -> Iterator[str]:
    """Yield what is on the volume, what the server does when it is full, and what limits the numbers."""
    yield f"On it: {', '.join(f'{role} {path}' for role, path in volume.paths)}."
    if volume.lasting_paths:
        rules = _rules(server)
        known = rules.when_full(storage.settings, server.version) if rules and storage.settings else ""
        yield known or UNKNOWN
    else:
        yield f"Records of the {volume.contents} are lost while it is full."
    if reserved := _reserved(space):
        yield f"Besides, {size(reserved)} are reserved: only root, or a server that runs as root, may write into them."
    yield from (f"{forecast[0].upper()}{forecast[1:]}." for forecast in forecasts)
    yield from (f"{several}." for several in _of_folders(volume, space))
    if space.free_bytes is None:
        yield "The free space is not in the evidence."
    if space.free_inodes is None:
        yield "The number of free inodes is not in the evidence."
    elif space.total_inodes:
        yield f"{number(space.free_inodes)} of its {number(space.total_inodes)} inodes are free."
    if volume.options.read_only:
        yield "It is mounted read-only, so nothing is written there at all (io-errors)."
    if any(word.startswith(QUOTAS) for word in volume.options.words):
        yield "It is mounted with quotas, which may leave the account of the server even less (repquota -aug)."
