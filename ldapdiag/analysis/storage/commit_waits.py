"""CommitWaits: whether the writes of one server wait for the disk's sync, and what shows it.

A log alone never proves it: constant work of the server on each write would look the same. A probe of the volume, or
looks at the threads, prove it or exclude it.

SyncSamples: in how many looks at a server's threads one waited for the disk, and in how many one ran.

Which volume a storage probe measured.

The sentences about writes that wait for the disk, in the order in which they decide; the cause of slow writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.analysis.hosts.instances import Instance, readings_of
from ldapdiag.analysis.log.quantiles import Quantiles, kind_times
from ldapdiag.analysis.log.slow_operations import SlowCause
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.analysis.providers import provides
from ldapdiag.analysis.storage.server_storage import ServerStorage
from ldapdiag.analysis.storage.write_service import FEWEST, WriteService, write_service
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.operation_kinds import NAMES, SEARCH
from ldapdiag.evidence.log.stamps import MILLISECOND, SECOND, moment
from ldapdiag.evidence.storage.probe import StorageProbe, SyncCall, SyncLatency, WriteKind
from ldapdiag.evidence.storage.settings import Role
from ldapdiag.evidence.threads import RUNNING, ProcessThreads
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.traits import traits_of
from ldapdiag.wording import counted, rounded, seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.analysis.storage.volume import Volume

QUICK, SHORT = 1 * MILLISECOND / SECOND, 5 * MILLISECOND / SECOND
"""Seconds. Below QUICK a write is none that waits for a disk worth replacing; below SHORT only a saturated server is
worth a word."""
SATURATED = 0.8
"""Of the clock; requests come at random, so that at a higher share most writes wait for others."""
AGREES = (0.7, 1.5)
"""Times the sync of the probe: the server's own work is added, and the disk is measured at another time."""
EXCLUDED = 2.0
"""Times the sync of the probe: the disk is the smaller part."""
LONGEST = 0.25
"""Seconds. No sync of a working disk takes longer, again and again: only a proof makes it one."""
SLOWER = 4
"""Searches are quick that take a fourth of a write: nothing slows down all operations."""
MEMBERS = frozenset({b"member", b"uniquemember", b"memberuid"})
"""A change of one value of thousands takes the processor the same time again and again."""


class WaitCause(StrEnum):
    """What the time of a write is spent on."""

    DISK = "disk"
    LIKE_DISK = "like the disk"
    """It has the form of the disk's wait, which nothing else in the evidence proves."""
    QUICK = "quick"
    OTHER = "other"
    NO_SYNC = "no sync"
    """The server's settings make it wait for none."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitWaits:
    """The writes of one server held against the disk."""

    kind: ClassVar[str] = "commit-waits"
    how: ClassVar[str] = (
        "an access log with exact times (389-ds; slapd 2.5 or later at loglevel stats to a file or stderr) and "
        "ldapdiag storage ssh://SERVER while it writes, or ldapdiag storage --probe DIRECTORY"
    )

    server: str
    family: Family
    service: WriteService
    cause: WaitCause
    why: str = ""
    """Of UNKNOWN and OTHER, as a sentence."""
    samples: SyncSamples | None = None
    flushes: frozenset[int] = frozenset()
    """How often a write waits for the disk, by the settings of each database; empty: not known."""
    probe: StorageProbe | None = None
    """Of the volume with the transaction log, or the database."""
    searches: Quantiles | None = None
    """In nanoseconds."""
    origins: tuple[str, ...] = ()

    @property
    def sync(self) -> SyncLatency | None:
        """Return what the probe measured of an overwrite with fdatasync, as a transaction log is written."""
        return _overwrite(self.probe)

    @property
    def is_saturated(self) -> bool:
        """Return whether writes fill the busiest minute: then more clients wait longer, and no more writes are made."""
        return self.service.busiest_share >= SATURATED

    @property
    def waits(self) -> bool:
        """Return whether writes wait for the disk, proven or not."""
        return self.cause in {WaitCause.DISK, WaitCause.LIKE_DISK}

    @property
    def shown_by(self) -> tuple[str, ...]:
        """Return what proves it: `probe`, `threads`."""
        by_probe = ("probe",) if self.sync and _agrees(self.service, self.sync, self.flushes or {1, 2}) else ()
        return (*by_probe, *(("threads",) if self.samples and self.samples.show_syncs else ()))


@provides(CommitWaits)
def commit_waits(
    server: Instance,
    traffic: Traffic,
    threads: tuple[ProcessThreads, ...],
    probes: tuple[StorageProbe, ...],
    storage: ServerStorage | None = None,
) -> CommitWaits | Missing:
    """Hold the times of a server's writes in its access log against its disk."""
    family = traffic.workload.family
    service = write_service(traffic.segment, traffic.seconds)
    if family is None or not traits_of(family).has_one_writer:
        reason = "this server applies several writes at a time, so the log does not show how long it works on each"
        return Missing(host=server.name, reason=reason, lacks=(CommitWaits.kind,), how=CommitWaits.how)
    if service is None:
        reason = f"the access log does not show the times of {counted(FEWEST, 'write')} to the millisecond"
        return Missing(host=server.name, reason=reason, lacks=(AccessLog.kind,), how=CommitWaits.how)
    samples = sync_samples(readings_of(server, threads))
    probe = _probe_of(probes, storage)
    flushes = _flushes(storage)
    searches = next((time.etimes for time in kind_times(traffic.segment) if time.kind == NAMES[SEARCH]), None)
    cause, why = conclusion(service, flushes, _overwrite(probe), samples)
    if cause is WaitCause.LIKE_DISK and (reason := _like_others(traffic, service, searches)):
        cause, why = WaitCause.UNKNOWN, reason
    sources = [
        *traffic.origins,
        *(samples.origins if samples else ()),
        *([probe.origin.path] if probe else []),
        *(storage.origins if storage and flushes else ()),
    ]
    return CommitWaits(
        server=server.name,
        family=family,
        service=service,
        cause=cause,
        why=why,
        samples=samples,
        flushes=flushes,
        probe=probe,
        searches=searches,
        origins=tuple(sorted(set(sources))),
    )


def conclusion(
    service: WriteService, flushes: frozenset[int], sync: SyncLatency | None, samples: SyncSamples | None
) -> tuple[WaitCause, str]:
    """Return what the writes wait for, and of OTHER and UNKNOWN the reason."""
    if flushes == {0}:
        return WaitCause.NO_SYNC, ""
    if service.p50 < QUICK or (service.p50 < SHORT and service.busiest_share < SATURATED):
        return WaitCause.QUICK, ""
    return _measured(service, flushes, sync, samples) or _by_log(service)


def _measured(
    service: WriteService, flushes: frozenset[int], sync: SyncLatency | None, samples: SyncSamples | None
) -> tuple[WaitCause, str] | None:
    """Return what a probe or looks at the threads show; None: nothing."""
    if samples and samples.show_syncs:
        return WaitCause.DISK, ""
    if sync and service.p50 > EXCLUDED * max(flushes or {2}) * sync.sync.p50_seconds:
        return WaitCause.OTHER, "A write takes much longer than the disk needs."
    if samples and samples.show_work:
        return WaitCause.UNKNOWN, "The threads were seen at work, and seldom in a sync."
    if sync and _agrees(service, sync, flushes or {1, 2}):
        return (WaitCause.DISK, "") if flushes else (WaitCause.LIKE_DISK, "")
    return None


def _by_log(service: WriteService) -> tuple[WaitCause, str]:
    if service.p50 > LONGEST:
        return WaitCause.UNKNOWN, "A write takes longer than the syncs of a working disk."
    if service.is_flat:
        return WaitCause.LIKE_DISK, ""
    return WaitCause.UNKNOWN, "The times differ, as those of locks, plug-ins and a busy processor do."


def _agrees(service: WriteService, sync: SyncLatency, flushes: frozenset[int] | set[int]) -> bool:
    """Return whether the quick writes and half of them take what this many syncs of the probe take."""
    expected = [count * sync.sync.p50_seconds for count in flushes]
    return any(AGREES[0] * one <= service.p10 and service.p50 <= AGREES[1] * one for one in expected)


def _like_others(traffic: Traffic, service: WriteService, searches: Quantiles | None) -> str:
    """Return what else in the log explains that all writes take the same time; empty: nothing."""
    if searches and searches.count >= FEWEST and searches.p50 / SECOND * SLOWER > service.p50:
        return "Searches are as slow: something slows down all operations."
    modified = traffic.segment.modified
    members = sum(count for attribute, count in modified.items() if attribute in MEMBERS)
    if 2 * members >= sum(modified.values()) > 0:
        return "Most changes are of members of groups, which take the processor the same time again and again."
    return ""


def _flushes(storage: ServerStorage | None) -> frozenset[int]:
    """Return how often a write waits by the settings of each database, of which the first one applies."""
    applies: dict[str, int | None] = {}
    for one in storage.durability if storage else ():
        applies.setdefault(one.backend, one.flushes_per_write)
    known = frozenset(flushes for flushes in applies.values() if flushes is not None)
    return known if len(known) == len(set(applies.values())) else frozenset()


def _probe_of(probes: tuple[StorageProbe, ...], storage: ServerStorage | None) -> StorageProbe | None:
    """Return the latest probe of the volume with the transaction log, or the database."""
    volume = (storage.volume_of(Role.TRANSACTION_LOG) or storage.volume_of(Role.DATABASE)) if storage else None
    return probe_of(volume, probes) if volume else None


def _overwrite(probe: StorageProbe | None) -> SyncLatency | None:
    return probe.latency(WriteKind.OVERWRITE, SyncCall.FDATASYNC) if probe else None


SYNCS = frozenset({"fsync", "fdatasync", "msync", "pwrite64"})
"""389-ds with bdb waits in fdatasync. slapd flushes the data with fdatasync, then writes the meta page by an O_DSYNC
pwrite; with writemap it calls msync."""
MOST = 0.5
"""Of the looks. Measured with a flush of 20 ms: 0.90 (389-ds), 0.97 (slapd); in memory 0.13 and 0.28."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncSamples:
    """The looks at the threads of one process in all readings."""

    looks: int
    syncing: int
    """In which at least one thread was in a call of SYNCS."""
    running: int
    """In which at least one used a processor."""
    origins: tuple[str, ...]

    @property
    def show_syncs(self) -> bool:
        """Return whether a thread waited for the disk in most looks."""
        return self.syncing >= MOST * self.looks

    @property
    def show_work(self) -> bool:
        """Return whether a thread ran in most looks, and none waited for the disk in most of them."""
        return self.running >= MOST * self.looks and not self.show_syncs


def sync_samples(readings: Sequence[ProcessThreads]) -> SyncSamples | None:
    """Return the looks of all readings of a process; None where there are none."""
    sampled = [
        (reading, reading.samples) for reading in readings if reading.samples is not None and reading.samples.looks
    ]
    if not sampled:
        return None
    seen = [dict(samples.seen) for _, samples in sampled]
    return SyncSamples(
        looks=sum(samples.looks for _, samples in sampled),
        syncing=sum(
            min(samples.looks, sum(each.get(call, 0) for call in SYNCS))
            for (_, samples), each in zip(sampled, seen, strict=True)
        ),
        running=sum(each.get(RUNNING, 0) for each in seen),
        origins=tuple(sorted({one.origin.path for one, _ in sampled})),
    )


UNNUMBERED = frozenset({"btrfs"})
"""File systems whose files have another device number than the mount table prints (a subvolume's)."""


def probe_of(volume: Volume, probes: Iterable[StorageProbe]) -> StorageProbe | None:
    """Return the latest probe of a volume; None if there is none of its host, device and mount point."""
    own = [probe for probe in probes if probe.origin.host == volume.host and _is_probed(volume, probe)]
    return max(own, key=lambda one: one.origin.order, default=None)


def _is_probed(volume: Volume, probe: StorageProbe) -> bool:
    """Return whether a probe is of a volume: by the device number, which a bind mount has too, where it is printed."""
    if volume.device and probe.device and volume.fs_type not in UNNUMBERED:
        return probe.device == volume.device
    return probe.mount_point == volume.mount_point


BY_PROBE = "ldapdiag storage --probe DIRECTORY, on the volume of the database"
BY_THREADS = "ldapdiag storage ssh://SERVER as root, or with --sudo, while it writes"


def duration(value: float) -> str:
    """Return a number of seconds below one as milliseconds: `42.9 ms`, `0.026 ms`."""
    return seconds(value) if value >= 0.9995 else f"{round(value * 1000, 3):.3g} ms"


def times(waits: CommitWaits) -> str:
    """Return the times of the writes, without their waits for each other."""
    service = waits.service
    return (
        f"Without the wait for the writes before it, half of {counted(service.count, 'write')} took "
        f"{duration(service.p50)} or less, the shortest tenth {duration(service.p10)} or less, the longest tenth "
        f"{duration(service.p90)} or more (within 4 %)"
    )


def share(waits: CommitWaits) -> str:
    """Return the share of the busiest minute in which a write was applied."""
    return f"{waits.service.busiest_share * 100:.0f} %"


def load(waits: CommitWaits) -> str:
    """Return how much of the time writes take, and what that means for their clients."""
    at = moment(waits.service.busiest_time, SECOND)
    filled = f"Writes filled {share(waits)} of the busiest minute (from {at})"
    if waits.is_saturated:
        most = rounded(1 / waits.service.p50)
        return f"{filled}: the server makes at most about {most} per second, and more clients only wait longer."
    return f"{filled}, less than {SATURATED * 100:.0f} %: a client seldom waits for the writes of others."


def proofs(waits: CommitWaits) -> Iterator[str]:
    """Yield what shows that the writes wait for the disk, or that it is not proven."""
    sync, samples = waits.sync, waits.samples
    if sync and "probe" in waits.shown_by:
        flushes = "1 or 2 of them" if not waits.flushes else " or ".join(map(str, sorted(waits.flushes)))
        where = f"The probe of {waits.probe.directory}" if waits.probe else "The probe"
        took = duration(sync.sync.p50_seconds)
        yield f"{where} measured {took} for the sync of an overwrite, and a write waits for {flushes}."
    if samples and samples.show_syncs:
        yield (
            f"In {samples.syncing} of {counted(samples.looks, 'look')} at its threads, one waited in fsync, fdatasync, "
            "msync or pwrite64."
        )
    if waits.searches and waits.searches.count >= FEWEST:
        quick = duration(waits.searches.p95 / SECOND)
        yield f"95 % of {counted(waits.searches.count, 'search')} in the same log took {quick} or less."
    if waits.cause is WaitCause.LIKE_DISK:
        yield (
            "This is consistent with a wait for the disk and no proof of it: constant work on each write, as of a "
            f"plug-in or an overlay, looks the same in a log. Proof: {BY_PROBE}; or {BY_THREADS}."
        )


def disk_cause(waits: CommitWaits | None) -> Iterator[SlowCause]:
    """Yield the disk as the cause of slow writes, where commit-bound-writes names it."""
    if waits is not None and waits.waits:
        how = "wait" if waits.cause is WaitCause.DISK else "seem to wait"
        sentence = f"Writes {how} for the disk, {duration(waits.service.p50)} each: see commit-bound-writes."
        yield SlowCause(name="disk", sentence=sentence)
