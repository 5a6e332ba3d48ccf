"""unsafe-writes: acknowledged changes that a power cut loses.

The remedies for the weaknesses of a volume.
"""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.storage.options import EXT
from ldapdiag.analysis.storage.power_cut import Loss, Weakness, doubts, in_place, weaknesses
from ldapdiag.analysis.storage.server_storage import ServerStorage
from ldapdiag.analysis.storage.volume import Volume
from ldapdiag.analysis.storage.write_service import WriteRate, write_rate
from ldapdiag.check import check
from ldapdiag.evidence.storage.settings import StorageSettings
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Remedy
from ldapdiag.servers.volumes.storage_rules import WRITE_BACK_SECONDS, Durability, Window
from ldapdiag.servers.volumes.volume_remedies import (
    add_journal,
    move_data,
    on_its_host,
    send_flushes,
    sync_dataset,
    use_barriers,
    use_btrfs_barriers,
    use_ordered_journal,
)

SEVERITIES = {
    Loss.EVERYTHING: Severity.CRITICAL,
    Loss.UNFLUSHED: Severity.HIGH,
    Loss.SECONDS: Severity.HIGH,
    Loss.STRUCTURE: Severity.MEDIUM,
    Loss.NONE_SYNCED: Severity.LOW,
    Loss.NONE_WITHOUT_CACHE: Severity.LOW,
}
TITLES = {
    Loss.EVERYTHING: "When its host stops, {server} loses its {contents}",
    Loss.UNFLUSHED: "A power cut loses acknowledged changes of {server}",
    Loss.SECONDS: "A power cut loses the last seconds of acknowledged changes of {server}",
    Loss.STRUCTURE: "A power cut may damage the file system with the {contents} of {server}",
    Loss.NONE_SYNCED: "A power cut may leave old blocks in files of {server} that grew",
    Loss.NONE_WITHOUT_CACHE: "Changes of {server} are safe only if no disk has a volatile cache",
}


@check(group="storage")
def judge(storage: ServerStorage, server: Instance, traffic: Traffic | None = None) -> Iterator[Verdict]:
    """Acknowledged changes that a power cut loses.

    ## What it looks at
    Two things decide whether an acknowledged change is on the disk; each is judged on its own.

    - The settings of each database: whether the server waits for the disk (389-ds nsslapd-db-durable-transaction,
      OpenLDAP olcDbNoSync and olcDbEnvFlags, OpenDJ and PingDirectory db-txn-no-sync, db-txn-write-no-sync, DSEE
      nsslapd-db-durable-transactions), with the defaults of its version. A setting without effect is named as such.
    - Each volume with the database, the transaction log or the changelog: write barriers (nobarrier, barrier=0), the
      mode of the journal (data=writeback, journal_async_commit, ext2 or no journal), overlay with volatile, ZFS with
      sync=disabled, memory (tmpfs, zram), and devices whose write_cache is write through above a disk with a volatile
      cache. Overlays, files of loop devices, LVM, md and partitions are followed down to the disks.

    A mount table does not show options of ext4 that are the defaults of its superblock (tune2fs -o nobarrier). So an
    ext4 volume is clear only by /proc/fs/ext4/DEVICE/options or tune2fs -l, and any volume only if its disks are known
    and the kernel flushes their caches; btrfs may have disks that no mount table shows, so it is never clear. A disk,
    a controller or a hypervisor that acknowledges a flush without carrying it out looks healthy in every text: only a
    test with a power cut shows it.

    ## Severity
    - critical: everything on the volume is lost when the host stops (memory, overlay with volatile).
    - high: acknowledged changes are lost: those of the last seconds (about 30 where Linux writes them back), or all
      since the last flush; or the database may be damaged.
    - medium: the same by a default of the product; or the file system may be damaged, and no synced
      change is lost as such (no journal, journal_async_commit).
    - low: at most the last transaction; or old blocks in files that grew (data=writeback); or nobarrier above disks
      that all state that they have no volatile cache.

    ## Why it matters
    A client that received success does not send the change again: a new password, a locked account, a member removed
    from a group is undone without a trace. A replica that comes back with older data than it announced may not receive
    the lost changes again. The end of the process alone (kill -9) loses nothing; a power cut, a crash of the kernel or
    the hypervisor and a reset of the storage do.

    ## What to do
    Make the server wait for the disk, and turn barriers on. A write then takes as long as a flush of the disk, which
    commit-bound-writes compares with the log. Never remove barriers for speed: above disks without a volatile cache
    they cost nothing, and above all others they keep the data.

    ## When it is harmless
    During an import that is repeated if it fails, and on a replica that is built anew after a crash. A cache with a
    battery or capacitors is not volatile; the evidence does not show it.
    """
    rate = write_rate(traffic)
    for volume in storage.volumes:
        if volume.lasting_paths:
            yield _of_volume(volume, storage, server, rate)
    for role, path, why in ((one.role, one.path, one.why) for one in storage.unplaced if one.lasting):
        reason = f"the volume of the {role} {path} is unknown: {why}"
        yield NotJudged(subject=f"{path} of {server.name}", reason=reason, missing=("mounts",), how=storage.how)
    yield from _of_settings(storage, server, rate)


def _of_volume(volume: Volume, storage: ServerStorage, server: Instance, rate: WriteRate | None) -> Verdict:
    found = weaknesses(volume)
    subject = f"{volume.mount_point} of {server.name}"
    if found:
        return _weak(volume, found, storage, server, rate)
    if (doubt := next(doubts(volume), None)) is not None:
        return NotJudged(subject=subject, reason=doubt.reason, missing=doubt.lacks, how=doubt.how)
    disks = ", ".join(disk.name for disk in volume.devices)
    journal = f", data={volume.options.journal}" if volume.options.journal else ""
    return Clear(
        subject=subject,
        reason=f"{volume.name} uses write barriers{journal}, and the kernel flushes the cache of {disks}",
    )


def _weak(
    volume: Volume, found: tuple[Weakness, ...], storage: ServerStorage, server: Instance, rate: WriteRate | None
) -> Finding:
    worst = found[0]
    loses = worst.loss in {Loss.UNFLUSHED, Loss.SECONDS}
    return Finding(
        subject=f"{volume.mount_point} of {server.name}",
        severity=SEVERITIES[worst.loss],
        confidence=Confidence.CERTAIN if worst.certain else Confidence.LIKELY,
        title=f"{TITLES[worst.loss].format(server=server.name, contents=volume.contents)}: {in_place(volume, found)}",
        detail="\n".join(
            [
                *(f"{one.sentence}{f' Source: {one.source}.' if one.source else ''}" for one in found),
                *_hidden(volume),
                *([rate.sentence(None)] if rate and loses else []),
                *_since(server),
            ]
        ),
        observed=_observed(
            server,
            rate,
            mount_point=volume.mount_point,
            file_system=volume.fs_type,
            weaknesses=[one.name for one in found],
            loss=worst.loss.name.lower().replace("_", "-"),
            hidden=list(volume.options.hidden),
        ),
        server=server.name,
        hosts=(server.host,),
        remedies=tuple(make_volume_safe(volume, found, server.host)),
        origins=storage.origins,
    )


def _hidden(volume: Volume) -> Iterator[str]:
    if volume.options.hidden:
        words = ", ".join(volume.options.hidden)
        yield f"mount and /proc/mounts do not show {words}: it is a default in the superblock (tune2fs -o)."


def _since(server: Instance) -> Iterator[str]:
    started = server.monitor.started_at if server.monitor else None
    if started is not None:
        yield f"The server has run since {started:%Y-%m-%d %H:%M:%S} UTC."


def _of_settings(storage: ServerStorage, server: Instance, rate: WriteRate | None) -> Iterator[Verdict]:
    """Yield a verdict for each database by the server's settings."""
    subject = f"settings of {server.name}"
    if storage.settings is None:
        reason = f"the settings of {server.name} that decide when a change is on the disk are not in the evidence"
        yield NotJudged.without(StorageSettings, subject, reason)
        return
    if not storage.durability:
        reason = f"it is not known which settings of {server.description} decide when a change is on the disk"
        yield NotJudged(subject=subject, reason=reason, how=None)
        return
    judged: set[str] = set()
    for one in storage.durability:
        if one.backend not in judged:  # of each backend the first one applies
            judged.add(one.backend)
            others = [other for other in storage.durability if other.backend == one.backend and other is not one]
            yield _of_setting(one, others, storage, server, rate)


def _of_setting(
    one: Durability, others: list[Durability], storage: ServerStorage, server: Instance, rate: WriteRate | None
) -> Verdict:
    name = f"{one.backend} of {server.name}" if one.backend else f"settings of {server.name}"
    value = f"{one.setting}: {one.value or 'its value is not known'}{' (default)' if one.is_default else ''}"
    without = " ".join(other.why for other in others if other.why)
    if one.is_safe:
        why = " ".join(filter(None, (one.why, without)))
        return Clear(
            subject=name,
            reason=f"the server waits for the disk with each change ({value}){f'. {why}' if why else ''}",
        )
    if one.window is Window.UNKNOWN:
        return NotJudged.without(
            StorageSettings,
            name,
            f"whether the server waits for the disk is not known ({value}){f'. {one.why}' if one.why else ''}",
        )
    seconds = one.window_seconds or (WRITE_BACK_SECONDS if one.window is Window.SECONDS else None)
    return Finding(
        subject=name,
        severity=severity_of(one),
        confidence=Confidence.CERTAIN if one.tested else Confidence.LIKELY,
        title=f"A power cut loses {_loss(one, seconds)} of {one.backend or server.name}: {value}",
        detail="\n".join(
            filter(
                None,
                [
                    one.loss,
                    "The end of the process alone loses nothing; power, the kernel or a reset of the storage do."
                    if one.survives_kill
                    else "The end of the process alone loses them, too.",
                    rate.sentence(seconds) if rate and one.window is not Window.LAST else "",
                    without,
                    *_since(server),
                ],
            )
        ),
        observed=_observed(
            server,
            rate,
            backend=one.backend,
            setting=one.setting,
            value=one.value,
            loss=one.window.value,
            window_seconds=seconds,
            may_damage=one.corrupts,
        ),
        server=server.name,
        hosts=(server.host,),
        remedies=_make_safe(one, storage, server),
        origins=storage.origins,
    )


def severity_of(one: Durability) -> Severity:
    """Return how bad an unsafe setting is, by the manual page."""
    if one.window is Window.LAST and not one.corrupts:
        return Severity.LOW
    return Severity.MEDIUM if one.is_default else Severity.HIGH


def _loss(one: Durability, seconds: int | None) -> str:
    if one.window is Window.LAST:
        return "at most the last change"
    if one.window is Window.SECONDS:
        return f"up to about {seconds} s of acknowledged changes"
    return "all acknowledged changes since the last flush"


def _make_safe(one: Durability, storage: ServerStorage, server: Instance) -> tuple[Remedy, ...]:
    rules = server.product.storage if server.product else None
    if rules is None or storage.settings is None:
        return ()
    remedy = rules.make_safe(server.address, storage.settings, one, server.version)
    return (server.address.adapt(remedy),) if remedy else ()


def _observed(server: Instance, rate: WriteRate | None, **known: object) -> dict[str, object]:
    """Return the numbers of a finding, as docs/contract.md has them."""
    started = server.monitor.started_at if server.monitor else None
    return {
        "server": server.name,
        "mount_point": None,
        "file_system": None,
        "weaknesses": [],
        "hidden": [],
        "backend": None,
        "setting": None,
        "value": None,
        "window_seconds": None,
        "may_damage": None,
        "changes_per_second": round(rate.per_second, 3) if rate else None,
        "server_started": f"{started:%Y-%m-%dT%H:%M:%SZ}" if started else None,
        **known,
    }


def make_volume_safe(volume: Volume, found: tuple[Weakness, ...], host: str) -> Iterator[Remedy]:
    """Yield what to do about each weakness of a volume, the most urgent first; of one below it, about that one."""
    names = {one.name: one for one in found}
    if "in-memory" in names or "overlay-volatile" in names:
        yield move_data(host, ", ".join(dict.fromkeys(role for role, _ in volume.paths)), volume.mount_point)
        return
    for one in (volume, *_all_beneath(volume)):
        for cure in _of_file_system(one, host):
            yield on_its_host(cure, one.source) if one.in_container else cure
    if "flushes-stopped" in names:
        yield send_flushes(host, names["flushes-stopped"].words.partition(":")[0])


def _all_beneath(volume: Volume) -> Iterator[Volume]:
    for one in volume.beneath:
        yield one
        yield from _all_beneath(one)


def _of_file_system(volume: Volume, host: str) -> Iterator[Remedy]:
    options, point, source = volume.options, volume.mount_point, volume.source
    if options.barrier is False and volume.fs_type in EXT:
        yield use_barriers(host, point, source, in_superblock="nobarrier" in options.hidden)
    elif options.barrier is False:
        yield use_btrfs_barriers(host, point)
    if options.volatile and volume.fs_type == "zfs":
        yield sync_dataset(host, source)
    if options.journal == "none" and volume.fs_type in EXT:
        yield add_journal(host, point)
    if options.journal == "writeback" or options.async_commit:
        yield use_ordered_journal(host, point, source, in_superblock="data=writeback" in options.hidden)
